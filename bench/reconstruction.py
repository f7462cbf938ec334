"""Reconstruction from published figures, in CPU seconds: areas beside CP-SAT and SciPy's milp, RAP-RANK beside torch.

python bench/reconstruction.py            areas, a million areas, ranked reconstruction
python bench/reconstruction.py --ranked 5 ranked reconstruction alone (5 runs), beside torch where it can be imported
python bench/reconstruction.py FOLDER     also the public programs of the Census Bureau in FOLDER (model_*.lp.gz)
python bench/reconstruction.py --extract rhdf_bt_0solvar_extract.xlsx   the Bureau's own reconstruction of 28 tracts
python bench/reconstruction.py --survey sd2011.csv   what all two-way and all three-way counts of SD2011 prove
python bench/reconstruction.py --trial sd2011.csv    RAP-RANK on the same people, its audit, and the shapes of the paper
python bench/reconstruction.py --halves sd2011.csv   a random start beside one from other people, for several splits
"""

from __future__ import annotations

import gzip
import re
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

RACES = np.array([0.72, 0.13, 0.01, 0.05, 0.002, 0.06, 0.028])
AGES = np.array([6.5, 6.6, 6.7, 4.2, 2.9, 1.4, 1.4, 4.1, 6.8, 6.5, 6.5, 6.8, 7.4, 7.2, 6.4, 2.3, 3.2, 1.7, 2.3, 3.0,
                 2.4, 1.9, 1.8])  # fmt: skip
HISPANIC = np.array([0.12, 0.03, 0.23, 0.015, 0.13, 0.97, 0.34])


