"""Figures about a fitted model, by name: policies take them like any other, the batteries of tests find them here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dalenius.core.registry import Better, Dimension, MeasureInfo


def _info(
    name: str, title: str, meaning: str, dimension: Dimension, reference: str, unit: str = "%", **more: Any
) -> MeasureInfo:
    better: Better = more.pop("better", "lower")
    bounds = more.pop("bounds", (0.0, 100.0))
    return MeasureInfo(
        name, title, "risk", meaning, better, bounds, reference, unit, default=False, dimension=dimension,
        subject="model", **more,
    )  # fmt: skip


SACRO = "SACRO-ML, structural attacks"
CARLINI = "Carlini et al. 2022"
MODEL_MEASURES: Mapping[str, MeasureInfo] = {
    info.name: info
    for info in (
        _info(
            "model-stored-records", "Training records inside the model",
            "Share of the people in the training file whose record is held in the model as it is.", "copying", SACRO,
        ),
        _info(
            "model-small-leaves", "People in small leaves",
            "Share of the people who stand in a leaf of fewer people than the threshold, in any tree.", "singling out",
            SACRO,
        ),
        _info(
            "model-one-class-leaves", "People in leaves of one class",
            "Share of the people who stand in a leaf whose people all have the same outcome, in any tree.",
            "attribution", SACRO,
        ),
        _info(
            "model-freedom", "Residual degrees of freedom",
            "People in the training file minus the parameters that were fitted to them.", "singling out", SACRO, "",
            better="higher", bounds=(-math.inf, math.inf),
        ),
        _info(
            "model-saturated-cells", "People in small saturated cells",
            "Share of the people in cells below the threshold of a model that only recasts a table.", "singling out",
            "Griffiths et al. 2019",
        ),
        _info(
            "model-rare-values", "Values of few people in the model",
            "Categories and ends of scales that stand in the model although fewer people than the threshold have them.",
            "singling out", "Griffiths et al. 2019", "", bounds=(0.0, math.inf),
        ),
        _info(
            "model-membership-loss", "Membership by loss (AUC)",
            "Chance that the model knows the outcome of a person it was fitted on better than that of a stranger.",
            "membership", "Yeom et al. 2018", "", bounds=(0.0, 1.0),
        ),
        _info(
            "model-membership-shadow", "Membership by a shadow classifier (AUC)",
            "Chance that a classifier taught on refits picks the person the model was fitted on and not a stranger.",
            "membership", "Shokri et al. 2017", "", bounds=(0.0, 1.0), random=True,
        ),
        _info(
            "model-membership-lira", "Membership by likelihood ratio (AUC)",
            "Chance that the ratio of likelihoods with and without a person, from refits, is larger "
            "for a person the model "
            "was fitted on than for a stranger.", "membership", CARLINI, "", bounds=(0.0, 1.0), random=True,
        ),
        _info(
            "model-membership-sacro", "Membership as SACRO-ML has it (AUC)",
            "SACRO-ML's likelihood attack: chance that the score of a person the model was fitted on is higher among "
            "those of refits without him than that of a stranger is.",
            "membership", "SACRO-ML, likelihood attack", "", bounds=(0.0, 1.0), random=True,
        ),
        _info(
            "model-membership", "Membership, the best attack (AUC)",
            "The largest chance, over all attacks that were run, to tell people the model was fitted "
            "on from strangers.",
            "membership", CARLINI, "", bounds=(0.0, 1.0), random=True,
        ),
        _info(
            "model-attribute", "Attributes read off the model",
            "Share of successes in guessing a person's value from the model that is due to his being "
            "in the training file.",
            "attribution", "Fredrikson et al. 2014; Yeom et al. 2018", bounds=(-100.0, 100.0),
        ),
        _info(
            "model-explanations", "Records rebuilt from explanations",
            "By how much an attacker who sees explanations errs less about a record than one who "
            "guesses: 100 is exact.",
            "attribution", "Toma and Kikuchi 2024", bounds=(-math.inf, 100.0), random=True,
        ),
        _info(
            "model-links", "Links read off a graph service (F1)",
            "Harmonic mean of the share of true links that an attacker finds and the share of called links that are "
            "true, by the best attack with a line that he can draw himself.",
            "attribution", "Zari et al. 2024", "", bounds=(0.0, 1.0), random=True,
        ),
        _info(
            "model-local-epsilon", "Local ε of a record",
            "How far what was changed at random can speak for one record rather than another, over all columns; above "
            "10 it means nothing.", "attribution", "Kwatra and Torra 2024", "", bounds=(0.0, math.inf),
        ),
        _info(
            "model-smallest-leaf", "People in the smallest leaf that may be sent",
            "How many people of a holder every leaf of its tree rests on at least.", "singling out",
            "Kwatra and Torra 2024", "", better="higher", bounds=(1.0, math.inf),
        ),
    )
}  # fmt: skip
"""Figures about a model."""
