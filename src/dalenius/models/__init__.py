"""Models and explanations that are to leave a safe room: checks of their form, attacks, defences."""

from dalenius.models.attribute import attribute_attack
from dalenius.models.case import ModelCase
from dalenius.models.checking import Checked, check_model
from dalenius.models.coefficients import CoefficientModel, CoefficientTable
from dalenius.models.explanations import audit_explanations, explain, linear_leak_check, risk_grid
from dalenius.models.files import open_model
from dalenius.models.measures import MODEL_MEASURES
from dalenius.models.membership.lira import lira
from dalenius.models.membership.loss import loss_attack
from dalenius.models.membership.refits import Refits, refit
from dalenius.models.membership.sacro import sacro
from dalenius.models.membership.shadow import shadow_attack
from dalenius.models.structure import structure

__all__ = [
    "MODEL_MEASURES",
    "Checked",
    "CoefficientModel",
    "CoefficientTable",
    "ModelCase",
    "Refits",
    "attribute_attack",
    "audit_explanations",
    "check_model",
    "explain",
    "linear_leak_check",
    "lira",
    "loss_attack",
    "open_model",
    "refit",
    "risk_grid",
    "sacro",
    "shadow_attack",
    "structure",
]
