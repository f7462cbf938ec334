"""Spectral anonymisation: numbers changed along their principal directions, so that means and covariances survive.

Centred columns are U D V'. Every column of U is changed by itself: permuted, turned at random, or with its signs drawn
anew; then D V' brings it back (Perkonoja and Virta 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import OptionError, counted
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Kind
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.mask.needs import number_faults
from dalenius.mask.neighbours import Floats
from dalenius.mask.spectral_attack import MOST_CANDIDATES, sign_attack

Way = Literal["orthogonal", "permutation", "sign"]
RANK = 1e-10
"""Directions with less than this share of the largest spread are none."""
ALIKE = 0.01
"""Spreads nearer to each other than this make the predicted precision doubtful."""
ACCEPTED = "rows-can-be-linked"
FEW_VALUES = 20


@step
@dataclass(frozen=True)
class Spectral(Step):
    """Numbers drawn anew along their principal directions; means and covariances stay, records do not.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> first = rng.normal(size=500)
    >>> table = Table.from_frame({"a": first, "b": first + rng.normal(size=500)})
    >>> made = Spectral(("a", "b"), exact=True).apply(table, 1).table
    >>> bool(abs(np.corrcoef(made["a"].data, made["b"].data)[0, 1] - 0.7) < 0.1)
    True
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="spectral",
        title="Spectral anonymisation",
        meaning="Changes numbers along their principal directions, so that means and covariances survive.",
        plain="Amounts are taken apart into main patterns, each is dealt out anew, and all are put together again.",
        guarantee="none",
        reference="Perkonoja and Virta 2024",
        example_options={"variables": ["age", "weight"]},
    )
    reversible: ClassVar[bool] = False
    variables: Annotated[
        tuple[str, ...], Option(title="Columns", meaning="numbers that are changed together", knob=True)
    ]
    method: Annotated[
        Way,
        Option(
            title="Way",
            meaning="patterns turned at random (only means and covariances stay), or permuted (their shapes stay "
            "too); signs drawn anew can be linked and must be accepted in words",
            knob=True,
        ),
    ] = "orthogonal"
    accept: Annotated[
        Literal["", "rows-can-be-linked"],
        Option(
            title="Accept", meaning=f"say {ACCEPTED!r} to have signs drawn anew, which is not for release"
        ),
    ] = ""
    components: Annotated[
        int | None,
        Option(at_least=1, title="Components", meaning="change only so many of the widest directions"),
    ] = None
    scale: Annotated[
        Literal["raw", "standard"],
        Option(title="Scale", meaning="columns as they are, or in standard deviations"),
    ] = "raw"
    debias: Annotated[
        bool, Option(title="Debias", meaning="undo the loss of 1/n in covariances by turning or signs")
    ] = False
    limits: Annotated[
        bool,
        Option(title="Limits", meaning="values beyond the original's smallest and largest are cut to them"),
    ] = False
    exact: Annotated[bool, Option(title="Exact", meaning="whole numbers may get decimals")] = False

    def conflicts(self) -> list[str]:
        """Columns to change, each once, and signs only in words."""
        wrong = [] if self.variables else ["variables names none; say which columns are changed"]
        wrong += ["a column is named twice"] if len(set(self.variables)) < len(self.variables) else []
        if self.components is not None and self.components > len(self.variables) > 0:
            most = counted(len(self.variables), "column")
            wrong.append(f"components is {self.components}; {most} have no more directions, so leave it out")
        if self.method == "sign" and self.accept != ACCEPTED:
            wrong.append(
                "method 'sign' keeps one released row for each original row, and who knows somebody's values finds "
                f"two rows in five; use 'orthogonal' or 'permutation', or say accept={ACCEPTED!r}"
            )
        return wrong

    def faults(self, table: Table) -> list[str]:
        """Numbers without gaps, and two rows or more."""
        wrong = super().faults(table) + number_faults(table, self.variables)
        for name in [name for name in self.variables if name in table]:
            gaps = int(np.count_nonzero(~table[name].present))
            if 0 < gaps < table.rows:
                wrong.append(f"column {name!r} has {counted(gaps, 'cell')} without a number; fill them, leave those "
                             "rows out, or leave the column out")  # fmt: skip
        if table.rows < 2:
            wrong.append(f"the file has {counted(table.rows, 'row')}; two or more are needed")
        return wrong

    def cost(self, shape: Shape) -> Cost:
        """One singular value decomposition."""
        width = max(len(self.variables), 1)
        return Cost(0.02 + 2e-8 * shape.rows * width**2, 40.0 * shape.rows * width)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        vectors = [table[name] for name in self.variables]
        values = np.column_stack([vector.floats() for vector in vectors])
        width = values.std(axis=0) if self.scale == "standard" else np.ones(values.shape[1])
        width = np.where(width > 0, width, 1.0)
        made, told = anonymised(
            values / width, self.method, seed=seed, components=self.components, debias=self.debias
        )
        made *= width
        if self.limits:
            made = np.clip(made, values.min(axis=0), values.max(axis=0))
        new = [_column(vector, made[:, j], self.exact) for j, vector in enumerate(vectors)]
        after = table.with_vectors(*new)
        notes = [_kept(self.method), *told, *self._rounded(vectors)]
        figures: dict[str, float] = {}
        if table.rows * 2 ** len(self.variables) <= MOST_CANDIDATES:
            found = sign_attack(np.column_stack([v.floats() for v in new]), values)
            figures = {"rows found by signs in %": found.value}
            notes.append(found.sentence)
        return Masked.of(table, after, perturbed=self.variables, notes=notes, figures=figures)

    def _rounded(self, vectors: Sequence[Vector]) -> list[str]:
        """What rounding does, and columns with few values, which come out with many."""
        few = [v.column.name for v in vectors if len(np.unique(v.values)) <= FEW_VALUES < len(v)]
        notes = (
            [f"{', '.join(few)}: few different values went in; ranges and heaps are not kept."] if few else []
        )
        whole = [v.column.name for v in vectors if v.column.kind is not Kind.CONTINUOUS]
        if whole and not self.exact:
            notes.append(f"{', '.join(whole)}: rounded to whole numbers, so that moments hold nearly.")
        return notes