def counts(blocks: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """People and Hispanic people of simulated blocks by row (sex × age group) and race."""
    sizes = rng.geometric(1 / 50, blocks)
    block = np.repeat(np.arange(blocks), sizes)
    mix = np.cumsum(rng.dirichlet(8 * RACES / RACES.sum(), blocks), axis=1)
    race = np.minimum((rng.random(len(block))[:, None] > mix[block]).sum(axis=1), 6)
    row = rng.integers(0, 2, len(block)) * 23 + rng.choice(23, len(block), p=AGES / AGES.sum())
    hispanic = rng.random(len(block)) < HISPANIC[race]
    place = (block * 46 + row) * 7 + race
    total = np.bincount(place, minlength=blocks * 322).astype(np.int32).reshape(blocks, 46, 7)
    group = np.bincount(place[hispanic], minlength=blocks * 322).astype(np.int32).reshape(blocks, 46, 7)
    return total, group


def tables(total: np.ndarray, group: np.ndarray):
    from dalenius.risk.reconstruction import AreaTables

    rows = tuple((str(s), str(a)) for s in range(2) for a in range(23))
    return AreaTables(
        tuple(map(str, range(len(total)))), ("sex", "age"), rows, tuple("WBIAPOT"), 0, total, group.sum(axis=2),
        group[:, :, 0].copy(), group.sum(axis=1), (total - group).sum(axis=1),
    )  # fmt: skip


def ours() -> None:
    from dalenius.risk.reconstruction import reconstruct_exact

    total, group = counts(2000, np.random.default_rng(1))
    made = tables(total, group)
    reconstruct_exact(made)
    start = time.process_time()
    found = reconstruct_exact(made)
    seconds = time.process_time() - start
    print(f"2,000 blocks, {total.sum():,} people, {100 * found.people_proved / total.sum():.3f} % proved: "
          f"{1e6 * seconds / 2000:.1f} µs a block")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "blocks.npz"
        np.savez(file, total=total, group=group, proved=found.determined)
        for peer, most in (("cpsat", 200), ("milp", 15)):
            answer = subprocess.run(
                [sys.executable, __file__, f"--{peer}", str(file), str(most)],
                capture_output=True,
                text=True,
                check=False,
            )
            if answer.returncode:
                print(f"{peer}: not available")
                continue
            each, same = answer.stdout.split()
            print(f"{peer}: {1e3 * float(each):.2f} ms a block, {float(each) * 2000 / seconds:,.0f} times ours, "
                  f"same cells: {same}")  # fmt: skip


def system(total: np.ndarray, group: np.ndarray):
    """Open cells of one block, their sums and their bounds."""
    cells = np.argwhere(total > 0)
    upper = total[tuple(cells.T)]
    lower = np.zeros(len(cells), int)
    white = cells[:, 1] == 0
    lower[white] = upper[white] = group[tuple(cells[white].T)]
    sums = [(np.flatnonzero(cells[:, 0] == i), int(group[i].sum())) for i in np.unique(cells[:, 0])]
    sums += [(np.flatnonzero(cells[:, 1] == j), int(group[:, j].sum())) for j in np.unique(cells[:, 1])]
    return cells, lower, upper, sums


def cpsat(file: str, most: int) -> None:
    from ortools.sat.python import cp_model

    data = np.load(file)
    same, start = True, time.process_time()
    for b in range(most):
        cells, lower, upper, sums = system(data["total"][b], data["group"][b])
        model = cp_model.CpModel()
        x = [model.new_int_var(int(a), int(z), "") for a, z in zip(lower, upper, strict=True)]
        for members, n in sums:
            model.add(sum(x[c] for c in members) == n)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.solve(model)
        first = np.array([solver.value(v) for v in x])
        changes = []
        for v, value, a, z in zip(x, first, lower, upper, strict=True):
            if a < z:
                change = model.new_bool_var("")
                model.add(v != int(value)).only_enforce_if(change)
                changes.append(change)
        another = False
        if changes:
            model.add_bool_or(changes)
            another = solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        proved = data["proved"][b][tuple(cells.T)].all()
        same &= bool(proved) == (not another)
    print((time.process_time() - start) / most, same)


def milp_peer(file: str, most: int) -> None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    data = np.load(file)
    same, start = True, time.process_time()
    for b in range(most):
        cells, lower, upper, sums = system(data["total"][b], data["group"][b])
        matrix = np.zeros((len(sums), len(cells)))
        for k, (members, _) in enumerate(sums):
            matrix[k, members] = 1
        goal = np.array([n for _, n in sums])
        for c in range(len(cells)):
            ends = []
            for sense in (1, -1):
                cost = np.zeros(len(cells))
                cost[c] = sense
                found = milp(cost, integrality=np.ones(len(cells)), bounds=Bounds(lower, upper),
                             constraints=LinearConstraint(matrix, goal, goal))  # fmt: skip
                ends.append(round(found.x[c]))
            same &= bool(data["proved"][b][tuple(cells[c])]) == (ends[0] == ends[1])
    print((time.process_time() - start) / most, same)


def many(blocks: int = 1_000_000, chunk: int = 20_000) -> None:
    """A million blocks in parts; time and memory."""
    from dalenius.risk.reconstruction import reconstruct_exact

    rng = np.random.default_rng(1)
    people = proved = 0
    seconds, marks = 0.0, []
    for done in range(chunk, blocks + 1, chunk):
        total, group = counts(chunk, rng)
        made = tables(total, group)
        start = time.process_time()
        found = reconstruct_exact(made)
        seconds += time.process_time() - start
        people, proved = people + int(total.sum()), proved + found.people_proved
        if done in (blocks // 4, blocks // 2, blocks):
            marks.append(f"{done:,}: {seconds:.1f} s")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{blocks:,} blocks, {people:,} people, {100 * proved / people:.3f} % proved: {'; '.join(marks)}; "
          f"{memory:.2f} GB at most")  # fmt: skip


def ranked(runs: int = 100) -> None:
    """RAP-RANK: 100 runs of 1,000 rows and 1,000 steps from 252 two-way counts."""
    from dalenius.risk.reconstruction import Workload, rebuild

    sizes = [2, 6, 5, 6, 4, 2]
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, sizes, (40, 6))
    codes = kinds[rng.choice(40, 566, p=rng.dirichlet(np.full(40, 0.3)))]
    codes = np.where(rng.random(codes.shape) < 0.15, rng.integers(0, sizes, codes.shape), codes)
    data = {f"c{j}": [str(v) for v in codes[:, j]] for j in range(6)}
    work = Workload.margins(
        data, ways=[2], domains={f"c{j}": [str(v) for v in range(s)] for j, s in enumerate(sizes)}
    )
    start = time.process_time()
    rebuild(work, runs=runs, rows=1000, steps=1000)
    seconds = time.process_time() - start
    print(f"RAP-RANK, {runs} runs, {len(work.answers)} counts: {seconds:.1f} s, {seconds / runs:.2f} s a run")
    try:
        import torch
    except ImportError:
        print("torch is not installed: no ratio")
        return
    theirs = torch_run(torch, work)
    print(f"torch {torch.__version__}: {theirs:.2f} s a run, {theirs / (seconds / runs):.1f} times ours")


