"""Figures about a private fit, by name: policies take them like any other. All are made of what is released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from dalenius.core.registry import MeasureInfo
from dalenius.core.result import WHOLE, Result, figure


def _info(name: str, title: str, meaning: str, unit: str, **more: Any) -> MeasureInfo:
    return MeasureInfo(
        name, title, more.pop("family"), meaning, "lower", (0.0, float("inf")), "Tran, Reimherr and Slavković 2024",
        unit, default=False, subject="fit", compares=False, **more,
    )  # fmt: skip


FIT_MEASURES: Mapping[str, MeasureInfo] = {
    info.name: info
    for info in (
        _info(
            "fit-epsilon", "ε of the fit",
            "How far the fit can speak for or against any one person: chances change by a factor of e to the ε at "
            "most.", "", family="risk", dimension="membership",
        ),
        _info(
            "fit-width", "Half width of the bands",
            "How far the 95 % bands reach to either side of the lines, on average, of the response's declared range.",
            "%", family="utility",
        ),
    )
}  # fmt: skip


def fit_results(epsilon: float, lines: pl.DataFrame | None, whole: float) -> dict[str, Result]:
    """The figures of a fit; of one that was not made only what it would cost.

    Examples
    --------
    >>> lines = pl.DataFrame({"low": [1.0, 2.0], "high": [3.0, 4.0]})
    >>> [r.value for r in fit_results(2.0, lines, 10.0).values()]
    [2.0, 10.0]
    """
    cost = Result("fit-epsilon", epsilon, f"The fit costs ε = {epsilon:g}.", counts=WHOLE)
    made = {"fit-epsilon": cost.with_info(FIT_MEASURES["fit-epsilon"])}
    if lines is not None and "low" in lines.columns and lines.height:
        wide = 100 * float((lines["high"] - lines["low"]).mean() or 0.0) / 2 / whole  # type: ignore[arg-type]
        said = f"Bands reach {figure(wide, '%')} of the response's declared range to either side, on average."
        held = Result("fit-width", wide, said, unit="%", counts=WHOLE)
        made["fit-width"] = held.with_info(FIT_MEASURES["fit-width"])
    return made
