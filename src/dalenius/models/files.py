"""Models out of files, without running anything that a file brings along.

A file of Python's own format for objects (pickle, joblib) can do anything when it is opened, so it is refused. skops
files are looked through before they are opened: only types of scikit-learn, NumPy and SciPy that skops itself trusts.
XGBoost and LightGBM read their own formats, which hold numbers only. A CSV is a table of coefficients.
"""

from __future__ import annotations

import json
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import FileError, MissingExtraError, counted, names
from dalenius.data.atomic import replacing
from dalenius.data.files import read
from dalenius.data.vector import AnyArray
from dalenius.models.coefficients import CoefficientTable

PICKLES = (
    ".pkl",
    ".pickle",
    ".joblib",
    ".sav",
    ".dill",
    ".cloudpickle",
    ".pt",
    ".pth",
    ".ckpt",
    ".h5",
    ".keras",
)
ROOMS = {"sklearn", "numpy", "scipy", "builtins", "collections"}
PLAIN = {
    "dict", "list", "tuple", "set", "frozenset", "int", "float", "str", "bool", "bytes", "bytearray", "slice",
    "NoneType", "OrderedDict", "defaultdict", "complex", "type",
}  # fmt: skip
KNOWN = {
    "numpy.dtype", "sklearn.tree._tree.Tree", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer", "sklearn.utils._bunch.Bunch",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer", "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration", "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel", "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.Sum", "sklearn.gaussian_process.kernels.WhiteKernel",
}  # fmt: skip
"""Parts of scikit-learn's models that skops leaves to the reader; trees are looked through before they are walked."""
INDEXES = {"sklearn.neighbors._kd_tree.KDTree", "sklearn.neighbors._ball_tree.BallTree"}
MOST_BYTES = 4 << 30
"""Unpacked size beyond which a file is taken for a bomb."""


def open_model(path: str | Path) -> Any:
    """Open a model: ``.skops``, XGBoost's ``.json`` or ``.ubj``, LightGBM's ``.txt``, or coefficients as ``.csv``.

    Examples
    --------
    >>> open_model("forest.pkl")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: forest.pkl: a file of this kind can run any program when it is opened, so it is
    refused; save the model with skops.io.dump(model, 'model.skops'), or in XGBoost's or LightGBM's own format
    """
    where = Path(path)
    ending = where.suffix.lower()
    if ending in PICKLES:
        raise _refused(where)
    try:
        with where.open("rb") as stream:
            head = stream.read(64)
    except OSError as error:
        raise FileError(f"{where}: cannot read the model ({error.strerror})") from None
    if head[:1] == b"\x80" and ending != ".ubj":  # the first byte of every pickle since 2003
        raise _refused(where)
    if ending == ".skops":
        return _open_skops(where)
    if ending in (".json", ".ubj"):
        return _open_xgboost(where)
    if head.startswith(b"tree\n") or (ending == ".txt" and head.lstrip().startswith(b"tree")):
        return _open_lightgbm(where)
    if ending in (".csv", ".tsv", ".parquet", ".xlsx"):
        table = read(where)
        frame = table.to_frame("polars")
        return CoefficientTable.of({name: frame[name].to_list() for name in frame.columns}, str(where))
    raise FileError(
        f"{where}: not a model that can be opened here; use .skops, XGBoost's .json or .ubj, "
        f"LightGBM's .txt, or a table "
        "of coefficients (.csv)"
    )


def save_model(model: Any, path: Path) -> None:
    """Write a model of scikit-learn without pickle (skops); the file is there whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.dummy import DummyRegressor
    >>> path = Path(tempfile.mkdtemp()) / "mean.skops"
    >>> save_model(DummyRegressor().fit([[1.0], [2.0]], [3.0, 5.0]), path)
    >>> open_model(path).predict([[1.0]]).tolist()
    [4.0]
    """
    try:
        from skops import io  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("skops", "models", "write a model without pickle") from error
    with replacing(path) as temporary:
        io.dump(model, temporary)


def _refused(where: Path) -> FileError:
    return FileError(
        f"{where}: a file of this kind can run any program when it is opened, so it is refused; save the model with "
        "skops.io.dump(model, 'model.skops'), or in XGBoost's or LightGBM's own format"
    )