def torch_run(torch, work, steps: int = 100) -> float:
    """CPU seconds of one run of 1,000 steps with autograd, extrapolated from some."""
    torch.set_num_threads(1)
    edges = work.edges.tolist()
    weights = torch.randn(1000, edges[-1], requires_grad=True)
    adam = torch.optim.Adam([weights], lr=0.1)
    masks = torch.tensor(work.members, dtype=torch.float32)
    truth = torch.tensor(work.answers, dtype=torch.float32)
    start = time.process_time()
    for _ in range(steps):
        shares = [torch.softmax(weights[:, a:b], 1) for a, b in pairwise(edges)]
        answers = torch.ones(1000, len(truth))
        for a, b, share in zip(edges, edges[1:], shares, strict=False):
            answers = answers * (share @ masks[:, a:b].T)
        answers = answers.mean(0)
        errors = (truth - answers).detach().abs()
        drawn = torch.multinomial(errors / errors.sum(), 1024, replacement=True)
        loss = (truth[drawn] - answers[drawn]).norm() / 1024
        adam.zero_grad()
        loss.backward()
        adam.step()
    return (time.process_time() - start) * 1000 / steps


def programs(folder: Path) -> None:
    """The Census Bureau's public programs: as many people as its own solutions have."""
    import scipy.sparse as sp
    from scipy.optimize import Bounds, LinearConstraint, milp

    from dalenius.published._kernels import propagate
    from dalenius.published.margin import NO_LIMIT

    for file in sorted(folder.glob("model_*.lp.gz")):
        start = time.process_time()
        text = gzip.decompress(file.read_bytes()).decode()
        body = text[
            text.index("Subject To") : re.search(r"\n(Bounds|Binaries|Generals|Integers|End)", text).start()
        ]
        at: dict[str, int] = {}
        rows, low, high = [], [], []
        for line in re.split(r"\n(?=\S+:)", body)[1:]:
            left, sign, right = re.match(r"\S+:\s*(.*?)\s*(<=|>=|=)\s*(-?[\d.]+)", line, re.S).groups()
            terms = [t for t in re.split(r"\s*\+\s*", left.replace("\n", " ")) if t and t != "__dummy"]
            n = round(float(right))
            rows.append([at.setdefault(t.strip(), len(at)) for t in terms])
            low.append(0 if sign == "<=" else n)
            high.append(NO_LIMIT if sign == ">=" else n)
        indptr = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        matrix = sp.csr_matrix((np.ones(indptr[-1], np.int64), np.concatenate(rows).astype(np.int64), indptr),
                               shape=(len(rows), len(at)))  # fmt: skip
        columns = matrix.tocsc()
        least, most, wrong = propagate(
            matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), columns.indptr.astype(np.int64),
            columns.indices.astype(np.int64), np.array(low), np.array(high), len(at), NO_LIMIT,
        )  # fmt: skip
        assert wrong < 0
        open_cells = np.flatnonzero(least < most)
        rest = matrix[:, open_cells]
        used = np.diff(rest.indptr) > 0
        held = np.asarray(matrix @ least)
        people = int(least.sum())
        if len(open_cells):
            answer = milp(
                np.zeros(len(open_cells)), integrality=np.ones(len(open_cells)),
                bounds=Bounds(0, (most - least)[open_cells]),
                constraints=LinearConstraint(rest[used], (np.array(low) - held)[used], (np.array(high) - held)[used]),
            )  # fmt: skip
            people += round(float(answer.x.sum()))
        solved = gzip.decompress(file.with_name(file.name.replace(".lp.", ".sol.")).read_bytes()).decode()
        theirs = round(sum(float(line.split()[1]) for line in solved.splitlines() if line.startswith("C_")))
        print(f"{file.name}: {len(rows):,} constraints, {len(at):,} cells, {len(open_cells):,} open after bounds, "
              f"{people} people, theirs {theirs}, {time.process_time() - start:.1f} s")  # fmt: skip


BANDS = (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85)


