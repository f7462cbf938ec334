"""Parts of a model that its kind does not keep, or that are larger than its kind needs: a person must look at them.

Whoever wants to take records out inside a model has room in it: attributes of his own, names of steps, keys of a
dictionary, a list that is longer than it needs to be, the state of a random generator. None of it is looked for. What
a model of each kind keeps is listed (`kinds`), and everything else is told.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial, reduce
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from dalenius.data.vector import IntArray
from dalenius.models.case import ModelCase
from dalenius.models.coefficients import CoefficientModel
from dalenius.models.files import BoosterModel
from dalenius.models.fitted import TorchModel
from dalenius.models.kinds import BOOSTED, NAMED, WORDS, Sizes, kinds, listing
from dalenius.models.views import View

BOOSTERS = ("xgboost", "lightgbm")
SKLEARN_NOTES = [("scikit_learn", f'{{"_estimator_type": "{kind}"}}') for kind in ("classifier", "regressor")]
"""What XGBoost's estimators write beside their trees."""
HELPERS = ("sklearn", "numpy", "scipy")
OPTION = 10
"""Most numbers in one option, unless there are more columns or classes, or they are evenly spaced."""
CHOSEN = 60
"""Most numbers and names that somebody may choose in all parts of a model together."""
SHORT = 12
"""Most letters of a name or a text that anybody may choose: they hold as much as one number."""
DRAWS = 100_000
"""How far a random generator is followed from its seed, in blocks of 624 numbers."""
OTHERS = "of a kind whose parts are not known"


def strange_parts(case: ModelCase, views: Sequence[View], records: bool = False) -> dict[str, str]:
    """Where such parts are, and what is wrong with each.

    Parameters
    ----------
    records
        Whether records were found in the model: neighbours keep them, and that is told already.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from dalenius.models.views import views_of
    >>> people = {"age": [20.0, 30.0, 40.0, 50.0], "ill": ["no", "no", "yes", "yes"]}
    >>> model = LogisticRegression().fit([[a] for a in people["age"]], people["ill"])
    >>> case = ModelCase.of(model, people, target="ill")
    >>> strange_parts(case, list(views_of(case)))
    {}
    >>> model.notes_, model.max_iter = [1.5, 2.5], 10**30
    >>> for where, why in strange_parts(case, list(views_of(case))).items():
    ...     print(f"{where}: {why}")
    LogisticRegression.max_iter: a number of too many digits
    LogisticRegression.notes_: no model of its kind has it
    """
    look = _Look(case, views, records)
    model = case.fitted.model
    if case.beside:
        look.tell("the file", case.beside)
    if isinstance(model, CoefficientModel):  # its terms are columns and levels of the table, or it is refused
        return look.found
    if isinstance(model, BoosterModel):
        look.booster(model.booster, "Booster")
    elif isinstance(model, TorchModel):
        look.module(model.module, type(model.module).__name__)
    else:
        look.part(model, type(model).__name__, case.design.width, max(len(case.fitted.classes or ()), 1))
    return look.found


