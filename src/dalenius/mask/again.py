"""A masked file that was written earlier, made again by its recipe, so that it can be seen through its lens.

A lens tells whose row is whose and is never written beside a file that may leave. The recipe, the seed and the original
give it back.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import DEFAULT_SEED, Seed
from dalenius.data.files.texts import text_from_vector
from dalenius.data.recipe import Recipe
from dalenius.data.table import Table
from dalenius.data.vector import Vector, states
from dalenius.mask.recipes import RecipeMasker
from dalenius.synth.made import Made


def made_again(original: Table, masked: Table, recipe: str | Path, seed: Seed = DEFAULT_SEED) -> Made:
    """What a recipe makes of the original, with its lens; an error if that is not the masked file.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data.steps import Recode
    >>> people, file = Table.from_frame({"age": [*range(20, 60)] * 2}), Path(tempfile.mkdtemp()) / "recipe.yaml"
    >>> Recipe((Recode("age", width=10),)).write(file)
    >>> print(made_again(people, RecipeMasker(steps=str(file)).make(people).table, file).lens())
    age recoded
    """
    steps = [step.to_dict() for step in Recipe.read(recipe).steps]
    for ghosts in (True, False):
        made = RecipeMasker(steps=steps, ghosts=ghosts).make(original, seed=seed)
        if _same(made.table, masked):
            return made
    raise OptionError(
        f"the masked file is not what {Path(recipe).name} makes of the original; give the recipe, the seed and the "
        "schema it was made with"
    )


def _same(made: Table, masked: Table) -> bool:
    if set(made.names) != set(masked.names) or made.rows != masked.rows:
        return False
    return all(_same_cells(made[name], masked[name]) for name in made.names)


def _same_cells(one: Vector, other: Vector) -> bool:
    """Whether two columns hold the same cells; numbers up to the decimals that were written."""
    if one.is_number and other.is_number and one.column.kind == other.column.kind:
        if not np.array_equal(states(one), states(other)):
            return False
        places = other.column.decimals
        room = 0.5 * 10.0**-places if places is not None else 0.0
        return bool(np.allclose(one.data.astype(float), other.data.astype(float), rtol=1e-9, atol=room))
    return bool(text_from_vector(one, ".").eq_missing(text_from_vector(other, ".")).all())