def extract(file: str) -> None:
    """The Census Bureau's public reconstruction: who is proved, and what "confirmed" is worth beside guessing."""
    import polars as pl

    from dalenius.risk.reconstruction import AreaTables, reconstruct_exact, unique_share
    from dalenius.risk.reconstruction.links import expected_rates, guessers

    people = pl.read_excel(file)
    block, sex, age = "Block ID", "Sex", "Age"
    races, hispanic = people.columns[5:11], "Hispanic"
    assert races[0] == "White"
    assert races[-1] == "Some Other Race"
    several = sum((pl.col(c) == "Y").cast(pl.Int64) for c in races)
    race = pl.when(several > 1).then(pl.lit("several"))
    for name in races:
        race = race.when(pl.col(name) == "Y").then(pl.lit(name))
    band = pl.lit(-1)
    for start in BANDS:
        band = pl.when(pl.col(age).cast(pl.Int64) >= start).then(pl.lit(start)).otherwise(band)
    frame = people.select(
        pl.col(block).cast(pl.String).alias("block"), pl.col(sex).cast(pl.String).alias("sex"),
        band.cast(pl.String).alias("age"), race.alias("race"), pl.col(hispanic).alias("hispanic"),
    )  # fmt: skip
    tables = AreaTables.from_microdata(frame, "block", ["sex", "age"], "race", "hispanic", "Y", races[0])
    print(reconstruct_exact(tables).summary())
    keys, hidden = ["block", "sex", "age"], ["race", "hispanic"]
    rates = expected_rates(frame, keys, hidden) | guessers(frame, "block", hidden)
    print({"people": frame.height, "unique": unique_share(frame, keys), **rates})


SURVEY = ["sex", "agegr", "marital", "placesize", "edu", "smoke"]


def region(file: str):
    """Complete rows of one region of SD2011: 566 people by six columns."""
    import polars as pl

    data = pl.read_csv(file, infer_schema_length=0, null_values=["NA", ""])
    return data.filter(pl.col("region").str.contains("(?i)mazowieckie")).select(SURVEY).drop_nulls()


def trial(file: str) -> None:
    """Rebuild 566 people from two-way counts, audit the ranking, and print both sides of every shape of the paper."""
    import polars as pl

    from dalenius.data.table import Table
    from dalenius.risk.reconstruction import (
        Ranking,
        Workload,
        audit_ranking,
        prototype_profile,
        rebuild,
    )
    from dalenius.risk.reconstruction.workload import encoded

    people = region(file)
    domains = {name: sorted(people[name].unique()) for name in SURVEY}

    def attacked(rows, columns=SURVEY, ways=(2,), runs=20, steps=300):
        held = rows.select(columns)
        codes = encoded(Table.from_frame(held), columns, domains)[0]
        work = Workload.margins(held, ways=list(ways), domains={name: domains[name] for name in columns})
        start = time.process_time()
        made = rebuild(work, runs=runs, rows=200, steps=steps, seed=1)
        return codes, audit_ranking(Ranking.of(codes, made)), len(work.answers), time.process_time() - start

    def line(name, found):
        v = found.values
        print(f"{name}: r {v['correlation']:.3f}, top 20 real {v['top 20 real %']:.0f} %, invented "
              f"{v['invented %']:.1f} %, missed {v['missed %']:.2f} %", flush=True)  # fmt: skip

    codes, found, asked, seconds = attacked(people)
    profile = prototype_profile(codes)
    print(f"{people.height} people, {profile['prototypes']:.0f} kinds, {profile['unique records %']:.1f} % alone, "
          f"{asked} counts, {found.values['rebuilt']:.0f} kinds rebuilt, {seconds:.1f} CPU s")  # fmt: skip
    line("all two-way counts, 20 runs", found)
    print("rare for rare", [round(found.values[f"rare for rare {a} %"], 2) for a in (1, 2, 3)])
    print(found.table)
    print(found.sentence)
    for columns in (SURVEY[:3], SURVEY[:4], SURVEY[:5]):
        line(f"{len(columns)} columns", attacked(people, columns)[1])
    line("two- and three-way counts", attacked(people, ways=(2, 3), runs=5)[1])
    line("two-way counts, as few runs", attacked(people, runs=5)[1])
    for steps in (300, 1000, 3000):
        line(
            f"the full joint of three columns, {steps} steps",
            attacked(people, SURVEY[:3], (3,), steps=steps)[1],
        )
    half = people[np.random.default_rng(0).permutation(people.height)[::2].tolist()]
    codes, twice, *_ = attacked(pl.concat([half, half]))
    line(f"every record twice ({prototype_profile(codes)['unique records %']:.0f} % alone)", twice)
    print(f"identity: {twice.value:g} {twice.unit}. {twice.sentence}")


