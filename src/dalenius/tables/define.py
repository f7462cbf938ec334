"""`define`: from microdata (or counts) to a `TableModel`, with every fault of the input reported at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from dalenius.core.errors import OptionError, TableError
from dalenius.data import Table
from dalenius.tables.dimensions import Coded, Dimension, find_dimensions
from dalenius.tables.hierarchy import TOTAL, Hierarchy
from dalenius.tables.hierarchy_files import read_hierarchy
from dalenius.tables.inner import InnerCells
from dalenius.tables.layout import Layout, TableLayout, layouts_of
from dalenius.tables.model import Floats, Ints, Records, TableModel
from dalenius.tables.publish import publish
from dalenius.tables.reader import Reader
from dalenius.tables.whose import contributor_columns


def define(
    data: Any, by: Layout | None = None, *, formula: str | None = None,
    tables: Mapping[str, Layout] | Sequence[Layout] | None = None,
    hierarchies: Mapping[str, Hierarchy | str | Path] | None = None, freq: str | None = None,
    value: str | None = None, contributor: str | None = None, weight: str | None = None, holding: str | None = None,
    request: str | None = None, total: str = TOTAL, missing: str | None = None,
    extend0: bool | Literal["all"] | None = None, structural: Any | None = None, remove_empty: bool | None = None,
    nested: bool = True,
) -> TableModel:  # fmt: skip
    """Define the table or tables to be published.

    Parameters
    ----------
    data
        Microdata, or inner cells with their counts (``freq``): any frame, dict of columns or `Table`.
    by
        Columns to cross, with all totals. Columns that are levels of each other share one dimension.
    formula
        Margins to publish instead, such as ``"~ age * geo + eu:year"``.
    tables
        Several linked tables: each a list of columns or a formula, by name or in order.
    hierarchies
        Column → `Hierarchy` or hierarchy file, for dimensions whose groups are not in the data.
    freq, value, contributor, weight
        Columns: count of a row, value to be summed (a magnitude table), whose row it is, and the sampling weight.
    holding, request
        Columns: the group a contributor belongs to, whose members may tell each other everything (rules then look at
        contributors and at holdings); and whether it asked for protection (1, or 2 for a second kind; 0 or empty: no).
    missing
        Code for rows whose dimension columns are empty; without it such rows are a fault of the data.
    extend0, structural
        Add every missing combination as an inner cell with count 0 ("all": of all leaves of the hierarchies, not only
        those in the data), except those in a frame of leaf codes that cannot occur. Done for counts unless refused
        (False: what is not in the data cannot occur), because a count of 0 tells something too; not done for sums.
    remove_empty
        Leave out cells without any inner cell; by default only for formulas.
    nested
        Look for columns that are levels of each other; False if a column determines another one by chance only.

    Examples
    --------
    >>> model = define({"geo": ["N1", "N2", "S1"], "zone": ["N", "N", "S"], "n": [4, 1, 7]}, ["geo", "zone"], freq="n")
    >>> model.cells["geo"].to_list(), model.frequency.tolist()
    (['Total', 'N', 'S', 'N1', 'N2', 'S1'], [12, 5, 7, 4, 1, 7])
    """
    _check_options(extend0, structural, value, (contributor, weight, holding, request))
    wanted = value is None if extend0 is None else extend0
    layouts = layouts_of(by, formula, tables, hierarchies)
    trees = _read_trees(hierarchies or {}, total)
    roles = (freq, value, contributor, weight, holding, request)
    table = Table.from_frame(data)
    source = _Source.read(table, layouts, trees, roles, total, missing)
    dimensions = _dimensions(source.coded, trees, total, nested)
    inner = InnerCells.collect(dimensions, source.coded, source.counts)
    records = source.records(inner.of_record)
    if wanted:
        inner = inner.extended(dimensions, structural, everything=wanted == "all", asked=extend0 is not None)
    if records is not None:
        inner.values = records.sums(len(inner.counts))
    model = publish(dimensions, layouts, inner, records, remove_empty)
    if value is None or contributor is not None:
        return model
    return replace(model, perhaps=contributor_columns(table, {*source.coded, *roles}))


def _check_options(extend0: Any, structural: Any, value: str | None, others: tuple[str | None, ...]) -> None:
    """Refuse what would be left unused without a word."""
    if extend0 not in (True, False, "all", None):
        raise OptionError(f"extend0 is True, False or 'all', not {extend0!r}")
    if structural is not None and not (value is None if extend0 is None else extend0):
        raise OptionError("structural= says which zeros are left out of extend0=True; give both")
    words = ("contributor", "weight", "holding", "request")
    alone = [f"{word}=" for word, name in zip(words, others, strict=True) if name is not None]
    if alone and value is None:
        raise OptionError(
            f"{' and '.join(alone)}: only for sums; name the column of values (value=, --value; a column of 1 for "
            "counts)"
        )


@dataclass(frozen=True, repr=False)
class _Source:
    """The columns of the data that matter, read and checked."""

    coded: Mapping[str, Coded]
    counts: Ints
    amounts: Floats | None
    weights: Floats | None
    firms: Coded | None
    holdings: Coded | None
    requests: Ints | None

    @classmethod
    def read(
        cls,
        table: Table,
        layouts: Mapping[str, TableLayout],
        trees: Mapping[str, Hierarchy],
        columns: tuple[str | None, ...],
        total: str,
        missing: str | None,
    ) -> _Source:
        """Read the columns; one error lists everything that is wrong with them."""
        asked = dict.fromkeys(name for layout in layouts.values() for term in layout.terms for name in term)
        reader = Reader(table, total, missing)
        reader.need([*asked, *trees, *(name for name in columns if name)])
        freq, value, contributor, weight, holding, request = (n if n in table else None for n in columns)
        source = cls(
            {name: reader.codes(name, trees.get(name)) for name in asked if name in table},
            reader.counts(freq),
            None if value is None else reader.numbers(value),
            None if weight is None else reader.numbers(weight, positive=True),
            None if contributor is None else reader.codes(contributor, None, dimension=False),
            None if holding is None else reader.codes(holding, None, dimension=False),
            None if request is None else reader.requests(request),
        )
        if value is not None:
            reader.need_finite(value, source.amounts, source.weights)
        reader.raise_faults()
        return source

    def records(self, inner: Ints) -> Records | None:
        """The microdata of a magnitude table."""
        if self.amounts is None:
            return None
        firms, holdings = self.firms, self.holdings
        return Records(
            inner,
            self.amounts,
            None if firms is None else firms.codes,
            self.weights,
            () if firms is None else firms.labels,
            None if holdings is None else holdings.codes,
            self.requests,
        )


def _read_trees(hierarchies: Mapping[str, Hierarchy | str | Path], total: str) -> dict[str, Hierarchy]:
    """Read hierarchy files; the faults of all of them together."""
    trees: dict[str, Hierarchy] = {}
    faults: list[str] = []
    for name, given in hierarchies.items():
        try:
            trees[name] = read_hierarchy(given, total) if isinstance(given, str | Path) else given
        except TableError as error:
            faults += [f"{Path(str(given)).name}: {fault}" for fault in error.faults]
    if faults:
        raise TableError("hierarchies", faults)
    return trees


def _dimensions(
    coded: Mapping[str, Coded], trees: Mapping[str, Hierarchy], total: str, nested: bool
) -> tuple[Dimension, ...]:
    loose = {name: c for name, c in coded.items() if name not in trees}
    if nested:
        free = find_dimensions(loose, total)
    else:
        free = [
            Dimension(name, Hierarchy.flat(c.labels, total), {name: c.labels}) for name, c in loose.items()
        ]
    given = [Dimension(name, trees[name], {name: trees[name].codes}) for name in coded if name in trees]
    order = list(coded)
    return tuple(sorted([*free, *given], key=lambda d: order.index(d.name)))