def _open_skops(where: Path) -> Any:
    content = _looked_through(where)
    _same_version(where, content)
    try:
        from skops import io  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise MissingExtraError("skops", "models", "open .skops files") from error
    try:
        unknown = [str(name) for name in io.get_untrusted_types(file=where)]
        if any(name in INDEXES for name in unknown):
            raise FileError(
                f"{where}: the file holds an index of records, which carries every training record as it is; such a "
                "model is no candidate for release (check the live object in Python for its figures)"
            )
        if strange := [name for name in unknown if name not in KNOWN]:
            raise _untrusted(where, strange)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # scikit-learn only warns of another version
            opened = io.load(where, trusted=sorted(KNOWN & set(unknown)))
            check_nodes(where, opened)
            return opened
    except FileError:
        raise
    except Exception as error:  # whatever a damaged file does to a library
        raise FileError(
            f"{where}: the file is damaged or of another version of skops ({type(error).__name__}); save the model anew"
        ) from None


def _looked_through(where: Path) -> Any:
    """The description inside a skops file, after a look at everything it names and carries."""
    try:
        with zipfile.ZipFile(where) as held:
            parts = held.infolist()
            odd = [p.filename for p in parts if not re.fullmatch(r"[\w.-]+\.(npy|npz|json)", p.filename)]
            if odd:
                raise FileError(
                    f"{where}: {counted(len(odd), 'part')} of the file does not belong there; refused"
                )
            if sum(p.file_size for p in parts) > MOST_BYTES:
                raise FileError(f"{where}: unpacked it would be larger than 4 GB; refused")
            content = json.loads(held.read("schema.json"))
            for part in parts:
                if part.filename.endswith(".npy"):
                    _plain_numbers(where, held, part.filename)
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{where}: not a skops file, or damaged ({type(error).__name__})") from None
    kinds = {(str(node["__module__"]), str(node.get("__class__", ""))) for node in _nodes(content)}
    strange = [
        f"{room}.{kind}" for room, kind in sorted(kinds)
        if room.split(".")[0] not in ROOMS or (room.split(".")[0] == "builtins" and kind not in PLAIN)
    ]  # fmt: skip
    if strange:
        raise _untrusted(where, strange)
    return content


def _plain_numbers(where: Path, held: zipfile.ZipFile, name: str) -> None:
    """An array of objects would be a pickle inside the zip."""
    with held.open(name) as stream:
        version = np.lib.format.read_magic(stream)
        header = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        kind = header(stream)[2]
    if kind.hasobject:
        raise FileError(f"{where}: an array in it holds objects, which could run any program; refused")


def check_nodes(where: Path, model: Any) -> None:
    """Refuse trees whose branches lead outside: the library walks them without looking, into foreign memory."""
    bad = False
    for node in _inside(model):
        if type(node).__name__ == "Tree":
            left, right, feature, count, width = (
                node.children_left, node.children_right, node.feature, node.node_count, node.n_features
            )  # fmt: skip
            inner = left != -1
        else:
            held = node.nodes
            left, right, feature = (held[name].astype(np.int64) for name in ("left", "right", "feature_idx"))
            inner, count, width = held["is_leaf"] == 0, len(held), 1 << 20
        here = np.flatnonzero(inner)
        ends = np.concatenate([left[here], right[here]])
        bad |= bool((ends <= np.tile(here, 2)).any() or (ends >= count).any() or not count)
        bad |= bool((feature[here] < 0).any() or (feature[here] >= width).any())
    if bad:
        raise FileError(
            f"{where}: a tree in the file leads outside of itself; the file was made to do harm, or is damaged"
        )


def _inside(model: Any) -> Iterator[Any]:
    """Trees anywhere in a model."""
    waiting, seen = [model], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if type(thing).__name__ in ("Tree", "TreePredictor"):
            yield thing
        elif isinstance(thing, (list, tuple)):
            waiting += thing
        elif isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, np.ndarray) and thing.dtype == object:
            waiting += thing.ravel().tolist()
        elif hasattr(thing, "__dict__"):
            waiting += vars(thing).values()


