"""SACRO-ML's LiRA and ART's black-box membership attack, on the arrays that `bench/models.py` wrote.

Run by the Python of an environment that has both: ``python bench/models_peer.py data.npz``. Prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def sacro(model, x, y, n, shadows, mode):
    from sacroml.attacks.likelihood_attack import LIRAAttack
    from sacroml.attacks.target import Target

    target = Target(
        model=model,
        dataset_name="adult",
        X_train=x[:n],
        y_train=y[:n],
        X_test=x[n : 2 * n],
        y_test=y[n : 2 * n],
    )
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        attack = LIRAAttack(n_shadow_models=shadows, output_dir=place, write_report=False, mode=mode)
        attack.attack(target)
        os.chdir(here)
    return float(attack.attack_metrics[0]["AUC"])


def art(model, x, y, n):
    from art.attacks.inference.membership_inference import MembershipInferenceBlackBox
    from art.estimators.classification import SklearnClassifier

    attack = MembershipInferenceBlackBox(SklearnClassifier(model), attack_model_type="rf")
    half = n // 2
    attack.fit(x[:half], y[:half], x[n : n + half], y[n : n + half])
    ours = attack.infer(x[half:n], y[half:n], probabilities=True).ravel()
    others = attack.infer(x[n + half : 2 * n], y[n + half : 2 * n], probabilities=True).ravel()
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(np.r_[np.ones(len(ours)), np.zeros(len(others))], np.r_[ours, others]))


def main() -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    held = np.load(sys.argv[1])
    x, y, n, shadows = held["x"], held["y"], int(held["n"]), int(held["shadows"])
    models = {
        "forest, leaves of 1": RandomForestClassifier(100, min_samples_leaf=1, random_state=1),
        "forest, leaves of 50": RandomForestClassifier(100, min_samples_leaf=50, random_state=1),
        "logistic": LogisticRegression(max_iter=2000, random_state=1),
    }
    told = {}
    for name, model in models.items():
        model.fit(x[:n], y[:n])
        told[name] = {
            **{mode: sacro(model, x, y, n, shadows, mode) for mode in ("offline", "online-carlini")},
            "art": art(model, x, y, n),
        }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