def anonymised(
    values: Any, method: Way = "orthogonal", *, seed: Seed = None, components: int | None = None,
    debias: bool = False, exact_matrix: bool = False,
) -> tuple[Floats, list[str]]:  # fmt: skip
    """Rows changed along the principal directions of a matrix, and what a person should know about it.

    Parameters
    ----------
    values
        Numbers, one column a variable; a sparse matrix is decomposed without being filled, if ``components`` is given.
    components
        How many of the widest directions are changed; the others stay as they are.
    debias
        Scale turned or signed directions by √(n / (n - 1)), so that covariances are those of the data on average.
    exact_matrix
        Draw whole orthogonal matrices. A column of U turned by one is uniform on the sphere, and the matrices are
        independent, so that normal draws of length one are the same in distribution; this is for tests.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=(100, 3))
    >>> y, notes = anonymised(x, "permutation", seed=1)
    >>> bool(np.allclose(y.mean(axis=0), x.mean(axis=0))), notes
    (True, [])
    """
    rows, width = values.shape
    mean = np.asarray(values.mean(axis=0), float).ravel()
    left, sizes, right, notes = _decomposed(values, mean, components)
    if not len(sizes):
        whole = values.toarray() if sparse.issparse(values) else values.copy()
        return whole, ["Every column is constant; nothing was changed."]
    drawn = np.empty_like(left)
    for k in range(len(sizes)):  # a handful of directions, each with a stream of its own
        drawn[:, k] = _moved(left[:, k], method, generator(seed, "direction", k), exact_matrix)
    if debias and method != "permutation":
        drawn *= np.sqrt(rows / (rows - 1))
    if components is None or components >= min(rows - 1, width):
        return drawn @ (sizes[:, None] * right) + mean, notes
    whole = values.toarray().astype(float) if sparse.issparse(values) else values.astype(float)
    return whole + (drawn - left) @ (sizes[:, None] * right), notes


def _decomposed(
    values: Any, mean: Floats, components: int | None
) -> tuple[Floats, Floats, Floats, list[str]]:
    """Left directions, spreads and right directions of the centred matrix, as far as it has any."""
    rows, width = values.shape
    some = components is not None and components < min(rows, width) - 1
    if sparse.issparse(values) and some:
        ones = np.ones(rows)
        centred = LinearOperator(
            (rows, width), dtype=float,
            matvec=lambda x: values @ np.ravel(x) - ones * (mean @ np.ravel(x)),
            rmatvec=lambda y: values.T @ np.ravel(y) - mean * np.ravel(y).sum(),
        )  # fmt: skip
        left, sizes, right = svds(centred, k=components, v0=np.ones(min(rows, width)))
        order = np.argsort(-sizes)
        left, sizes, right = left[:, order], sizes[order], right[order]
    else:
        full = values.toarray() if sparse.issparse(values) else values
        left, sizes, right = np.linalg.svd(full - mean, full_matrices=False)
        left, sizes, right = left[:, :components], sizes[:components], right[:components]
    real = sizes > RANK * max(float(sizes.max(initial=0.0)), 1e-300)
    notes = []
    if not real.all() and real.any():
        notes.append(f"The columns span {int(real.sum())} directions, not {len(real)}; those are changed.")
    kept = sizes[real]
    if np.any(kept[1:] > (1 - ALIKE) * kept[:-1]):
        notes.append(
            "Two directions are almost equally wide; the predicted precision does not hold for them."
        )
    return left[:, real], kept, right[real], notes