class _Look:
    """One walk through a model."""

    def __init__(self, case: ModelCase, views: Sequence[View], records: bool) -> None:
        self.records = records
        self.found: dict[str, str] = {}
        self.rows = case.train.rows
        self.classes = {str(label) for label in case.fitted.classes or ()}
        texts = [level for held in case.design.levels if held is not None for level in held]
        self.words = {*WORDS, *self.classes, *texts, *case.features}
        self.words |= {known.name for view in views for known in view.columns}
        self.views = {id(view.part): view for view in views if view.part is not None}
        self.chosen: dict[Any, int] = {}
        self.seeds: list[int] = []
        self.seen: dict[int, Any] = {}

    def tell(self, where: str, why: str) -> None:
        self.found.setdefault(where, why)

    def part(self, thing: Any, where: str, width: int, classes: int) -> None:
        """An estimator: its options, then what its fit keeps."""
        if id(thing) in self.seen:
            return
        self.seen[id(thing)] = thing
        kind: Any = type(thing)
        listed = listing(kind.__name__) if _of_library(kind) else None
        if listed is None:
            return self.tell(where, OTHERS)
        view = self.views.get(id(thing))
        width = width if view is None else len(view.columns)
        options, held = _options(kind), vars(thing)
        self.taken(thing, where)
        if kind.__module__.startswith(BOOSTERS):
            options |= set(thing.get_params())
        sizes = Sizes(thing, width, classes, self.rows, view)
        self.words |= (
            _choices(kind)
            | options
            | (set(BOOSTED.split()) if kind.__module__.startswith(BOOSTERS) else set())
        )
        if isinstance(seed := getattr(thing, "random_state", None), (int, np.integer)):
            self.seeds.append(int(seed))
        for key in sorted(held, key=lambda k: (k not in options, k not in ("estimator", *NAMED))):
            at = f"{where}.{key}" if re.fullmatch(r"[A-Za-z_]{1,40}", key) else f"{where} (an attribute)"
            if key in options:
                self.option(thing, key, held[key], at, sizes)
            elif key in listed:
                self.held(held[key], at, sizes, listed[key])
            else:
                self.tell(at, self._everybody(held[key]) or "no model of its kind has it")

    def taken(self, thing: Any, where: str) -> None:
        """Tell options that the library itself would not take."""
        rules = getattr(thing, "_parameter_constraints", None)
        if rules is None or not hasattr(thing, "get_params"):
            return
        from sklearn.utils._param_validation import (  # noqa: PLC0415 (slow to load)
            InvalidParameterError,
            validate_parameter_constraints,
        )

        given = {key: value for key, value in thing.get_params(deep=False).items() if key in rules}
        try:
            validate_parameter_constraints(rules, given, type(thing).__name__)
        except InvalidParameterError:
            self.tell(where, "an option that the library does not take")

    def held(self, value: Any, where: str, sizes: Sizes, bound: str) -> None:
        """An attribute of a fit."""
        if where.endswith(".quantiles_") and not _within(value, sizes.view):
            return self.tell(where, "numbers that are no quantiles of the columns")
        if bound.startswith("!") and not self.records:
            return self.tell(where, "records, or what was made of each of them")
        if self.count(value, where, sizes) > max(sizes.most(bound.removeprefix("!")), 1):
            self.tell(where, self._everybody(value) or "longer than its kind needs")

    def option(self, owner: Any, key: str, value: Any, where: str, sizes: Sizes) -> None:
        """What somebody chose before the fit."""
        most = max(OPTION, sizes.width, sizes.classes)
        if isinstance(value, str):
            if value not in self.words and not re.fullmatch(rf"[\w .?-]{{0,{SHORT}}}", value):
                self.tell(where, "a text that is no documented choice")
            return
        if key in ("class_weight", "class_weights") and isinstance(value, Mapping):
            if not {str(k) for k in value} <= self.classes:
                self.tell(where, "keys that are no classes")
            value = list(value.values())
        if key in NAMED and isinstance(value, list):
            self.names([each[0] for each in value if isinstance(each, tuple) and each], where)
            most = 2 * sizes.width + 9 * len(value)
            if len(value) > 20 + sizes.width:
                self.tell(where, "more parts than columns")
        if key in ("scoring", "kw_args"):
            self.called(key, value, where)
        if key in ("categories", "estimator_params"):
            most = max(most, sizes.levels, 3 * OPTION)
        if key in ("param_grid", "param_distributions"):
            self.words |= {str(k) for k in owner.estimator.get_params()}
            most *= 10
        number = self.count(value, where, sizes, spaced=True)
        if number > most:
            self.tell(where, "more than an option needs")
        if key not in (*NAMED, "estimator", "estimator_params", "categories", "random_state"):
            self.choose((type(owner), key, repr(value)), number)

    def called(self, key: str, value: Any, where: str) -> None:
        """Names of scores and of arguments."""
        from sklearn.metrics import get_scorer_names  # noqa: PLC0415 (slow to load)

        if key == "scoring":
            self.words |= set(get_scorer_names())
        if isinstance(value, Mapping):
            self.names(value, where)

    def choose(self, what: Any, number: int) -> None:
        """Add up what somebody chose: the same choice of many trees is one, and a usual one is none."""
        kind, key, _ = what if isinstance(what, tuple) else (None, "", "")
        usual = kind is not None and what[2] == repr(_defaults(kind).get(key, inspect.Parameter.empty))
        if not usual and what not in self.chosen:
            self.chosen[what] = number
            if sum(self.chosen.values()) > CHOSEN:
                self.tell("the options", f"more than {CHOSEN} numbers and names that somebody chose")

    def names(self, given: Iterable[Any], where: str) -> None:
        """Names of parts: a class, usual words, or short."""
        for place, name in enumerate(given):
            text = str(name)
            words = re.split(r"[ _-]+", re.sub(r"[-_]?\d{1,2}$", "", text).lower())
            own = [word for word in words if word not in WORDS and word not in kinds()]
            if text not in self.words and not all(re.fullmatch(rf"[a-z]{{0,{SHORT}}}", word) for word in own):
                self.tell(f"{where} (name {place + 1})", "a name that is no usual word")
            if own:
                self.choose(text, len(own))
            self.words |= {text, f"{text}__"}

    def count(self, value: Any, where: str, sizes: Sizes, spaced: bool = False) -> int:
        """How many numbers and names a value holds; what cannot be counted is told."""
        if value is None or isinstance(value, (bool, int, float, str, bytes, np.generic, complex)):
            return self.single(value, where)
        if isinstance(value, (type, np.dtype, np.ufunc, FunctionType, BuiltinFunctionType, type(np.clip))):
            if not _public(value):
                self.tell(where, "a function or class of somebody's own")
            return 1
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            return 3 if spaced and _spaced(value) else value.size
        if id(value) in self.seen:
            return 1
        if hasattr(value, "get_params"):
            self.part(value, _below(where, value), sizes.width, sizes.classes)
            return 1
        self.seen[id(value)] = value
        if spaced and isinstance(value, (list, tuple)) and _spaced(value):
            return 3
        if type(value).__name__ in ("Tree", "TreePredictor"):
            if not _grown(value, self.rows, sizes.classes):
                self.tell(where, "a tree with nodes that no branch leads to, or more leaves than people")
            return 1
        return sum(self.count(each, where, sizes, spaced) for each in self.inner(value, where))

    def single(self, value: Any, where: str) -> int:
        """One value."""
        if isinstance(value, (str, bytes)):
            text = str(value)
            if isinstance(value, bytes) or (text not in self.words and not _composed(text, self.words)):
                self.tell(where, "a text that is no level, class or column")
        elif isinstance(value, np.void) or (isinstance(value, int) and abs(value) >= 1 << 63):
            self.tell(where, "a number of too many digits")
        return 1

    def inner(self, value: Any, where: str) -> Iterator[Any]:  # noqa: PLR0912 (kinds)
        """What a value is made of."""
        kind: Any = type(value)
        if isinstance(value, Mapping):
            yield from value
            yield from value.values()
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from value
        elif isinstance(value, np.ndarray):
            yield from value.ravel().tolist() if not value.dtype.names else [value.tobytes()]
        elif isinstance(value, slice):
            yield from (value.start, value.stop, value.step)
        elif isinstance(value, partial):
            yield from (value.func, value.args, *value.keywords.values())
        elif isinstance(value, np.random.RandomState):
            if not any(_repeats(value, seed) for seed in self.seeds):
                self.tell(where, "a random generator that no seed here leads to; fit with random_state=0")
        elif isinstance(value, np.random.Generator):
            if not isinstance(value.bit_generator, np.random.PCG64):
                self.tell(where, "a random generator of somebody's choice; fit with random_state=0")
        elif kind.__name__ == "Booster" and kind.__module__.split(".")[0] in BOOSTERS:
            self.booster(value, where)
        elif kind.__module__.split(".")[0] not in HELPERS:
            self.tell(where, OTHERS)
        elif hasattr(value, "nnz") and hasattr(value, "data"):
            yield value.data
        elif hasattr(value, "__dict__"):
            words = _words(kind)
            if not set(vars(value)) <= words:
                self.tell(where, "attributes that its class does not know")
            yield from vars(value).values()
        elif kind.__module__.startswith("sklearn."):
            yield from (part for part in value.__reduce__()[1:] if part is not None)
        else:
            self.tell(where, OTHERS)

    def booster(self, booster: Any, where: str) -> None:
        """Trees of XGBoost or LightGBM: beside them stand names, categories, and texts of anybody."""
        if type(booster).__module__.startswith("xgboost"):
            texts = {k: v for k, v in booster.attributes().items() if (k, v) not in SKLEARN_NOTES}
            columns = [*(booster.feature_names or ()), *(booster.feature_types or ())]
        else:
            texts = {str(k): str(v) for k, v in booster.params.items()}
            columns = [*booster.feature_name(), *np.ravel(booster.pandas_categorical or [])]
        self.words |= {
            *BOOSTED.split(),
            *(f"{stem}{n}" for stem in ("f", "Column_") for n in range(len(columns))),
        }
        if any(isinstance(name, str) and name not in self.words for name in columns):
            self.tell(where, "names that are no columns or levels")
        plain = re.compile(rf"[a-z_]*|\['?[a-z_0-9]*'?\]|[\w .+-]{{0,{SHORT}}}|[-\d.e]{{1,25}}")
        if len(texts) > 150 or not all(len(k + v) <= 60 and plain.fullmatch(v) for k, v in texts.items()):
            self.tell(where, "texts beside the trees")

    def module(self, module: Any, where: str) -> None:
        """A network of PyTorch: its weights are counted with its parameters, its code is read by nobody."""
        own = set(
            vars(
                next(base for base in type(module).__mro__ if base.__module__ == "torch.nn.modules.module")()
            )
        )
        for name, part in module.named_modules():
            for key, value in vars(part).items():
                at = ".".join(word for word in (where, name, key) if word)
                if key in own and (key in ("_parameters", "_modules") or not value or value is True):
                    continue
                if key == "_buffers" and type(part).__module__.startswith("torch.nn."):
                    continue
                if key in own or not (isinstance(value, (bool, int, float, tuple)) and len(str(value)) <= 20):
                    self.tell(at, self._everybody(value) or "no network needs it")

    def _everybody(self, value: Any) -> str:
        long = hasattr(value, "__len__") and not isinstance(value, (str, bytes)) and len(value) == self.rows
        return "a value for every training record" if long and self.rows > 4 else ""


