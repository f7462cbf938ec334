"""Code lists: occupations, industries and diagnoses, with how often each is drawn for whom."""

from __future__ import annotations

from functools import cache

import numpy as np

from dalenius.data.examples.draw import Floats, Lottery
from dalenius.data.examples.geography import REGIONS

# Sub-major groups in each of the ten major groups of occupations; group 0 gives codes with leading zeros.
_SUBMAJORS = (3, 4, 6, 5, 4, 4, 3, 5, 3, 6)
_SECTIONS = {
    "A": (1, 3), "B": (5, 9), "C": (10, 33), "D": (35, 35), "E": (36, 39), "F": (41, 43), "G": (45, 47),
    "H": (49, 53), "I": (55, 56), "J": (58, 63), "K": (64, 66), "L": (68, 68), "M": (69, 75), "N": (77, 82),
    "O": (84, 84), "P": (85, 85), "Q": (86, 88), "R": (90, 93), "S": (94, 96),
}  # fmt: skip
ARMED_FORCES_INDUSTRY = "O84"


def _occupations() -> tuple[str, ...]:
    """Build four-digit codes: each digit narrows the group named by the digits before it."""
    codes = []
    for major, submajors in enumerate(_SUBMAJORS):
        for sub in range(1, submajors + 1):
            if major == 0:
                codes.append(f"0{sub}10")
                continue
            minors = 2 + (major + sub) % 3
            for minor in range(1, minors + 1):
                units = 1 + (major + sub + minor) % 4
                codes.extend(f"{major}{sub}{minor}{unit}" for unit in range(1, units + 1))
    return tuple(codes)


OCCUPATIONS = _occupations()
"""Occupation codes: major (1 digit) > sub-major (2) > minor (3) > unit (4). Text: '0110' is not 110."""

INDUSTRIES = tuple(f"{s}{d:02d}" for s, (low, high) in _SECTIONS.items() for d in range(low, high + 1))
"""Industry codes: section (a letter) > division (the letter and two digits)."""

OCCUPATION_MAJOR = np.array([int(code[0]) for code in OCCUPATIONS], dtype=np.int64)

# Weight of the ten major groups at each level of education (none ... doctorate), before the tilt by sex.
_MAJOR_BY_EDUCATION = (
    (0.2, 0.5, 0.2, 0.5, 1.0, 4.0, 3.0, 3.5, 3.0, 9.0),
    (0.3, 0.8, 0.4, 1.0, 1.5, 5.0, 2.5, 4.5, 4.0, 8.0),
    (0.8, 1.5, 0.8, 2.5, 3.5, 7.0, 1.8, 5.5, 4.0, 5.5),
    (1.0, 3.0, 2.5, 7.0, 6.0, 6.5, 1.0, 5.0, 3.0, 2.0),
    (0.5, 5.0, 10.0, 7.0, 3.5, 2.0, 0.4, 0.8, 0.4, 0.4),
    (0.4, 6.5, 16.0, 4.5, 1.5, 0.8, 0.2, 0.3, 0.1, 0.1),
    (0.1, 5.0, 24.0, 1.5, 0.3, 0.1, 0.05, 0.05, 0.02, 0.02),
)
_FEMALE_TILT = np.array((0.25, 0.7, 1.2, 1.0, 1.7, 1.6, 0.7, 0.25, 0.3, 1.2))
_MALE_TILT = np.array((1.8, 1.3, 0.85, 1.0, 0.5, 0.6, 1.3, 1.9, 1.8, 0.85))


@cache
def occupation_lottery() -> Lottery:
    """Draw an occupation; the group is ``2 * education + male``.

    Examples
    --------
    >>> occupation_lottery().width == len(OCCUPATIONS)
    True
    """
    # Units in a major group fall off as 1 / rank, so that a few are common and many are rare.
    within = np.concatenate([1.0 / np.arange(1, count + 1) for count in np.bincount(OCCUPATION_MAJOR)])
    within /= np.bincount(OCCUPATION_MAJOR, weights=within)[OCCUPATION_MAJOR]
    rows = [np.array(row) * tilt for row in _MAJOR_BY_EDUCATION for tilt in (_FEMALE_TILT, _MALE_TILT)]
    return Lottery.of(np.array(rows)[:, OCCUPATION_MAJOR] * within)


# Sections in which each major group of occupations mostly works (weight 12 against 1 elsewhere).
_SECTIONS_OF_MAJOR = ("O", "CGKM", "JMPQK", "CJKMQ", "GKNO", "GIQS", "A", "CF", "CHB", "NFAIH")
# What the regions live on: the capital on services, R3 on farming and R4 on industry, R6 on tourism.
_SECTIONS_OF_REGION = ("JKMN", "GHC", "A", "BCD", "CF", "AIR")


def industry_shares() -> Floats:
    """Return the overall weight of every industry division, unequal within each section.

    Examples
    --------
    >>> industry_shares().shape == (len(INDUSTRIES),)
    True
    """
    big = {"G": 3.0, "Q": 4.0, "P": 5.0, "O": 4.0, "F": 2.5, "A": 1.5, "C": 0.6}
    weights = [
        big.get(section, 1.0) / (1.0 + 0.7 * rank)
        for section, (low, high) in _SECTIONS.items()
        for rank in range(high - low + 1)
    ]
    return np.array(weights)