def _nodes(content: Any) -> Iterator[dict[str, Any]]:
    """Every description of an object, however deep."""
    waiting = [content]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "__module__" in node:
                yield node
            waiting += list(node.values())
        elif isinstance(node, list):
            waiting += node


def _untrusted(where: Path, kinds: list[str]) -> FileError:
    shown = [re.sub(r"[^\w.]", "?", kind)[:80] for kind in kinds]
    return FileError(
        f"{where}: the file asks for {counted(len(shown), 'type')} that could run any program "
        f"({names(shown)}); nothing of "
        "it was opened. Save a model made of scikit-learn's own parts, or check the live object in Python"
    )


def _same_version(where: Path, content: Any) -> None:
    import sklearn  # noqa: PLC0415 (slow to load)

    found = set(
        re.findall(r'"_sklearn_version"[^{}]*?\{[^{}]*?"content": "\\"(\d+\.\d+)', json.dumps(content))
    )
    here = ".".join(sklearn.__version__.split(".")[:2])
    other = sorted(found - {here})
    if other:
        raise FileError(
            f"{where}: the model was fitted with scikit-learn {other[0]}, and here is {here}; fit it again with "
            f"{here}, or check it where {other[0]} is installed"
        )


def _open_xgboost(where: Path) -> Any:
    try:
        import xgboost  # noqa: PLC0415 (not a dependency: whoever has such a file has it)
    except ImportError:
        raise FileError(f"{where}: to open XGBoost's own file, install it: pip install xgboost") from None
    try:
        booster = xgboost.Booster(model_file=str(where))
        classes = json.loads(booster.save_config())["learner"]["learner_model_param"]
        many = max(int(classes["num_class"]), 2 if "logistic" in _objective(booster) else 0)
    except Exception as error:
        raise FileError(f"{where}: not a model of XGBoost, or damaged ({type(error).__name__})") from None
    return BoosterModel(booster, many, "xgboost")


def _objective(booster: Any) -> str:
    return str(json.loads(booster.save_config())["learner"]["objective"]["name"])


def _open_lightgbm(where: Path) -> Any:
    try:
        import lightgbm  # noqa: PLC0415 (not a dependency: whoever has such a file has it)
    except ImportError:
        raise FileError(f"{where}: to open LightGBM's own file, install it: pip install lightgbm") from None
    try:
        booster = lightgbm.Booster(model_file=str(where))
        facts = re.search(r"^objective=(.*)$", where.read_text(encoding="utf-8"), re.M)
        task = facts[1] if facts else ""
        many = int(m[1]) if (m := re.search(r"num_class:(\d+)", task)) else 2 if "binary" in task else 0
    except Exception as error:
        raise FileError(f"{where}: not a model of LightGBM, or damaged ({type(error).__name__})") from None
    return BoosterModel(booster, many, "lightgbm")


class BoosterModel:
    """Boosted trees out of their library's own file; classes are 0, 1, … as the library numbers them."""

    def __init__(self, booster: Any, classes: int, library: str) -> None:
        self.booster, self.library = booster, library
        held = booster.feature_names if library == "xgboost" else booster.feature_name()
        if held and not re.fullmatch(r"Column_0|f0", str(held[0])):
            self.feature_names_in_ = np.array(held, dtype=object)
        self.n_features_in_ = int(booster.num_features() if library == "xgboost" else booster.num_feature())
        if classes:
            self.classes_ = np.arange(classes)
            self.predict_proba = self._probabilities

    def _raw(self, inputs: Any, **options: Any) -> AnyArray:
        if self.library == "lightgbm":
            return np.asarray(self.booster.predict(inputs, **options))
        import xgboost  # noqa: PLC0415

        return np.asarray(self.booster.predict(xgboost.DMatrix(inputs), **options))

    def _probabilities(self, inputs: Any) -> AnyArray:
        found = self._raw(inputs)
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found

    def apply(self, inputs: Any) -> AnyArray:
        """Leaf of every record in every tree."""
        found = self._raw(inputs, pred_leaf=True)
        return found.reshape(len(found), -1).astype(np.int64)

    def predict(self, inputs: Any) -> AnyArray:
        """Numbers, or classes."""
        return self._probabilities(inputs).argmax(axis=1) if hasattr(self, "classes_") else self._raw(inputs)