def halves(file: str) -> None:
    """Half of a file, rebuilt from a random start and from the other half: what is invented and missed."""
    people = region(file)
    domains = {name: sorted(people[name].unique()) for name in SURVEY}
    codes = np.column_stack([[domains[name].index(v) for v in people[name]] for name in SURVEY])
    for split in range(5):
        both_starts(
            f"SD2011, split {split}", codes, [len(v) for v in domains.values()], split, 283, (1, 2, 5, 20)
        )
    rng = np.random.default_rng(1)
    ages, sexes = rng.integers(0, 116, 400), rng.integers(0, 2, 400)
    race = np.minimum(rng.geometric(0.45, 400) - 1, 62)
    kinds = np.column_stack([ages, sexes, race, rng.random(400) < 0.15])
    area = kinds[rng.choice(400, 1000, p=rng.dirichlet(np.full(400, 0.5)))]
    both_starts("simulated area", area, [116, 2, 63, 2], 0, 1000, (1, 2, 5, 10))


def both_starts(
    name: str, codes: np.ndarray, sizes: list[int], split: int, rows: int, marks: tuple[int, ...]
) -> None:
    from dalenius.risk.reconstruction import Ranking, Workload, audit_ranking, rebuild

    order = np.random.default_rng(split).permutation(len(codes))
    mine, others = codes[order[::2]], codes[order[1::2]]
    domains = {f"c{j}": [str(v) for v in range(size)] for j, size in enumerate(sizes)}
    data = {column: [str(v) for v in mine[:, j]] for j, column in enumerate(domains)}
    work = Workload.margins(data, ways=[2], domains=domains)
    kinds, known = ({tuple(row) for row in part.tolist()} for part in (mine, others))
    shared = 100 * len(kinds & known) / len(kinds)
    print(f"{name}: {len(mine)} people, {len(kinds)} kinds, {shared:.0f} % of them in the sample")
    for start, facts in {"random": {}, "baseline": {"reference": others}}.items():
        made = rebuild(work, runs=max(marks), rows=rows, steps=300, seed=split, start=start, **facts)
        found = {n: audit_ranking(Ranking.of(mine, made[:n])).values for n in marks}
        print(f"  {start}: " + "; ".join(f"{n} runs invented {v['invented %']:.0f} missed {v['missed %']:.1f} %"
                                         for n, v in found.items()), flush=True)  # fmt: skip


def survey(file: str) -> None:
    """All two-way and all three-way counts of 566 people by six columns: which cells they prove."""
    from itertools import combinations

    from dalenius.published import Published, fit

    columns = SURVEY
    people = region(file)
    for ways, bounds in ((3, False), (2, False), (3, True)):
        out = Published.count(people, list(combinations(columns, ways)))
        start = cpu()
        found = fit(out, bounds=bounds)
        print(f"{ways}-way counts of {people.height} people{', with bounds' if bounds else ''}: {found}, "
              f"{int((found.proved & (found.low > 0)).sum())} of them not empty, {found.undecided.sum()} undecided, "
              f"{int(found.exact.sum())} exact, {cpu() - start:.1f} CPU s", flush=True)  # fmt: skip


def cpu() -> float:
    """CPU seconds of this process and of those it has ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--cpsat"]:
        cpsat(words[1], int(words[2]))
    elif words[:1] == ["--milp"]:
        milp_peer(words[1], int(words[2]))
    elif words[:1] == ["--extract"]:
        extract(words[1])
    elif words[:1] == ["--trial"]:
        trial(words[1])
    elif words[:1] == ["--halves"]:
        halves(words[1])
    elif words[:1] == ["--survey"]:
        survey(words[1])
    elif words[:1] == ["--ranked"]:
        ranked(*map(int, words[1:]))
    else:
        ours()
        for folder in words:
            programs(Path(folder))
        ranked()
        many()