def regional_tilt(region: str) -> Floats:
    """Return the factor by which a region favours every industry division.

    Examples
    --------
    >>> float(regional_tilt("R3")[INDUSTRIES.index("A01")])
    4.0
    """
    favoured = _SECTIONS_OF_REGION[REGIONS.index(region)]
    return np.array([4.0 if code[0] in favoured else 1.0 for code in INDUSTRIES])


@cache
def industry_lottery() -> Lottery:
    """Draw an industry; the group is ``len(REGIONS) * major group of occupation + region``.

    Examples
    --------
    >>> industry_lottery().width == len(INDUSTRIES)
    True
    """
    army = np.array([code == ARMED_FORCES_INDUSTRY for code in INDUSTRIES], dtype=np.float64)
    rows = []
    for major, sections in enumerate(_SECTIONS_OF_MAJOR):
        fit = np.array([12.0 if code[0] in sections else 1.0 for code in INDUSTRIES])
        for region in REGIONS:
            rows.append(army if major == 0 else industry_shares() * fit * regional_tilt(region))
    return Lottery.of(np.array(rows))


NO_DIAGNOSIS = "none"
# code: (weight, typical age, spread of age, factor for smokers, factor for the obese)
_DIAGNOSES = {
    "I10": (60.0, 68, 18, 1.2, 2.0), "M54": (45.0, 50, 22, 1.1, 1.4), "E11": (26.0, 66, 16, 1.1, 3.5),
    "J45": (20.0, 25, 30, 1.5, 1.2), "F32": (20.0, 42, 20, 1.4, 1.2), "F41": (14.0, 33, 18, 1.3, 1.0),
    "I25": (14.0, 72, 13, 2.2, 1.6), "J44": (9.0, 70, 12, 7.0, 1.0), "M17": (10.0, 68, 13, 1.0, 2.4),
    "E03": (10.0, 55, 20, 1.0, 1.0), "K21": (9.0, 52, 20, 1.2, 1.6), "G43": (8.0, 35, 15, 1.0, 1.0),
    "L40": (5.0, 42, 20, 1.5, 1.2), "N18": (5.0, 74, 13, 1.1, 1.4), "H40": (4.0, 74, 12, 1.0, 1.0),
    "I48": (5.0, 75, 11, 1.1, 1.3), "C50": (3.0, 62, 14, 1.1, 1.2), "C61": (3.0, 72, 9, 1.0, 1.0),
    "F90": (5.0, 12, 8, 1.0, 1.0), "L20": (6.0, 8, 14, 1.0, 1.0), "C34": (1.5, 69, 10, 15.0, 0.8),
    "G40": (2.0, 35, 30, 1.0, 1.0), "K50": (1.2, 33, 16, 1.8, 1.0), "O24": (1.0, 31, 5, 1.0, 2.0),
    "O14": (0.6, 30, 6, 1.0, 1.6), "E10": (1.5, 25, 22, 1.0, 1.0), "M05": (1.5, 60, 14, 1.6, 1.0),
    "G20": (1.5, 75, 9, 0.7, 1.0), "F20": (1.0, 38, 14, 2.0, 1.2), "G35": (0.7, 42, 13, 1.3, 1.0),
    "B20": (0.4, 44, 13, 1.5, 0.8), "B18": (0.5, 48, 14, 1.4, 1.0), "C91": (0.2, 40, 30, 1.0, 1.0),
    "D57": (0.1, 20, 20, 1.0, 1.0), "E84": (0.06, 15, 12, 0.3, 0.3), "D66": (0.05, 25, 20, 1.0, 1.0),
    "G12": (0.03, 45, 25, 1.0, 1.0), "G10": (0.03, 48, 12, 1.0, 1.0), "G71": (0.03, 20, 18, 1.0, 1.0),
    "Q87": (0.02, 10, 12, 1.0, 1.0), "E75": (0.01, 8, 12, 1.0, 1.0), "E70": (0.01, 10, 15, 1.0, 1.0),
    "A81": (0.004, 68, 9, 1.0, 1.0), "E88": (0.004, 30, 25, 1.0, 1.0),
}  # fmt: skip
DIAGNOSES = (*_DIAGNOSES, NO_DIAGNOSIS)
"""Diagnosis codes shaped like ICD, from every sixth ill person down to a few in ten million, and 'none'."""

FEMALE_ONLY = ("O14", "O24")
MALE_ONLY = ("C61",)
DIAGNOSIS_AGE_BANDS = 10


@cache
def diagnosis_lottery() -> Lottery:
    """Draw the diagnosis of the ill; the group is ``8 * decade of age + 4 * male + 2 * smoker + obese``.

    Examples
    --------
    >>> diagnosis_lottery().width == len(DIAGNOSES) - 1
    True
    """
    weight, typical, spread, smoking, obesity = np.array(list(_DIAGNOSES.values())).T
    female_only = np.isin(list(_DIAGNOSES), FEMALE_ONLY)
    male_only = np.isin(list(_DIAGNOSES), MALE_ONLY)
    rows = []
    for decade in range(DIAGNOSIS_AGE_BANDS):
        by_age = weight * np.exp(-0.5 * ((10 * decade + 5 - typical) / spread) ** 2)
        for barred in (male_only, female_only):
            for smoker_factor in (np.ones_like(weight), smoking):
                for obese_factor in (np.ones_like(weight), obesity):
                    rows.append(np.where(barred, 0.0, by_age * smoker_factor * obese_factor))
    return Lottery.of(np.array(rows))
