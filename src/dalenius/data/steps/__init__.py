"""Steps: changes of a file as plain data, for cleaning before synthesis and for masking."""

from dalenius.data.steps.lengths import DropLength
from dalenius.data.steps.places import KeepPlace
from dalenius.data.steps.recoding import CoarsenDate, Collapse, MergeLevels, Recode, Recoding, Round, TopCode
from dalenius.data.steps.reversible import (
    DeclareCodes,
    DropColumn,
    DropConstant,
    DropDerived,
    DropGrouping,
    DropSettled,
    KeepGap,
    KeepOrder,
    MoveLast,
    ReadAsNumber,
)
from dalenius.data.steps.step import STEPS, ColumnStep, Masked, Step, chosen, step, step_from

__all__ = [
    "STEPS",
    "CoarsenDate",
    "Collapse",
    "ColumnStep",
    "DeclareCodes",
    "DropColumn",
    "DropConstant",
    "DropDerived",
    "DropGrouping",
    "DropLength",
    "DropSettled",
    "KeepGap",
    "KeepOrder",
    "KeepPlace",
    "Masked",
    "MergeLevels",
    "MoveLast",
    "ReadAsNumber",
    "Recode",
    "Recoding",
    "Round",
    "Step",
    "TopCode",
    "chosen",
    "step",
    "step_from",
]
