"""`ModelPlan`: models that may be released, the people they are fitted on, and the limits they must keep.

It is a plan like any other, told apart by the entry ``predicts``: the column that the models predict.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from dalenius.core.errors import DaleniusError, DataError, no_column
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.small_cells import THRESHOLD
from dalenius.data import Schema, Table, read
from dalenius.data.units import deal
from dalenius.evaluation.policy import Rule, described
from dalenius.models.candidates import ModelCandidate
from dalenius.release.plan_file import PlanReader, load_entries

ENTRIES = {
    "version", "title", "audience", "input", "schema", "predicts", "holdout", "holdout_share", "seed", "candidates",
    "policy", "output", "refits", "threshold",
}  # fmt: skip
HOLDOUT_SHARE = 0.4
"""People set aside: strangers make an attack's figures as sure as members do, and judge the model's use."""
DEFAULT_POLICY = (
    "model-stored-records <= 0 %",
    "model-small-leaves <= 0 %",
    "model-rare-values <= 0",
    "model-freedom >= 10",
    "model-saturated-cells <= 0 %",
    "model-membership <= 0.6",
)
"""Limits that hold where a plan sets none."""


@dataclass(frozen=True)
class ModelPlan:
    """A plan whose candidates are models, checked.

    Attributes
    ----------
    predicts
        The column that is predicted.
    refits
        Times each candidate is fitted again for the likelihood ratio.
    """

    title: str
    input: Path
    predicts: str
    candidates: tuple[ModelCandidate, ...]
    policy: tuple[Rule, ...]
    output: Path
    schema: Path | None = None
    audience: str = ""
    holdout: Path | None = None
    holdout_share: float = HOLDOUT_SHARE
    seed: int = DEFAULT_SEED
    refits: int = 16
    threshold: int = THRESHOLD
    text: str = ""
    path: Path | None = None

    @property
    def sources(self) -> dict[str, Path]:
        """The files the plan reads, by name."""
        return {path.name: path for path in (self.input, self.schema, self.holdout) if path is not None}

    @property
    def text_digest(self) -> str:
        """Fingerprint of the plan as written."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def digest(self) -> str:
        """Fingerprint of everything that decides the figures."""
        facts = {
            "candidates": [[c.name, c.kind, dict(c.options)] for c in self.candidates], "predicts": self.predicts,
            "holdout": [str(self.holdout), self.holdout_share], "seed": self.seed, "refits": self.refits,
            "threshold": self.threshold,
            "inputs": {n: hashlib.sha256(p.read_bytes()).hexdigest() for n, p in self.sources.items()},
        }  # fmt: skip
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()

    def tables(self) -> tuple[Table, Table]:
        """People the models are fitted on, and strangers; rows without an outcome are left out."""
        schema = Schema.from_yaml(self.schema) if self.schema else None
        whole = _known(read(self.input, schema=schema), self.predicts)
        if self.holdout is not None:
            return whole, _known(read(self.holdout, schema=whole.schema), self.predicts)
        kept, held = deal(whole, int(whole.rows * self.holdout_share), self.seed, "holdout")
        if len(held) < 2 or len(kept) < 2:
            raise DataError(f"{self.input.name} has {whole.rows} rows: too few to set people aside")
        return whole.take(kept), whole.take(held)


def _known(table: Table, predicts: str) -> Table:
    return table.take(table[predicts].present)


def is_model_plan(path: str | Path) -> bool:
    """Whether a plan is about models: it names a column that is predicted."""
    try:
        return "predicts" in load_entries(Path(path))[1]
    except DaleniusError:
        return False


def read_model_plan(path: str | Path) -> ModelPlan:
    r"""Read and check a plan of models; all faults are reported at once.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plan.yaml"
    >>> _ = path.write_text("input: nowhere.csv\npredicts: ill\ncandidates: {oak: {}}\n")
    >>> read_model_plan(path)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.SchemaError: ...plan.yaml: 2 faults: input nowhere.csv does not exist; candidate 'oak': unknown
    model 'oak'; there are tree, forest, boosting, linear, neighbours, constant
    """
    return replace(_Reader.read(Path(path)), path=Path(path).absolute())


class _Reader(PlanReader[ModelPlan]):
    """Takes a plan of models apart."""

    def plan(self, text: str) -> ModelPlan:
        self.faults += [
            f"unknown entry {name!r} in a plan of models" for name in self.content if name not in ENTRIES
        ]
        data, schema = self.file("input", needed=True), self.file("schema")
        predicts = str(self.content.get("predicts") or "")
        self._has_column(data, schema, predicts)
        share = self.number("holdout_share", HOLDOUT_SHARE, 0.05, 0.9)
        return ModelPlan(
            title=str(self.content.get("title") or "Model"),
            audience=str(self.content.get("audience") or ""),
            input=data or Path(),
            schema=schema,
            predicts=predicts,
            candidates=tuple(self._candidates()),
            policy=tuple(self._policy()),
            output=self.folder / str(self.content.get("output") or "release"),
            holdout=self.file("holdout"),
            holdout_share=share,
            seed=self.whole("seed", DEFAULT_SEED, 0, 2**62),
            refits=self.whole("refits", 16, 4, 10_000),
            threshold=self.whole("threshold", THRESHOLD, 1, 10**9),
            text=text,
        )

    def _has_column(self, data: Path | None, schema: Path | None, predicts: str) -> None:
        if data is None:
            return
        try:
            known = (Schema.from_yaml(schema) if schema else read(data).schema).names
        except DaleniusError as error:
            self.faults.append(str(error))
            return
        if predicts not in known:
            self.faults.append(f"predicts: {no_column([predicts], known)}")

    def _candidates(self) -> list[ModelCandidate]:
        made = self.candidates("model", ModelCandidate.from_mapping, ModelCandidate.faults)
        self.all_different([candidate.slug for candidate in made])
        return made

    def _policy(self) -> list[Rule]:
        rules = []
        for line in self.lines("policy") or DEFAULT_POLICY:
            try:
                rule = Rule.parse(line)
                if described(rule.measure).subject != "model":
                    self.faults.append(f"policy line {line!r}: {rule.measure} is not about models")
                rules.append(rule)
            except DaleniusError as error:
                self.faults.append(str(error))
        return rules