def _of_library(kind: type) -> bool:
    """Whether a class is a library's own, and not one that calls itself so."""
    room = sys.modules.get(kind.__module__)
    return (
        kind.__module__.split(".")[0] in ("sklearn", *BOOSTERS) and getattr(room, kind.__name__, None) is kind
    )


def _public(thing: Any) -> bool:
    """Whether a function or class can be had from its library by its name, so that nothing of one's own is in it."""
    if isinstance(thing, (np.ufunc, np.dtype)):
        return not getattr(thing, "names", None)
    room: Any = sys.modules.get(str(thing.__module__))
    known = str(thing.__module__).split(".")[0] in (*HELPERS, "builtins")
    return (
        known
        and reduce(lambda held, name: getattr(held, name, None), thing.__qualname__.split("."), room) is thing
    )


def _below(where: str, thing: Any) -> str:
    return f"{where}.{type(thing).__name__}" if len(where) < 200 else where


def _composed(text: str, words: set[str]) -> bool:
    """A name that a library makes of names: of a column in a search, of an option of a step."""
    head = r"(mean|std|rank|split\d{1,2}|param)_"
    tail = re.sub(rf"^{head}", "", text)
    return re.sub(r"^(test|train)_", "", tail) in words or tail in (
        "params",
        "fit_time",
        "score_time",
        "test_score",
        "train_score",
    )


