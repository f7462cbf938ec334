"""Pictures of the pages on masking systems, graphs, groups: ``python bench/pictures.py [spectral …]`` draws them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import vl_convert

from dalenius import Pair, synthesize
from dalenius.core.plain import plain
from dalenius.core.style import ORIGINAL, PROTECTED, RISK, configured
from dalenius.data import examples
from dalenius.data.table import Table
from dalenius.evaluation import subgroups
from dalenius.mask.geo.donut import Donut
from dalenius.mask.geo.grid import Grid
from dalenius.mask.lattice.generalise import Generalise
from dalenius.mask.robin_hood import RobinHood
from dalenius.mask.robin_hood_checks import disparity_odds_ratios, privacy_by_group
from dalenius.mask.safepub_k import beta_profile
from dalenius.mask.series import cell_sensitivity, example_homes, group_means, group_series, merge_until_safe
from dalenius.mask.simulation import replication_audit
from dalenius.mask.spectral import Way, anonymised
from dalenius.mask.spectral_attack import sign_attack
from dalenius.models.graphs import GraphService, block_graph, link_audit, train_network

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def save(chart: Any, name: str) -> None:
    """A chart as a picture on white ground."""
    spec = plain(configured(chart).configure(background="white").to_dict(validate=False))
    (IMAGES / f"{name}.png").write_bytes(vl_convert.vegalite_to_png(json.dumps(spec, default=str), scale=1.6))


def spectral() -> None:
    """Two skewed columns, three ways to change them, and how many rows the attack on signs finds."""
    rng = np.random.default_rng(1)
    first = rng.gamma(2.0, 1.0, 600)
    x = np.column_stack([first, 0.6 * first + rng.gamma(2.0, 0.5, 600)])
    panels = []
    ways: tuple[Way, ...] = ("permutation", "orthogonal", "sign")
    for title, y in [("original", x), *((way, anonymised(x, way, seed=1)[0]) for way in ways)]:
        found = "" if title == "original" else f": {sign_attack(y, x).value:.1f} % of rows found"
        frame = pl.DataFrame({"first": y[:, 0], "second": y[:, 1]})
        colour = {"original": ORIGINAL, "sign": RISK}.get(title, PROTECTED)
        panels.append(
            alt.Chart(frame.to_arrow(), title=f"{title}{found}")
            .mark_circle(size=12, opacity=0.6, color=colour)
            .encode(
                alt.X("first:Q", scale=alt.Scale(domain=[-4, 10], clamp=True)),
                alt.Y("second:Q", scale=alt.Scale(domain=[-3, 9], clamp=True)),
            )
            .properties(width=210, height=190)
        )
    save(alt.hconcat(*panels), "spectral")


def robin_hood() -> None:
    """Odds ratios of two minorities in the original, in a file recoded to k, and in a file of Robin Hood's."""
    rng = np.random.default_rng(3)
    rows, k, keys = 60_000, 30, ("age", "sex", "group")
    group = rng.choice(3, rows, p=[0.88, 0.09, 0.03])
    sick = np.where(rng.random(rows) < np.array([0.1, 0.2, 0.5])[group], "y", "n")
    names = np.array(["majority", "minority", "small minority"])[group]
    ages = rng.choice(["17-24", "25-44", "45-64", "65+"], rows, p=[0.2, 0.45, 0.3, 0.05])
    table = Table.from_frame({"age": ages, "sex": rng.choice(["f", "m"], rows), "group": names, "sick": sick})
    small = table.take(np.sort(rng.choice(rows, 4000, replace=False)))
    merged = {"minority": "Other", "small minority": "Other"}
    halves = {"17-24": "17-44", "25-44": "17-44", "45-64": "45+", "65+": "45+"}
    ladders = {"age": [halves], "sex": [], "group": [merged]}
    coarse = Generalise(keys, levels=ladders, k=k, limit=0.0, loss="entropy").apply(small)
    robin = RobinHood(keys, fairness="group", k=k).apply(small, 1)
    told = []
    for title, file, merge in (
        ("original", small, None),
        (f"recoded to k = {k}", coarse.table, merged if "Other" in coarse.table["group"].levels else None),
        (f"Robin Hood, effective k = {k}", robin.table, None),
    ):
        for name, ratio in disparity_odds_ratios(file, "sick", "group", "majority", merged=merge).items():
            if name in merged:
                told.append({"file": title, "group": name, "odds ratio": ratio})
    bars = alt.Chart(pl.DataFrame(told).to_arrow()).mark_bar()
    odds = bars.encode(
        alt.Y("file:N", sort=None, title=None, axis=alt.Axis(labelLimit=200)),
        alt.X("odds ratio:Q"),
        alt.Color("file:N", sort=None, scale=alt.Scale(range=[ORIGINAL, RISK, PROTECTED]), legend=None),
        alt.Row("group:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")),
    ).properties(width=300, height=75)
    gains = privacy_by_group(small, robin.table, keys, "group")
    both = alt.hconcat(odds, gains.chart().properties(width=260, height=150)).resolve_scale(
        color="independent"
    )
    save(both, "robin-hood")


