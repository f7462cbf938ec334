"""Files of τ-ARGUS: tables (``.tab`` with ``.rda``), hierarchies (``.hrc``) and cells with their relations (JJ).

These hold what must stay inside: true values, statuses and protection levels (τ-ARGUS manual, chapters 5 and 6).
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import FileError, TableError
from dalenius.data.atomic import replacing
from dalenius.data.files.access import text_of
from dalenius.tables.contributions import Contributions
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.hierarchy import Hierarchy
from dalenius.tables.hierarchy_files import read_hierarchy
from dalenius.tables.model import Bools, Floats
from dalenius.tables.relations import relations

if TYPE_CHECKING:
    from dalenius.tables.suppression import Suppression

STATUS = {"published": "S", "primary": "U", "secondary": "M", "forced": "P", "hidden": "U"}
LETTERS = {"S": "s", "U": "u", "M": "x", "P": "z", "D": "x"}
TOP = 2
ROLES = {"NUMERIC": "value", "FREQUENCY": "freq", "WEIGHT": "weight", "HOLDING": "holding", "REQUEST": "request",
         "STATUS": "status", "MAXSCORE": "top", "LOWERPL": "lower", "UPPERPL": "upper", "COST": "cost"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ArgusTable:
    """What a data file of τ-ARGUS holds, read by its ``.rda``.

    Attributes
    ----------
    frame
        The columns by name, as text.
    hierarchies
        Column → hierarchy, from the ``.hrc`` files the ``.rda`` names.
    roles
        What a column is for: value, freq, weight, holding, request, status, top, lower, upper, cost; others are codes.
    totals
        Code of the total, by column.
    """

    frame: pl.DataFrame
    hierarchies: dict[str, Hierarchy] = field(default_factory=dict)
    roles: dict[str, list[str]] = field(default_factory=dict)
    totals: dict[str, str] = field(default_factory=dict)

    @property
    def dimensions(self) -> list[str]:
        """Columns of codes."""
        taken = {name for names in self.roles.values() for name in names}
        return [name for name in self.frame.columns if name not in taken]

    def numbers(self, role: str) -> Floats:
        """The first column of a role as numbers."""
        return self.frame[self.roles[role][0]].cast(pl.Float64, strict=False).to_numpy().astype(np.float64)

    @property
    def letters(self) -> list[str]:
        """Status of every cell: s safe, u primary, x secondary, z to be published."""
        return [LETTERS.get(s.strip().upper(), "s") for s in self.frame[self.roles["status"][0]].to_list()]


def write_argus(result: Suppression, path: str | Path) -> list[Path]:
    """Write a table for τ-ARGUS: ``NAME.tab``, ``NAME.rda`` and a ``.hrc`` file per hierarchy. Confidential.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> files = write_argus(result, Path(tempfile.mkdtemp()) / "t.tab")
    >>> [file.name for file in files]
    ['t.tab', 't.rda']
    >>> print(files[0].read_text().splitlines()[1])
    "x";1;1;U
    """
    model, path = result.model, Path(path)
    columns: list[list[str]] = [[_quoted(code) for code in model.cells[name]] for name in model.names]
    amount = [f"{v:.{model.decimals}f}" for v in model.published_amount]
    columns += [amount, [str(n) for n in model.frequency]]
    meta = _describe(model, path)
    if model.is_magnitude:
        top = Contributions.of(model).largest(TOP)
        columns += [[f"{v:.{model.decimals}f}" for v in top[:, i]] for i in range(TOP)]
        meta += [line for i in range(1, TOP + 1) for line in (f"Top{i}", "  <MAXSCORE>")]
    columns.append([STATUS[s] for s in result.status])
    meta += ["Status", "  <STATUS>"]
    files = [path, path.with_suffix(".rda")]
    with replacing(files[0], private=True) as target:
        target.write_text(
            "\n".join(";".join(row) for row in zip(*columns, strict=True)) + "\n", encoding="utf-8"
        )
    with replacing(files[1]) as target:
        target.write_text("\n".join(meta) + "\n", encoding="utf-8")
    for d in model.dimensions:
        if len(d.hierarchy.leaves) < len(d.hierarchy.codes) - 1:
            files.append(path.with_name(f"{path.stem}-{d.name}.hrc"))
            with replacing(files[-1]) as target:
                target.write_text(hrc_text(d.hierarchy), encoding="utf-8")
    return files


def _quoted(code: str) -> str:
    return '"' + code.replace('"', '""') + '"'


def _describe(model: Any, path: Path) -> list[str]:
    meta = ['<SEPARATOR> ";"', '<SAFE> "S"', '<UNSAFE> "U"', '<PROTECT> "P"']
    for d in model.dimensions:
        meta += [d.name, "  <RECODABLE>", f'  <TOTCODE> "{d.hierarchy.total}"']
        if len(d.hierarchy.leaves) < len(d.hierarchy.codes) - 1:
            meta += [
                "  <HIERARCHICAL>",
                f'  <HIERCODELIST> "{path.stem}-{d.name}.hrc"',
                '  <HIERLEADSTRING> "@"',
            ]
    return [*meta, "Value", "  <NUMERIC>", f"  <DECIMALS> {model.decimals}", "Freq", "  <FREQUENCY>"]


def hrc_text(tree: Hierarchy) -> str:
    r"""A hierarchy as a ``.hrc`` file: one code a line, one @ per level below the top, without the total.

    Examples
    --------
    >>> hrc_text(Hierarchy.from_pairs([("N", "Total"), ("S", "Total"), ("n1", "N")]))
    'N\n@n1\nS\n'
    """
    nearest = {
        code: min(above, key=lambda p: len(tree.parts[p]), default=None)
        for code, above in tree.parents.items()
    }
    several = [code for code, near in nearest.items()
               if near and any(not tree.parts[near] <= tree.parts[p] for p in tree.parents[code])]  # fmt: skip
    if several:
        raise TableError(
            "hierarchy",
            [f"code {code!r} is part of groups that cross; a .hrc file holds one tree" for code in several],
        )
    children: dict[str, list[str]] = {}
    for code, near in nearest.items():
        if near is not None:
            children.setdefault(near, []).append(code)

    def below(code: str, depth: int) -> list[str]:
        return [
            line
            for child in children.get(code, ())
            for line in ("@" * depth + child, *below(child, depth + 1))
        ]

    return "\n".join(below(tree.total, 0)) + "\n"


def read_argus(path: str | Path, data: str | Path | None = None) -> ArgusTable:
    r"""Read a data file by its ``.rda``: a table (``.tab``) or microdata (``.asc``), with separators or fixed places.

    Parameters
    ----------
    path
        The ``.rda`` file.
    data
        The data file; by default the ``.tab``, ``.asc`` or ``.csv`` file of the same name.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "m.rda").write_text("geo 1 2\n  <RECODABLE>\nv 3 4\n  <NUMERIC>\n")
    >>> _ = (folder / "m.asc").write_text("N1  12\nS1   7\n")
    >>> read_argus(folder / "m.rda").numbers("value").tolist()
    [12.0, 7.0]
    """
    path = Path(path)
    separator, variables = _metadata(text_of(path))
    guesses = [path.with_suffix(ending) for ending in (".tab", ".asc", ".csv")]
    source = Path(data) if data is not None else next((g for g in guesses if g.exists()), guesses[0])
    lines = [line for line in text_of(source).splitlines() if line.strip()]
    names = [name for name, _ in variables]
    if separator is not None:
        rows = [
            [part.strip() for part in row]
            for row in csv.reader(lines, delimiter=separator, skipinitialspace=True)
        ]
    else:
        places = [(int(v["place"]) - 1, int(v["length"])) for _, v in variables]
        rows = [[line[start : start + length].strip() for start, length in places] for line in lines]
    faults = [
        f"line {i}: {len(row)} fields, the .rda names {len(names)}"
        for i, row in enumerate(rows, 1)
        if len(row) != len(names)
    ]
    if faults:
        raise TableError(
            source.name, [*faults[:5], *([f"and {len(faults) - 5} more"] if len(faults) > 5 else [])]
        )
    frame = pl.DataFrame({name: [row[i] for row in rows] for i, name in enumerate(names)})
    roles: dict[str, list[str]] = {}
    trees: dict[str, Hierarchy] = {}
    totals: dict[str, str] = {}
    for name, known in variables:
        role = next((ROLES[key] for key in ROLES if key in known), None)
        if role is not None:
            roles.setdefault(role, []).append(name)
            continue
        totals[name] = str(known.get("TOTCODE", "Total"))
        if "HIERCODELIST" in known:
            file = path.parent / str(known["HIERCODELIST"])
            trees[name] = read_hierarchy(file, totals[name], str(known.get("HIERLEADSTRING", "@")))
    return ArgusTable(frame, trees, roles, totals)


def _metadata(text: str) -> tuple[str | None, list[tuple[str, dict[str, Any]]]]:
    """The separator and the variables of a ``.rda`` file, each with its keywords."""
    separator: str | None = None
    variables: list[tuple[str, dict[str, Any]]] = []
    for line in text.splitlines():
        plain = line.strip()
        key = re.match(r"<(\w+)>\s*(.*)", plain)
        if key is not None:
            word, given = key.group(1).upper(), key.group(2).strip().strip('"')
            if word == "SEPARATOR":
                separator = given or ","
            elif variables:
                variables[-1][1][word] = given
        elif plain:
            name, *rest = plain.split()
            known: dict[str, Any] = {}
            if len(rest) >= 2:  # fixed places: name, first place, length
                known = {"place": rest[0], "length": rest[1]}
            variables.append((name, known))
    if not variables:
        raise TableError("rda", ["no variable is described"])
    return separator, variables


def write_jj(result: Suppression, path: str | Path) -> Path:
    """Write cells and relations in JJ format: value, weight, status, bounds and protection levels. Confidential.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> print(write_jj(result, Path(tempfile.mkdtemp()) / "t.jj").read_text())
    0
    4
    0 17 17 s 0 34 0 0 0
    1 1 1 u 0 2 0 0 1
    2 7 7 s 0 14 0 0 0
    3 9 9 s 0 18 0 0 0
    1
    0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
    <BLANKLINE>
    """
    model, path = result.model, Path(path)
    table = Disclosed.of(result)
    lines = ["0", str(len(table.amounts))]
    for i, value in enumerate(model.published_amount):
        status = "u" if result.primary[i] else "z" if result.forced[i] else "s"
        shown = f"{value:.{model.decimals}f}"
        high = f"{max(2 * abs(value), 0):.{model.decimals}f}"
        low = "0" if value >= 0 else f"{2 * value:.{model.decimals}f}"
        above = f"{table.above[i]:.{model.decimals}f}" if table.above[i] else "0"
        lines.append(
            f"{i} {shown} {shown.lstrip('-')} {status} {low} {high} 0 {above} {int(status == 'u' and above == '0')}"
        )
    sums = relations(model)
    lines.append(str(len(sums)))
    for parent, parts in sums:
        members = " ".join(f"{i} (1)" for i in parts)
        lines.append(f"0 {len(parts) + 1} : {parent} (-1) {members}")
    with replacing(path, private=True) as target:
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@dataclass(frozen=True, eq=False)
class JJ:
    """Cells and relations: ``relations`` is equations × cells, each adding up to 0."""

    values: Floats
    status: list[str]
    lower: Floats
    upper: Floats
    relations: Any

    def disclosed(self, suppressed: Bools | None = None) -> Disclosed:
        """The table as the audit sees it; without a mask all unsafe cells are suppressed.

        The relations say which cells are sums of others; cells that are never a sum are the inner cells.
        """
        cells = len(self.values)
        hidden = np.array([s in ("u", "x", "m") for s in self.status]) if suppressed is None else suppressed
        amounts = np.where(hidden, np.nan, self.values)
        primary = np.array([s == "u" for s in self.status])
        frame = pl.DataFrame({"cell": [str(i) for i in range(cells)]})
        none = np.zeros(cells, np.bool_)
        above = np.where(primary, self.upper, 0.0)
        return Disclosed(frame, _as_sums(self.relations), amounts, hidden, primary & hidden, none, above)


def _as_sums(equations: Any) -> Any:
    """Inner cells × cells from "parent = sum of parts" relations."""
    rows = sp.csr_matrix(equations)
    parts: dict[int, list[int]] = {}
    for i in range(rows.shape[0]):
        at, sign = (
            rows.indices[rows.indptr[i] : rows.indptr[i + 1]],
            rows.data[rows.indptr[i] : rows.indptr[i + 1]],
        )
        parts.setdefault(int(at[sign < 0][0]), at[sign > 0].tolist())
    inner: dict[int, frozenset[int]] = {}

    def leaves(cell: int, path: tuple[int, ...] = ()) -> frozenset[int]:
        if cell in path:
            raise TableError("relations", [f"cell {cell} is part of itself"])
        if cell not in inner:
            below = parts.get(cell)
            inner[cell] = (
                frozenset([cell])
                if below is None
                else frozenset().union(*(leaves(b, (*path, cell)) for b in below))
            )
        return inner[cell]

    pairs = [(leaf, cell) for cell in range(rows.shape[1]) for leaf in leaves(cell)]
    at = np.array(sorted(pairs, key=lambda p: p[1]))
    every, row = np.unique(at[:, 0], return_inverse=True)
    return sp.csc_matrix((np.ones(len(at), np.int64), (row, at[:, 1])), shape=(len(every), rows.shape[1]))


def read_jj(path: str | Path) -> JJ:
    r"""Read cells and relations in JJ format.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "t.jj"
    >>> cells = "0\n3\n0 9 9 s 0 18 0 0 0\n1 5 5 u 0 10 0 0 1\n2 4 4 s 0 8 0 0 0\n"
    >>> _ = file.write_text(cells + "1\n0 3 : 0 (-1) 1 (1) 2 (1)\n")
    >>> read_jj(file).relations.toarray().tolist()
    [[-1, 1, 1]]
    """
    path = Path(path)
    lines = [line for line in text_of(path).splitlines() if line.strip()]
    try:
        count = int(lines[1])
        fields = [line.split() for line in lines[2 : 2 + count]]
        equations = lines[3 + count : 3 + count + int(lines[2 + count])]
        found = [re.findall(r"(\d+)\s*\(\s*([+-]?\d+)\s*\)", line.partition(":")[2]) for line in equations]
        row, column, data = (
            zip(
                *((i, int(cell), int(sign)) for i, terms in enumerate(found) for cell, sign in terms),
                strict=True,
            )
            if found
            else ((), (), ())
        )
        numbers = np.array([[float(f[1]), float(f[6]), float(f[7])] for f in fields]).reshape(-1, 3)
        if len(fields) != count or (column and max(column) >= count):
            raise ValueError
    except (ValueError, IndexError) as error:
        raise FileError(
            f"{path.name}: is not a JJ file (0, the number of cells, the cells, the relations)"
        ) from error
    matrix = sp.csr_matrix((np.array(data, np.int64), (row, column)), shape=(len(equations), count))
    return JJ(numbers[:, 0], [f[3].lower() for f in fields], numbers[:, 1], numbers[:, 2], matrix)
