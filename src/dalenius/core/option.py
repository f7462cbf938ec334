"""`Option`: one grammar of options, for methods, measures, plans, the command line and the page.

An option is declared where it is used, as a field of a dataclass or a parameter of a function::

    minbucket: Annotated[int, Option(at_least=1, title="Smallest group", knob=True)] = 5

From the type and the `Option` beside it follow how a text is read (`parse`, `read`), what is accepted (`check`), how
several values are tried (`grid`) and what the page and the plan say about it. Every fault has the same wording:
"minbucket is 0; use a whole number, 1 or more".
"""

from __future__ import annotations

import difflib
import inspect
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from dalenius.core.errors import OptionError

T = TypeVar("T")
EACH = "each"
"""The word of a grid: ``{"minbucket": {"each": [5, 20]}}``, typed ``minbucket=each:5,20``."""


@dataclass(frozen=True)
class Option:
    """What an option's type does not say: its range, and how a person is told about it.

    Attributes
    ----------
    at_least, at_most, above, below
        Range of the numbers, also of those in a list or by name.
    title, meaning
        What to call it on the page, and what turning it does, in plain words.
    knob
        Whether it is one of the few that a steward may want to turn: the page offers it, the plan names it.
    choices
        Values with what they mean in words, where the values are words.
    secret
        Whether its value must not be repeated in a message.

    Examples
    --------
    >>> def count(groups: Annotated[int, Option(at_least=2, title="Groups")] = 5) -> None: ...
    >>> declared(count)["groups"].option.title
    'Groups'
    """

    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    title: str = ""
    meaning: str = ""
    knob: bool = False
    choices: Mapping[str, str] = field(default_factory=dict, hash=False)
    secret: bool = False

    def allows(self, number: Any) -> bool:
        """Whether a number is finite and within the range."""
        return bool(
            (isinstance(number, Integral) or math.isfinite(number))
            and (self.at_least is None or number >= self.at_least)
            and (self.at_most is None or number <= self.at_most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    @property
    def range(self) -> str:
        """The range in words, empty where there is none."""
        if self.at_least is not None and self.at_most is not None:
            return f"from {self.at_least:g} to {self.at_most:g}"
        low = f"above {self.above:g}" if self.above is not None else ""
        low = f"{self.at_least:g} or more" if self.at_least is not None else low
        high = f"below {self.below:g}" if self.below is not None else ""
        high = f"at most {self.at_most:g}" if self.at_most is not None else high
        return " and ".join(part for part in (low, high) if part)


@dataclass(frozen=True)
class Declared:
    """One option as its owner declares it; ``default`` is `REQUIRED` where there is none."""

    name: str
    hint: Any
    default: Any
    option: Option

    @property
    def title(self) -> str:
        """What to call it; its name where it has no title."""
        return self.option.title or self.name

    @property
    def shown(self) -> str:
        """The default as a person would type it."""
        return "" if self.default in (None, REQUIRED) else str(self.default)

    @property
    def accepts(self) -> str:
        """What it takes, in words."""
        return words(self.hint, self.option)

    def fault(self, value: Any) -> str:
        """What is wrong with a value; empty where nothing is."""
        if fits(value, self.hint, self.option):
            return ""
        inner = _inner_fault(value, self.hint)
        if inner:
            return f"{self.name}: {inner}"
        return f"{self.name} is {'not usable' if self.option.secret else _told(value)}; use {self.accepts}"

    def read(self, text: str) -> Any:
        """The value that a person typed: JSON, a plain text, words with commas, or ``each:`` and several of them.

        Examples
        --------
        >>> def some(keys: Sequence[str], groups: int = 5) -> None: ...
        >>> declared(some)["keys"].read("sex,age"), declared(some)["groups"].read("each:5,20")
        (['sex', 'age'], {'each': [5, 20]})
        """
        word, colon, rest = text.partition(":")
        if colon and word.strip() == EACH:
            return {EACH: [self.read(part) for part in _parts(rest)]}
        value = _json(text)
        nothing = None if text.strip().lower() in ("", "none", "nothing") else value
        for candidate in (value, text.strip(), _json(f"[{text}]"), _parts(text), nothing):
            if fits(candidate, self.hint, self.option):
                return candidate
        return value


REQUIRED: Any = MISSING


def declared(owner: Any) -> Mapping[str, Declared]:
    """Options of a dataclass (or an instance's class), or of a function, by name.

    A field that takes no part in comparisons is no option, nor is the first parameter of a measure (``pair``).

    Examples
    --------
    >>> def share(pair: object, rows: int, weight: float | None = None) -> None: ...
    >>> list(declared(share))
    ['rows', 'weight']
    """
    return _declared_by(owner)


@cache
def _declared_by(owner: Any) -> Mapping[str, Declared]:
    if is_dataclass(owner):
        defaults = {
            f.name: f.default_factory() if f.default_factory is not MISSING else f.default
            for f in fields(owner)
            if f.init and f.compare
        }
    elif inspect.isclass(owner):
        return {}
    else:
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        defaults = {
            p.name: REQUIRED if p.default is inspect.Parameter.empty else p.default
            for p in inspect.signature(owner).parameters.values()
            if p.kind in named and p.name != "pair"
        }
    hints = get_type_hints(owner, include_extras=True)
    return {name: _declared(name, hints.get(name, Any), default) for name, default in defaults.items()}


def _declared(name: str, hint: Any, default: Any) -> Declared:
    if get_origin(hint) is Annotated:
        kind, *extras = get_args(hint)
        option = next((extra for extra in extras if isinstance(extra, Option)), Option())
        return Declared(name, kind, default, option)
    return Declared(name, hint, default, Option())


def knobs(owner: Any) -> list[Declared]:
    """The few options that a steward may want to turn."""
    return [each for each in declared(owner).values() if each.option.knob]


def faults(owner: Any, options: Mapping[str, Any]) -> list[str]:
    """Everything wrong with the options of a dataclass or function: unknown names, wrong types, values out of range.

    Examples
    --------
    >>> def share(rows: Annotated[int, Option(at_least=1)], weight: float | None = None) -> None: ...
    >>> faults(share, {"row": 5, "rows": 0, "weight": "much"})
    ["no option 'row'; did you mean 'rows'?", 'rows is 0; use a whole number, 1 or more', "weight is 'much'; use a
    number, or nothing"]
    """
    known = declared(owner)
    return [
        fault
        for name, value in options.items()
        for fault in [known[name].fault(value) if name in known else f"no option {name!r}; {_hint(name, known)}"]
        if fault
    ]  # fmt: skip


def lacking(owner: Any, options: Mapping[str, Any]) -> list[str]:
    """Options without a default that are not given.

    Examples
    --------
    >>> def share(rows: Annotated[int, Option(at_least=1)], weight: float | None = None) -> None: ...
    >>> lacking(share, {"weight": 2})
    ['rows is not given; use a whole number, 1 or more']
    """
    return [
        f"{name} is not given; use {each.accepts}"
        for name, each in declared(owner).items()
        if each.default is REQUIRED and name not in options
    ]


def check(owner: str, declaration: Any, options: Mapping[str, Any]) -> None:
    """Raise one error with every fault of the options that a dataclass or function is given.

    Examples
    --------
    >>> def share(rows: int, weight: float | None = None) -> None: ...
    >>> check("share", share, {"rows": 5, "weight": "much"})
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: share: weight is 'much'; use a number, or nothing
    """
    refuse(owner, faults(declaration, options))


def check_fields(owner: str, instance: Any) -> None:
    """Raise when a dataclass holds something it does not declare; for ``__post_init__``."""
    check(owner, type(instance), {name: getattr(instance, name) for name in declared(type(instance))})


def refuse(owner: str, wrong: Sequence[str]) -> None:
    """Raise one error that lists the faults, if there are any."""
    if wrong:
        raise OptionError.from_faults(owner, wrong)


def parse(
    texts: Iterable[str] | None, owners: Mapping[str, Any], *, lenient: bool = False
) -> dict[str, dict[str, Any]]:
    """Options by owner from ``owner.option=value`` texts; the owner may be left out where there is only one.

    Everything wrong is told at once.

    Parameters
    ----------
    owners
        What may own options, by name: dataclasses or functions.
    lenient
        Keep options that nobody has, as texts, for a caller who tells them with other faults.

    Examples
    --------
    >>> def disco(keys: Sequence[str], order: int = 2) -> None: ...
    >>> parse(["disco.keys=sex,age", "order=3"], {"disco": disco})
    {'disco': {'keys': ['sex', 'age'], 'order': 3}}
    """
    result: dict[str, dict[str, Any]] = {}
    wrong: list[str] = []
    for item in texts or ():
        owner, name, value = _placed(item, owners, wrong)
        if not owner:
            continue
        known, own = declared(owners[owner]), result.setdefault(owner, {})
        if name in own:
            wrong.append(f"{owner}: {name} is given twice")
        elif name not in known and not lenient:
            wrong.append(f"{owner}: no option {name!r}; {_hint(name, known)}")
        own[name] = known[name].read(value) if name in known else value
    if wrong:
        raise OptionError(wrong[0]) if len(wrong) == 1 else OptionError.from_faults("options", wrong)
    return {owner: own for owner, own in result.items() if own}


def _placed(item: str, owners: Mapping[str, Any], wrong: list[str]) -> tuple[str, str, str]:
    """Whose option a text is, its name and its value; no owner, and one more fault, where that cannot be told."""
    place, equals, value = item.partition("=")
    owner, dot, name = place.strip().rpartition(".")
    fault = ""
    if not equals or not name:
        fault = f"option {item!r} should be written owner.option=value, such as cart.minbucket=5"
    elif not dot and name in owners:
        fault = f"option {item!r} should be written {name}.option=value"
    elif not dot and len(owners) != 1:
        fault = f"option {item!r}: say whose it is, such as {next(iter(owners), 'cart')}.{item}"
    elif dot and owner not in owners:
        fault = f"option {item!r}: there is no {owner!r} here; {_hint(owner, owners)}"
    if fault:
        wrong.append(fault)
        return "", "", ""
    return owner if dot else next(iter(owners)), name, value


def grid(options: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """One set of options for each combination of values under ``each``, with a label that tells them apart.

    A plain list is a value, whatever is in it.

    Examples
    --------
    >>> grid({"minbucket": {"each": [5, 20]}, "keep": ["sex"]})
    [('minbucket=5', {'minbucket': 5, 'keep': ['sex']}), ('minbucket=20', {'minbucket': 20, 'keep': ['sex']})]
    """
    tried = {name: value[EACH] for name, value in options.items() if _is_grid(value)}
    empty = [name for name, values in tried.items() if not isinstance(values, (list, tuple)) or not values]
    refuse("grid", [f"{name}: 'each' needs a list of values" for name in empty])
    result = []
    for values in itertools.product(*tried.values()):
        chosen = dict(zip(tried, values, strict=True))
        label = " ".join(f"{name}={value}" for name, value in chosen.items())
        result.append((label, {**options, **chosen}))
    return result


def _is_grid(value: Any) -> bool:
    return isinstance(value, Mapping) and list(value) == [EACH]


def unchecked(kind: type[T], options: Mapping[str, Any]) -> T | None:
    """A dataclass with the options that are fine, unchecked otherwise, for whoever looks for all faults at once.

    An option that is wrong is as it is by default; None where there is no default.

    Examples
    --------
    >>> @dataclass
    ... class Share:
    ...     column: str
    ...     rows: Annotated[int, Option(at_least=1)] = 5
    >>> unchecked(Share, {"column": "age", "rows": 0, "row": 3}), unchecked(Share, {"rows": 3})
    (Share(column='age', rows=5), None)
    """
    known, made = declared(kind), object.__new__(kind)
    for each in fields(kind):  # type: ignore[arg-type]  # a dataclass
        value = options.get(each.name, REQUIRED)
        if each.name not in known or value is REQUIRED or known[each.name].fault(value):
            value = each.default if each.default_factory is MISSING else each.default_factory()
        if value is REQUIRED:
            return None
        object.__setattr__(made, each.name, tuple(value) if isinstance(value, list) else value)
    return made


def need(name: str, value: Any, hint: Any) -> None:
    """Raise when an argument that is no declared option is not what a type asks for, in the words of `check`.

    Examples
    --------
    >>> need("rows to draw", -1, Annotated[int, Option(at_least=0)])
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: rows to draw is -1; use a whole number, 0 or more
    """
    fault = _declared(name, hint, REQUIRED).fault(value)
    if fault:
        raise OptionError(fault)


def at_least(name: str, value: Any, least: float) -> None:
    """Raise when a number is smaller than it can be."""
    need(name, value, Annotated[float, Option(at_least=least)])


def whole_number(name: str, value: Any, least: int) -> None:
    """Raise when something is not a whole number, or smaller than it can be."""
    need(name, value, Annotated[int, Option(at_least=least)])


def real_number(name: str, value: Any) -> None:
    """Raise when something is not a number (a text, say): a comparison with it would end without a word of help."""
    need(name, value, float)


def one_of(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Raise when something has none of the values it can have."""
    literal: Any = Literal
    need(name, value, literal[tuple(allowed)])


_NUMBERS: Mapping[Any, Any] = {float: Real, int: Integral}
_WORDS: Mapping[Any, str] = {
    float: "a number", int: "a whole number", bool: "true or false", str: "a text", bytes: "bytes",
    type(None): "nothing", Any: "anything",
}  # fmt: skip
_MANY: Mapping[Any, str] = {float: "numbers", int: "whole numbers", str: "texts"}


def fits(value: Any, hint: Any, option: Option) -> bool:
    """Whether a value may stand for a type; a dataclass may be written as plain data.

    Examples
    --------
    >>> [fits(value, int | None, Option(at_least=1)) for value in (5, None, 0, "five", True)]
    [True, True, False, False, False]
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return fits(value, inner[0], next((e for e in inner[1:] if isinstance(e, Option)), option))
    if origin in (Union, UnionType):
        return any(fits(value, each, option) for each in inner)
    if origin is Literal:
        return any(isinstance(value, type(each)) and value == each for each in inner)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool) and option.allows(value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            fits(name, inner[0], Option()) and fits(each, inner[1], option) for name, each in value.items()
        )
    if origin in (Sequence, list, frozenset) or (origin is tuple and Ellipsis in inner):
        listed = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
        return listed and all(fits(each, inner[0], option) for each in value)
    if origin is tuple:
        fixed = isinstance(value, (list, tuple)) and len(value) == len(inner)
        return fixed and all(fits(each, own, option) for each, own in zip(value, inner, strict=True))
    if hint is None or hint is type(None):
        return value is None
    if hint is Any or not isinstance(hint, type):
        return True
    return isinstance(value, hint) or _is_plain(value, hint)


def _is_plain(value: Any, hint: type) -> bool:
    """Whether plain data would make a dataclass."""
    return is_dataclass(hint) and isinstance(value, Mapping) and not faults(hint, value)


def _inner_fault(value: Any, hint: Any) -> str:
    """The first fault inside plain data that is meant for a dataclass."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for kind in kinds:
        if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, Mapping):
            return next(iter(faults(kind, value)), "")
    return ""


def words(hint: Any, option: Option = Option()) -> str:
    """What a type asks for, in words.

    Examples
    --------
    >>> words(int | None, Option(at_least=1)), words(Mapping[str, Sequence[str]])
    ('a whole number, 1 or more, or nothing', 'names, each with a list of texts')
    >>> words(Literal["a", "b"] | Sequence[str])
    "one of 'a', 'b', or a list of texts"
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return words(inner[0], next((e for e in inner[1:] if isinstance(e, Option)), option))
    if origin in (Union, UnionType):
        some = [each for each in inner if each is not type(None)]
        said = ", or ".join(dict.fromkeys(words(each, option) for each in some))
        return said if len(some) == len(inner) else f"{said}, or nothing"
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if hint in _NUMBERS:
        return ", ".join(filter(None, (_WORDS[hint], option.range)))
    if origin is Mapping:
        return f"names, each with {words(inner[1], option)}"
    if origin is tuple and Ellipsis not in inner:
        return f"a list of {len(inner)} {_many(inner[0], option)}"
    if origin in (Sequence, tuple, list, frozenset):
        return f"a list of {_many(inner[0], option)}"
    if isinstance(hint, type) and is_dataclass(hint):
        return f"settings by name ({', '.join(declared(hint))})"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def _many(hint: Any, option: Option) -> str:
    if hint in _MANY:
        return ", each ".join(filter(None, (_MANY[hint], option.range if hint in _NUMBERS else "")))
    return f"entries, each {words(hint, option)}"


def _hint(name: str, known: Iterable[str]) -> str:
    """What there is instead of an unknown name."""
    there = list(known)
    close = difflib.get_close_matches(name, there, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"there are: {', '.join(there)}" if there else "it has none"


def _told(value: Any) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _json(text: str) -> Any:
    """What a text says in JSON; the text itself where it is none."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _parts(text: str) -> list[str]:
    """Values with commas between them; where they are lists or names themselves, JSON."""
    values = _json(f"[{text}]")
    if isinstance(values, list) and any(isinstance(each, (list, dict)) for each in values):
        return [json.dumps(each) for each in values]
    return [part.strip() for part in text.split(",") if part.strip()]