def _spaced(values: Any) -> bool:
    """Whether numbers are evenly spaced, in themselves or in their logarithms: three numbers say them all."""
    try:
        held = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        return False
    if held.ndim != 1 or len(held) < 4 or not np.isfinite(held).all():
        return False
    size, first, last = len(held), float(held[0]), float(held[-1])
    forms = [np.linspace(first, last, size)]
    if (held > 0).all():
        forms.append(np.geomspace(first, last, size))
    return any(np.allclose(held, form, rtol=1e-14, atol=1e-14 * abs(last - first)) for form in forms)


def _within(quantiles: Any, view: View | None) -> bool:
    """Whether quantiles ascend within the range of their columns."""
    held = np.asarray(quantiles, np.float64)
    if view is None or held.ndim != 2 or held.shape[1] != len(view.columns):
        return False
    ends = [
        (k.different[0], k.different[-1]) if len(k.different) and not k.is_text else (np.nan,) * 2
        for k in view.columns
    ]
    low, high = np.array(ends, np.float64).T
    return bool(
        ((held >= low) & (held <= high) | np.isnan(held)).all() and not (np.diff(held, axis=0) < 0).any()
    )


def _grown(tree: Any, rows: int, classes: int) -> bool:
    """Whether a tree is one: each node but the first hangs on one branch, and what need not be chosen is not."""
    if type(tree).__name__ == "Tree":
        left, right, count = tree.children_left, tree.children_right, tree.node_count
        leaf = left == -1
        sound = tree.value.shape[1] * tree.value.shape[2] <= max(classes, 1)
        sound &= bool((tree.threshold[leaf] == -2).all() and (tree.feature[leaf] == -2).all())
        sound = sound and _adds_up(tree, np.flatnonzero(~leaf))
    else:
        nodes = tree.nodes
        left, right = (nodes[name].astype(np.int64) for name in ("left", "right"))
        leaf, count = nodes["is_leaf"] != 0, len(nodes)
        unused = ("num_threshold", "feature_idx", "left", "right", "bin_threshold", "bitset_idx")
        sound = len(tree.raw_left_cat_bitsets) <= count and not any(
            nodes[name][leaf].any() for name in unused
        )
    ends = np.sort(np.concatenate([left[~leaf], right[~leaf]]))
    return bool(sound and np.array_equal(ends, np.arange(1, count)) and np.count_nonzero(leaf) <= rows)


