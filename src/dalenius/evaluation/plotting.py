"""One column as one figure, as the report draws it: the original beside the protected file, small cells withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dalenius.core.errors import DataError, no_column
from dalenius.core.later import altair as alt
from dalenius.core.pictures import Figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.pair import Pair
from dalenius.data.schema import Schema
from dalenius.evaluation.columns import Bars, column_bars, column_chart, column_words
from dalenius.evaluation.histograms import bins_of, histogram_bars, histogram_chart
from dalenius.evaluation.withheld import withheld_values


def shown_bars(pair: Pair, columns: Sequence[str], *, binned: bool = True) -> Mapping[str, Bars]:
    """What may be drawn of columns that are shown together: numbers in bins (unless not ``binned``), others by value.

    Examples
    --------
    >>> data = {"age": list(range(100)), "sex": ["f", "m"] * 50}
    >>> {name: bars.form for name, bars in shown_bars(Pair(data, data), ["age", "sex"]).items()}
    {'age': 'numbers', 'sex': 'values'}
    """
    bins = [b for b in (bins_of(pair, name) for name in columns) if b is not None] if binned else []
    histograms = histogram_bars(pair, bins)
    others = [name for name in columns if name not in histograms]
    hidden = withheld_values(pair, others) if others else {}
    drawn = {name: column_bars(pair, name, hidden[name]) for name in others} | dict(histograms)
    return {name: drawn[name] for name in columns}


def column_figure(pair: Pair, column: str, name: str = "protected") -> Figure:
    """One column of a pair as a figure; ``name`` is what the protected file is called.

    Columns that lie within each other (districts in regions) are guarded together, so that no small value follows from
    two figures of them.

    Examples
    --------
    >>> data = {"sex": ["f"] * 60 + ["m"] * 40}
    >>> print(column_figure(Pair(data, data), "sex"))
    Shares of the values of sex, original and protected: f 60 % and 60 %; m 40 % and 40 %
    """
    if column not in pair.columns:
        raise DataError(no_column([column], pair.columns))
    bars = shown_bars(pair, _family(pair, column))[column]
    if not len(bars.data):
        raise DataError(
            f"column {column!r}: too few original records share a value; there is nothing to draw"
        )
    numbers = bars.form != "values"
    chart = histogram_chart(bars, name, 420, 180) if numbers else column_chart(bars, name, 360)
    said = [f"original: {'bars' if numbers else 'dark'}; {name}: {'lines' if numbers else 'light'}"]
    if bars.hidden:
        said.append(
            f"{bars.hidden} {'bins' if numbers else 'values'} not shown by themselves: few people have them"
        )
    title = alt.TitleParams(column, subtitle=said, subtitleColor="#52606D")
    return Figure(chart.properties(title=title), column_words(bars))


def _family(pair: Pair, column: str) -> list[str]:
    """The column and all that lie within it or around it."""
    columns = [column]
    for name in columns:  # grows while it is read
        near = [c.name for c in pair.schema if c.parent == name]
        near += [parent] if (parent := pair.schema[name].parent) else []
        columns += [other for other in near if other not in columns and other in pair.columns]
    return sorted(
        columns, key=pair.columns.index
    )  # one order, whichever of them is drawn: the same are withheld


def compare_plot(
    original: Any, protected: Any, column: str, schema: Schema | None = None, *,
    name: str = "protected", threshold: int = THRESHOLD,
) -> Figure:  # fmt: skip
    """One column of two files as one figure; a notebook shows it as it is.

    Numbers are drawn as histograms, other values as bars. A value or bin that fewer original records have than
    ``threshold`` is merged or left out, and so is what would give it away by subtraction.

    Parameters
    ----------
    original, protected
        Frames of any supported type, or tables.
    schema
        Of the original; inferred when absent.
    name
        What the protected file is called in the figure.

    Examples
    --------
    >>> import dalenius
    >>> survey = dalenius.examples.survey(500, seed=1)
    >>> synthetic = dalenius.synthesize(survey, "independent", seed=1)
    >>> figure = dalenius.compare_plot(survey, synthetic, "age", name="independent")
    >>> figure.svg[:4]
    '<svg'
    """
    return column_figure(Pair(original, protected, schema=schema, threshold=threshold), column, name)