def _moved(column: Floats, method: Way, rng: np.random.Generator, exact_matrix: bool) -> Floats:
    """One left direction, permuted, with other signs, or turned."""
    rows = len(column)
    if method == "permutation":
        return rng.permutation(column)
    if method == "sign":
        return column * rng.choice([-1.0, 1.0], rows)
    if exact_matrix:  # Haar: the orthogonal factor with the signs of its diagonal (Stewart 1980)
        turn, upper = np.linalg.qr(rng.normal(size=(rows, rows)))
        turned: Floats = (turn * np.sign(np.diag(upper))) @ column
        return turned
    drawn = rng.normal(size=rows)
    unit: Floats = drawn / np.linalg.norm(drawn)
    return unit


def _column(vector: Vector, new: Floats, exact: bool) -> Vector:
    """A column with other numbers, rounded as it was."""
    loose = replace(vector.column, bounds=None)
    if vector.column.kind is Kind.CONTINUOUS:
        digits = None if exact else vector.column.decimals
        data = new if digits is None else np.round(new, digits)
        return replace(vector, column=replace(loose, decimals=digits), data=data)
    if exact and vector.column.kind is Kind.INTEGER:
        return replace(vector, column=replace(loose, kind=Kind.CONTINUOUS, decimals=None), data=new)
    return replace(vector, column=loose, data=np.rint(new).astype(vector.data.dtype))


def _kept(method: Way) -> str:
    return {
        "orthogonal": "Principal directions were drawn anew: the file tells the data's means and covariances only; "
        "shapes, limits and heaps of single columns are not kept.",
        "permutation": "Principal directions were permuted: means stay exactly, covariances nearly.",
        "sign": "Signs were drawn anew: not for release, rows can be linked.",
    }[method]  # fmt: skip


def asymptotic_cov(
    sigma: Floats, statistic: Literal["mean", "cov"] = "cov", method: Way | None = None
) -> Floats:
    """Covariance of √n times the error of means, or of the covariance matrix (columns under each other), for large n.

    Normal rows with distinct eigenvalues are assumed; ``method`` None is the original file. With Σ = O Λ O' the changed
    file has R (2 I + 2 K - 2 V) R', R = O Λ^½ ⊗ O Λ^½; Perkonoja and Virta (2024, theorem 2) print Σ^½ for O Λ^½, which
    is right for diagonal Σ only.

    Examples
    --------
    >>> asymptotic_cov(np.diag([2.0, 1.0]), "cov", "permutation")[1].round(9).tolist()
    [0.0, 4.0, 4.0, 0.0]
    """
    width = len(sigma)
    if np.shape(sigma) != (width, width) or not np.allclose(sigma, np.transpose(sigma)):
        raise OptionError("sigma is no covariance matrix; give a square symmetric one")
    if statistic == "mean":
        return np.asarray(sigma, float) * (1.0 if method in (None, "permutation") else 2.0)
    sizes, turns = np.linalg.eigh(np.asarray(sigma, float))
    if sizes.min() < -1e-9 * max(abs(float(sizes.max())), 1e-300):
        raise OptionError("sigma is no covariance matrix; it has a negative eigenvalue")
    root = turns * np.sqrt(np.maximum(sizes, 0))
    both = np.kron(root, root)
    one = np.eye(width * width)
    swap = one.reshape(width, width, width, width).transpose(1, 0, 2, 3).reshape(width**2, width**2)
    own = np.diag(np.eye(width).ravel())
    middle = one + swap if method is None else 2 * (one + swap - own)
    made: Floats = both @ middle @ both.T
    # what is exactly nothing on paper is written so
    return np.where(np.abs(made) < 1e-12 * np.abs(made).max(initial=1e-300), 0.0, made)


def variance_inflation(
    sigma: Floats, statistic: Literal["mean", "cov"] = "cov", method: Way = "orthogonal"
) -> Floats:
    """How many times larger the variance of each mean, or of each covariance, becomes.

    Examples
    --------
    >>> variance_inflation(np.diag([2.0, 1.0])).round(6).tolist()
    [[1.0, 2.0], [2.0, 1.0]]
    """
    before, after = (np.diag(asymptotic_cov(sigma, statistic, way)) for way in (None, method))
    ratio: Floats = after / np.where(before > 0, before, np.nan)
    return ratio if statistic == "mean" else ratio.reshape(len(sigma), len(sigma))
