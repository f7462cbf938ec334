"""Reading what a file made from outputs is to give, from YAML; every fault is named at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dalenius.core.errors import FileError, SchemaError
from dalenius.synth.outputs.targets import CrossTab, Grouped, Metadata, Regression, Target, Variable


def read_targets(path: str | Path) -> tuple[Metadata, list[Target]]:
    """Columns, number of rows and targets of a YAML file; its form is shown in docs/from-outputs.md."""
    file = Path(path)
    try:
        content = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{file}: cannot read the targets ({error.strerror})") from None
    except (YAMLError, UnicodeDecodeError):
        raise FileError(f"{file}: the targets are not valid YAML") from None
    content = content if isinstance(content, dict) else {}
    faults = [f"unknown entry {name!r}" for name in content if name not in ("rows", "columns", "targets")]
    faults += [f"no {name}" for name in ("rows", "columns", "targets") if not content.get(name)]
    if faults:
        raise SchemaError.from_faults(str(file), faults)
    variables = []
    for name, body in content["columns"].items():
        facts = body if isinstance(body, dict) else {}
        values, shares = tuple(facts.get("values") or ()), tuple(facts.get("shares") or ())
        if not values or (shares and len(shares) != len(values)):
            faults.append(f"column {name!r}: list its values, and one share for each or none")
        variables.append(Variable(str(name), values, shares))
    targets: list[Target] = []
    for number, body in enumerate(content["targets"], 1):
        try:
            targets.append(_target(body))
        except (KeyError, TypeError, AttributeError, ValueError):
            faults.append(f"target {number} is not understood; write a table, logit, linear, mean or median")
    if faults:
        raise SchemaError.from_faults(str(file), faults)
    return Metadata(tuple(variables), int(content["rows"])), targets


def _target(body: dict[str, Any]) -> Target:
    source = str(body.get("source", ""))
    if "table" in body:
        first, second = body["table"]
        cells = body["counts"] if "counts" in body else body["proportions"]
        flat = {(a, b): float(n) for a, line in cells.items() for b, n in line.items()}
        return CrossTab(str(first), str(second), flat, props="counts" not in body, source=source)
    if "logit" in body or "linear" in body:
        coefs: dict[Any, float] = {"constant": float(body.get("constant", 0.0))}
        for name, given in body["coefficients"].items():
            if isinstance(given, dict):
                coefs |= {(str(name), value): float(number) for value, number in given.items()}
            else:
                coefs[str(name)] = float(given)
        y = str(body.get("logit", body.get("linear")))
        return Regression(y, coefs, body.get("reference") or {}, logit="logit" in body, source=source)
    median = "median" in body
    values = {value: float(number) for value, number in body["values"].items()}
    return Grouped(str(body["median" if median else "mean"]), str(body["by"]), values, median, source=source)