def geography() -> None:
    """A town of clusters: homes, homes in rings, and cells of at least ten."""
    rng = np.random.default_rng(5)
    centres = rng.random((14, 2)) * 3400 + 300
    old = centres[rng.choice(14, 1500, p=rng.dirichlet(np.full(14, 1.5)))] + rng.normal(0, 170, (1500, 2))
    table = Table.from_frame({"x": old[:, 0], "y": old[:, 1]})
    ring = Donut("x", "y", near=100, far=400, unit="metres").apply(table, 1)
    grid = Grid("x", "y", size=2048, halvings=4, k=10, unit="metres").apply(table)
    share = ring.figures["spatial k below 3 in %"]
    scales = {"x": alt.Scale(domain=[-300, 4400]), "y": alt.Scale(domain=[-300, 4400])}

    def dots(points: np.ndarray, title: str, colour: str) -> alt.Chart:
        frame = pl.DataFrame({"east, m": points[:, 0], "north, m": points[:, 1]})
        chart = alt.Chart(frame.to_arrow(), title=title).mark_circle(size=8, opacity=0.5, color=colour)
        return chart.encode(
            alt.X("east, m:Q", scale=scales["x"]), alt.Y("north, m:Q", scale=scales["y"])
        ).properties(width=270, height=270)

    new = np.column_stack([ring.table[n].data for n in "xy"])
    side = [2048 / 2**at for at, _, _ in grid.lens.maps[0].leaves]
    cells = pl.DataFrame(
        [
            {"x": c * s, "x2": (c + 1) * s, "y": r * s, "y2": (r + 1) * s}
            for (_, c, r), s in zip(grid.lens.maps[0].leaves, side, strict=True)
        ]
    )
    boxes = alt.Chart(cells.to_arrow(), title="cells of at least 10 homes").mark_rect(
        fill=PROTECTED, opacity=0.35, stroke="white", clip=True
    )
    boxes = boxes.encode(
        alt.X("x:Q", scale=scales["x"], title="east, m"),
        alt.Y("y:Q", scale=scales["y"], title="north, m"),
        x2="x2",
        y2="y2",
    ).properties(width=270, height=270)
    title = f"moved 100-400 m: {share:.1f} % with k < 3"
    save(alt.hconcat(dots(old, "simulated homes", ORIGINAL), dots(new, title, PROTECTED), boxes), "geography")


def safepub() -> None:
    """How large a group must be to be seen, by the share of records that is drawn, for three ε."""
    told = []
    for epsilon in (1.0, 2.0, 3.0):
        profile = beta_profile(0.9 * epsilon, 1e-4).with_columns(pl.lit(f"ε = {epsilon:g}").alias("epsilon"))
        told.append(profile)
    line = alt.Chart(pl.concat(told).to_arrow()).encode(
        alt.X("beta:Q", title="share of records that is drawn"),
        alt.Y("group that is seen:Q", title="people a group needs to be seen", scale=alt.Scale(type="log")),
        alt.Color("epsilon:N", title=None, scale=alt.Scale(range=[ORIGINAL, PROTECTED, RISK])),
    )
    save((line.mark_line() + line.mark_point(filled=True)).properties(width=460, height=240), "safepub")


