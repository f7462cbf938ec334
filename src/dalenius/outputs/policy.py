"""`Policy`: the limits of a data owner, with overrides for single data sets.

Concentration limits (n, k and p) are confidential (Handbook on Statistical Disclosure Control, section 4.2): no file
that is released prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dalenius.core.errors import FileError, OptionError, SchemaError
from dalenius.core.errors import names as listed

SECRET = ("nk_n", "nk_k", "p", "nk_inclusive")
"""Limits that no released file prints."""


@dataclass(frozen=True)
class Policy:
    """Limits of all checks; the defaults are those of acro and of Eurostat's tool.

    Attributes
    ----------
    threshold, dof, survival
        Fewest units behind a cell, residual degrees of freedom, exits in a step of a survival table.
    nk_n, nk_k, nk_inclusive, p
        The n largest may not make up k of a total (``>=`` if inclusive); p of the p % rule. All as shares.
    zeros, full_cells, near_full, all_same, missing
        Whether empty cells, full cells, nearly full cells, cells of equal values and dropped missing values count.
    spread
        Whether standard deviations and the like are looked at for few people who make up all of the spread; without it
        they are judged by degrees of freedom alone.
    negatives
        "review", or "absolute" to run dominance on absolute values.
    zero_total
        Whether a cell whose contributions are all 0 fails the p % rule.
    tail
        Fewest units beyond a quantile, and between two of them; with 0 only end values are refused.
    endpoints
        Whether maxima and minima that few share are refused.
    concentration_n
        Fewest units behind a Herfindahl index or a Gini coefficient.
    round_base, blocked
        Base of rounding; file endings that never leave.
    overrides
        Data set → limits that differ there.

    Examples
    --------
    >>> cis = Policy(overrides={"CIS": {"threshold": 60, "nk_n": 5, "nk_k": 0.5}}).at("CIS")
    >>> cis.threshold, cis.nk_n
    (60, 5)
    """

    threshold: int = 10
    dof: int = 10
    survival: int = 10
    nk_n: int = 2
    nk_k: float = 0.90
    nk_inclusive: bool = True
    p: float = 0.10
    zeros: bool = True
    full_cells: bool = True
    near_full: bool = False
    all_same: bool = True
    missing: bool = False
    spread: bool = True
    negatives: str = "review"
    zero_total: bool = True
    tail: int = 10
    endpoints: bool = True
    concentration_n: int = 3
    differencing: bool = True
    round_base: int = 5
    blocked: tuple[str, ...] = (".svg", ".gph")
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocked", tuple(str(b).lower() for b in self.blocked))
        faults = _faults(asdict(self))
        for name, given in self.overrides.items():
            faults += [f"{name}: {fault}" for fault in _override_faults(given)]
        if faults:
            raise SchemaError.from_faults("policy", faults)

    def __repr__(self) -> str:
        return f"Policy(threshold={self.threshold}, dof={self.dof}, …)"  # concentration limits stay out of notebooks

    def at(self, dataset: str | None) -> Policy:
        """The limits for one data set."""
        given = self.overrides.get(dataset or "", {})
        return replace(self, overrides={}, **given)

    def public(self) -> dict[str, Any]:
        """What a released file may say of the policy: everything but the concentration limits.

        Examples
        --------
        >>> sorted(set(SECRET) & set(Policy().public()))
        []
        """
        kept = {k: v for k, v in asdict(self).items() if k not in (*SECRET, "overrides")}
        return {**kept, "blocked": list(self.blocked), "weaker": self.weaker()}

    def weaker(self) -> list[str]:
        """Names of limits that let more through than the usual ones.

        Examples
        --------
        >>> Policy(threshold=1, nk_k=1.0, endpoints=False).weaker(), Policy(threshold=30).weaker()
        (['threshold', 'nk_k', 'endpoints'], [])
        """
        found, usual = [], Policy()
        for name in _KINDS:
            own, other = getattr(self, name), getattr(usual, name)
            if name in ("overrides", "blocked", "negatives"):
                lax = name == "blocked" and not set(other) <= set(own)
            else:
                lax = own > other if name == "nk_k" else own < other
            found += [name] if lax or (name == "negatives" and own != other) else []
        return found

    def to_dict(self) -> dict[str, Any]:
        """All limits, confidential ones too; for the owner of the data."""
        return {**asdict(self), "blocked": list(self.blocked)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Policy:
        """A policy from plain data; one error lists all faults."""
        unknown = [name for name in data if name not in _KINDS]
        if unknown:
            told = [f"no limit {name!r}; there are {listed(sorted(_KINDS), 30)}" for name in unknown]
            rest = {k: v for k, v in data.items() if k in _KINDS}
            raise SchemaError.from_faults("policy", [*told, *_faults(rest)])
        faults = _faults(data)
        if faults:
            raise SchemaError.from_faults("policy", faults)
        return cls(**dict(data))

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        r"""A policy from a YAML file.

        Examples
        --------
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "policy.yaml"
        >>> _ = file.write_text("threshold: 12\noverrides: {ESS: {threshold: 15, p: 0.15}}\n")
        >>> Policy.read(file).at("ESS").threshold
        15
        """
        try:
            data = YAML(typ="safe").load(Path(path).read_text(encoding="utf-8")) or {}
        except OSError as error:
            raise FileError(f"{path}: the policy cannot be read ({error.strerror})") from None
        except (YAMLError, ValueError):
            raise FileError(
                f"{path}: this is not a YAML file; write one limit a line, such as 'threshold: 10'"
            ) from None
        if not isinstance(data, dict):
            raise FileError(f"{path}: a policy is a list of limits, such as 'threshold: 10'")
        return cls.from_dict(data)


_KINDS = {each.name: each.type for each in fields(Policy)}
_LEAST = {
    "threshold": 1,
    "dof": 0,
    "survival": 1,
    "nk_n": 1,
    "tail": 0,
    "concentration_n": 1,
    "round_base": 2,
}
_SHARES = {"nk_k": 1.0, "p": 0.999}


def _faults(given: Mapping[str, Any]) -> list[str]:
    """All that is wrong with a set of limits."""
    return [fault for name, value in given.items() for fault in [_fault(name, value)] if fault]


def _fault(name: str, value: Any) -> str:
    if name in _LEAST:
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= _LEAST[name]
        return "" if whole else f"{name} must be a whole number of at least {_LEAST[name]}"
    if name in _SHARES:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        good = number and 0 < value <= _SHARES[name]
        return "" if good else f"{name} must be a share above 0 and up to {_SHARES[name]:g}, such as 0.1"
    if name == "negatives":
        return "" if value in ("review", "absolute") else "negatives must be 'review' or 'absolute'"
    if name == "blocked":
        good = isinstance(value, list | tuple) and all(
            isinstance(b, str) and b.startswith(".") for b in value
        )
        return "" if good else "blocked must be a list of file endings, such as ['.svg']"
    if name == "overrides":
        return "" if isinstance(value, Mapping) else "overrides must name data sets and their limits"
    return "" if isinstance(value, bool) else f"{name} must be true or false"


def _override_faults(given: Any) -> list[str]:
    if not isinstance(given, Mapping):
        return ["its limits must be a list of names and values"]
    unknown = [f"no limit {name!r}" for name in given if name not in _KINDS or name == "overrides"]
    return unknown + _faults({k: v for k, v in given.items() if k in _KINDS and k != "overrides"})


def policy_of(given: Policy | Mapping[str, Any] | str | Path | None) -> Policy:
    """A policy, a mapping of limits, a file, or the defaults.

    Examples
    --------
    >>> policy_of({"threshold": 12}).threshold, policy_of(None).threshold
    (12, 10)
    """
    if given is None:
        return Policy()
    if isinstance(given, Policy):
        return given
    if isinstance(given, Mapping):
        return Policy.from_dict(given)
    if isinstance(given, str | Path):
        return Policy.read(given)
    raise OptionError("a policy is a Policy, a mapping of limits, or a YAML file")