def _adds_up(tree: Any, inner: IntArray) -> bool:
    """Whether people of two branches are those of the node, and the impurity of classes follows from their shares."""
    left, right = tree.children_left[inner], tree.children_right[inner]
    ends = np.stack([left, right]).max(initial=0)
    if ends >= tree.node_count:
        return False
    for held in (tree.n_node_samples, tree.weighted_n_node_samples):
        if not np.allclose(held[inner], held[left] + held[right], rtol=1e-9):
            return False
    if tree.value.shape[2] < 2:
        return True
    shares = tree.value[:, 0] / np.maximum(tree.value[:, 0].sum(axis=1, keepdims=True), 1e-300)
    gini = 1 - (shares**2).sum(axis=1)
    entropy = -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=1)
    return any(np.allclose(tree.impurity, form, rtol=1e-9, atol=1e-9) for form in (gini, entropy))


def _repeats(state: np.random.RandomState, seed: int) -> bool:
    """Whether a seed leads to the state of a generator."""
    all_of_it: Any = state.get_state()
    words = all_of_it[1]
    stream = np.random.MT19937()
    stream._legacy_seeding(seed)
    held: Any = stream.state
    if np.array_equal(held["state"]["key"], np.asarray(words)):
        return True
    here: Any = np.random.MT19937()
    here.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": 0}}
    block = here.random_raw(len(words))
    parts = (stream.random_raw(len(words) * 1000).reshape(-1, len(words)) for _ in range(DRAWS // 1000))
    return any(bool((part == block).all(axis=1).any()) for part in parts)


@cache
def _options(kind: Any) -> frozenset[str]:
    """Names of options, of a class and of those it comes from."""
    made: set[str] = set()
    for base in kind.__mro__:
        if _of_library(base) and "__init__" in vars(base):
            made |= set(inspect.signature(base.__init__).parameters)
    return frozenset(made - {"self", "args", "kwargs"})


@cache
def _defaults(kind: Any) -> Mapping[str, Any]:
    """What the options of a class are where nobody chooses."""
    return {name: option.default for name, option in inspect.signature(kind.__init__).parameters.items()}


@cache
def _choices(kind: Any) -> frozenset[str]:
    """Texts that the options of a class may have, as the library documents them."""
    made: set[str] = set()
    for base in kind.__mro__:
        for held in getattr(base, "_parameter_constraints", {}).values():
            for rule in held if isinstance(held, list) else []:
                made |= {text for text in getattr(rule, "options", ()) if isinstance(text, str)}
    return frozenset(made)


@cache
def _words(kind: Any) -> frozenset[str]:
    """Every name that the sources of a helper's classes write: what they can set on themselves."""
    rooms = [base.__module__ for base in kind.__mro__ if base.__module__.split(".")[0] in HELPERS]
    return frozenset(word for room in dict.fromkeys(rooms) for word in re.findall(r"\w+", _source(room)))


@cache
def _source(room: str) -> str:
    module = sys.modules.get(room)
    if module is None or not str(getattr(module, "__file__", None)).endswith(".py"):
        return ""
    return inspect.getsource(module)
