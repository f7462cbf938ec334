"""Which answers are missing, and for whom."""

from __future__ import annotations

import numpy as np

from dalenius.data.examples.draw import Bools, Floats, Ints, happens, sigmoid


def missing_answers(
    rng: np.random.Generator,
    *,
    age: Ints,
    income: Ints,
    schooling: Ints,
    smokes: Bools,
    works: Bools,
    score: Floats,
) -> dict[str, Bools]:
    """Return, for each column that has gaps, where the gaps are.

    Income is missing not at random (the rich say it less often, and the young and the old), wealth follows
    income, body mass goes missing with age and bad health, satisfaction with bad health; what does not
    apply (code -8) is never missing.
    """
    size = len(age)
    adult = age >= 16
    level = np.log((np.maximum(income, 0) + 2000) / 22000)
    no_income = adult & happens(rng, sigmoid(-2.5 + 0.65 * level + 0.012 * np.abs(age - 40)))
    no_wealth = adult & happens(rng, np.where(no_income, 0.6, 0.07))
    no_smoker = adult & happens(rng, np.full(size, 0.012))
    return {
        "education": happens(rng, np.where(adult, 0.01 + 0.012 * (schooling <= 2), 0.0)),
        "occupation": works & happens(rng, np.full(size, 0.02)),
        "industry": works & happens(rng, np.full(size, 0.015)),
        "income": no_income,
        "wealth": no_wealth,
        "hours": works & happens(rng, np.full(size, 0.03)),
        "health": happens(rng, np.full(size, 0.01)),
        "smoker": no_smoker,
        # Whoever does not say whether they smoke does not say how much either.
        "cigarettes": no_smoker | (smokes & happens(rng, np.full(size, 0.04))),
        "bmi": happens(rng, sigmoid(-3.6 + 0.028 * age - 0.25 * score)),
        "life_satisfaction": happens(rng, sigmoid(-3.3 - 0.4 * score)),
        "visits": happens(rng, np.full(size, 0.015)),
    }