def series() -> None:
    """Load curves of forty simulated homes over two days, before, averaged over groups, and merged until safe."""
    x = example_homes(240, 2, seed=2).astype(float)
    labels = group_series(x, 4)
    safe = merge_until_safe(x, labels)
    marks = cell_sensitivity(x, labels).marks["p %"]
    panels = []
    for title, curves, colour in (
        ("simulated homes", x[:40], ORIGINAL),
        (f"groups of 4: {marks.sum():,} sensitive cells", group_means(x, labels)[:40], RISK),
        ("merged: none", group_means(x, safe), PROTECTED),
    ):
        rows, slots = curves.shape
        frame = pl.DataFrame(
            {
                "kWh": curves.ravel(),
                "hour": np.tile(np.arange(slots) / 2, rows),
                "curve": np.repeat(np.arange(rows), slots),
            }
        )
        line = alt.Chart(frame.to_arrow(), title=title).mark_line(
            opacity=0.35, color=colour, strokeWidth=1, clip=True
        )
        line = line.encode(
            alt.X("hour:Q"), alt.Y("kWh:Q", scale=alt.Scale(domain=[0, 4])), alt.Detail("curve:N")
        )
        panels.append(line.properties(width=250, height=190))
    save(alt.hconcat(*panels), "series")


def simulation() -> None:
    """How often unique records come back in forty runs, honest ones and ones that leak five records."""
    rng = np.random.default_rng(3)

    def people() -> pl.DataFrame:
        return pl.DataFrame({"a": rng.integers(0, 30, 300), "b": rng.integers(0, 30, 300)})

    real, outside, fresh = people(), people(), [people() for _ in range(40)]
    leaky = [pl.concat([run, real.head(5)]) for run in fresh]
    panels = []
    for title, runs in (("honest runs", fresh), ("runs that leak five records", leaky)):
        found = replication_audit(runs, real, ["a", "b"], holdout=outside)
        bars = alt.Chart(found.table.to_arrow(), title=f"{title}: {found.verdict}").mark_bar()
        scale = alt.Scale(domain=["none", "accidental", "systematic"], range=["#9AA5B1", PROTECTED, RISK])
        bars = bars.encode(
            alt.X("share:Q", bin=alt.Bin(step=0.05), title="share of runs a record comes back in"),
            alt.Y("count():Q", title="records", scale=alt.Scale(type="symlog")),
            alt.Color("verdict:N", scale=scale, title=None),
        )
        panels.append(bars.properties(width=300, height=180))
    save(alt.hconcat(*panels), "simulation")


def graphs() -> None:
    """Links between people, recovered from the answers of a service, attack by attack."""
    graph = block_graph(600, 1)
    audit = link_audit(GraphService(train_network(graph, seed=1), graph), people=200)
    assert audit.result.chart is not None
    save(audit.result.chart(), "graphs")


def groups() -> None:
    """Utility and risk by group, of the example survey made anew."""
    columns = ["region", "sex", "age", "education", "income", "smoker", "health", "diagnosis"]
    people = examples.survey(6000, seed=1).select(columns)
    made = synthesize(people[:4000], "cart", seed=1)
    keys, targets = ["region", "sex", "age"], ["diagnosis"]
    chart = subgroups(Pair(people[:4000], made, people[4000:], keys=keys, targets=targets)).chart
    assert chart is not None
    save(chart(), "utility-groups")


DRAWN = {
    "spectral": spectral, "robin-hood": robin_hood, "geography": geography, "safepub": safepub, "series": series,
    "simulation": simulation, "graphs": graphs, "groups": groups,
}  # fmt: skip

if __name__ == "__main__":
    for name in sys.argv[1:] or DRAWN:
        DRAWN[name]()
