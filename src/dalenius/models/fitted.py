"""`Fitted`: any fitted model behind one face: its task, its classes, the columns it knows, its scores.

scikit-learn's own objects, and whatever speaks like them, are asked directly. A PyTorch module is worn by `TorchModel`,
which does not load PyTorch before it is given a module of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dalenius.core.errors import DataError, names
from dalenius.data.vector import AnyArray
from dalenius.models.design import gaps

Task = Literal["classification", "regression"]
SMALL = 1e-7
"""Probabilities are kept so far from 0 and 1: a forest is often quite sure, and its log-odds would be infinite."""
CHUNK = 262_144
"""Records scored at a time, so that memory does not grow with what a library copies."""


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A fitted model.

    Attributes
    ----------
    columns
        Names of what goes in, for messages.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> fitted = Fitted.of(DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]))
    >>> fitted.task, fitted.classes, fitted.probabilities(np.array([[1.0]])).tolist()
    ('classification', ('no', 'yes'), [[0.0, 1.0]])
    """

    model: Any
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: Any) -> Fitted:
        """Take a model; a class or an unfitted object is an error."""
        if isinstance(model, Fitted):
            return model
        worn = TorchModel(model) if is_torch(model) else model
        if isinstance(worn, type) or not hasattr(worn, "predict"):
            raise DataError(
                f"{type(model).__name__} is no fitted model; give an object with 'predict', or a file of one"
            )
        if hasattr(worn, "get_params") and not _is_fitted(worn):
            raise DataError(f"{type(worn).__name__} is not fitted; fit it first")
        return cls(worn)

    @property
    def kind(self) -> str:
        """What it is called; for a pipeline its last step."""
        return type(self.last).__name__

    @property
    def steps(self) -> list[Any]:
        """The parts of a pipeline, or the model alone."""
        held = getattr(self.model, "steps", None)
        return [part for _, part in held] if isinstance(held, list) else [self.model]

    @property
    def last(self) -> Any:
        """The part that predicts."""
        return self.steps[-1]

    @cached_property
    def classes(self) -> tuple[Any, ...] | None:
        """Classes, for a classifier; None for a model of numbers."""
        held = getattr(self.model, "classes_", None)
        return None if held is None else tuple(np.asarray(held).tolist())

    @property
    def task(self) -> Task:
        """What it predicts."""
        return "regression" if self.classes is None else "classification"

    @property
    def names(self) -> list[str] | None:
        """Names of the columns it was fitted on, where it knows them."""
        held = getattr(self.model, "feature_names_in_", None)
        return None if held is None else [str(name) for name in held]

    @property
    def width(self) -> int | None:
        """Number of columns it was fitted on, where it knows it."""
        held = getattr(self.model, "n_features_in_", None)
        return None if held is None else int(held)

    def probabilities(self, inputs: Any) -> AnyArray | None:
        """Probabilities of the classes; None where the model gives none."""
        if self.classes is None or not hasattr(self.model, "predict_proba"):
            return None
        return self._in_parts("predict_proba", inputs)

    def margins(self, inputs: Any) -> AnyArray | None:
        """Decision values, one column a class (two classes: minus and plus); None where there are none."""
        if self.classes is None or not hasattr(self.model, "decision_function"):
            return None
        values = self._in_parts("decision_function", inputs)
        return np.column_stack([-values, values]) if values.ndim == 1 else values

    def predictions(self, inputs: Any) -> AnyArray:
        """What the model predicts: numbers, or places among the classes."""
        found = self._in_parts("predict", inputs)
        if self.classes is None:
            return np.asarray(found, np.float64).reshape(len(found), -1)[:, 0]
        known = np.asarray(self.classes)
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], found), len(known) - 1)
        return np.where(known[order][at] == found, order[at], -1)

    def _in_parts(self, method: str, inputs: Any) -> AnyArray:
        call, rows = getattr(self.model, method), len(inputs)
        try:
            if rows <= CHUNK:
                return np.asarray(call(inputs))
            parts = [inputs[start : start + CHUNK] for start in range(0, rows, CHUNK)]
            return np.concatenate([np.asarray(call(part)) for part in parts])
        except (ValueError, TypeError, IndexError, RuntimeError, KeyError) as error:
            # the text of a library's error may quote a value of the data
            raise DataError(
                f"{self.kind} cannot score these records ({type(error).__name__}){self._blamed(inputs)}: give the "
                "columns it was fitted on, with the same names, kinds and levels, and gaps only where it was taught to "
                "fill them"
            ) from None

    def _blamed(self, inputs: Any) -> str:
        """Columns with gaps or texts, which most models do not take."""
        framed = hasattr(inputs, "columns")
        told = [str(name) for name in inputs.columns] if framed else list(self.columns)
        held = [np.asarray(inputs[name] if framed else inputs[:, place]) for place, name in enumerate(told)]
        kinds = {
            "gaps in": [name for name, values in zip(told, held, strict=True) if gaps(values).any()],
            "texts in": [name for name, values in zip(told, held, strict=True) if values.dtype.kind in "OUS"],
        }
        return "".join(f", {what} {names(found)}" for what, found in kinds.items() if found)


def is_torch(model: Any) -> bool:
    """Whether an object is a module of PyTorch, told without loading PyTorch."""
    return any(
        f"{kind.__module__}.{kind.__name__}" == "torch.nn.modules.module.Module"
        for kind in type(model).__mro__
    )


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError  # noqa: PLC0415 (slow to load)
    from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        # objects of other packages need not follow scikit-learn's rules about trailing underscores
        return not type(model).__module__.startswith("sklearn.")
    return True


class TorchModel:
    """A PyTorch module as a model with ``predict``: several outputs are classes, one is a number or a yes and no.

    Outputs that are no probabilities are taken for log-odds.

    Examples
    --------
    >>> TorchModel.turned(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """

    def __init__(self, module: Any, classes: Sequence[Any] | None = None) -> None:
        self.module = module
        outputs = [int(p.shape[0]) for p in module.parameters() if p.ndim >= 1]
        if classes is None and outputs and outputs[-1] > 1:
            classes = list(range(outputs[-1]))
        if classes is not None:
            self.classes_ = np.asarray(list(classes))

    @staticmethod
    def turned(values: AnyArray) -> AnyArray:
        """Probabilities of what a network gave."""
        if values.shape[1] == 1:
            inside = values.min(initial=0.0) >= 0 and values.max(initial=0.0) <= 1
            yes = values[:, 0] if inside else 1 / (1 + np.exp(-np.clip(values[:, 0], -50, 50)))
            return np.column_stack([1 - yes, yes])
        if values.min(initial=0.0) >= 0 and np.allclose(values.sum(axis=1), 1, atol=1e-4):
            return values
        shifted = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))

    def _outputs(self, inputs: Any) -> AnyArray:
        import torch  # noqa: PLC0415 (whoever gives a module of it has it)

        self.module.eval()
        with torch.no_grad():
            found = self.module(torch.as_tensor(np.asarray(inputs, np.float32)))
        return np.asarray(found.detach().cpu().numpy(), np.float64).reshape(len(inputs), -1)

    def predict(self, inputs: Any) -> AnyArray:
        """Numbers, or classes."""
        found = self._outputs(inputs)
        if not hasattr(self, "classes_"):
            return found[:, 0]
        return np.asarray(self.classes_[self.turned(found).argmax(axis=1)])

    def predict_proba(self, inputs: Any) -> AnyArray:
        """Probabilities of the classes."""
        return self.turned(self._outputs(inputs))
