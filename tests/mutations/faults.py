"""The list: in each file one line is made wrong, and the named tests must fail.

A fault is what a tired person might write: a sign, a bound, a forgotten case. Each changes what a user gets.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One wrong line."""

    file: str
    old: str
    new: str
    tests: str

    @property
    def room(self) -> str:
        return self.file.split("/")[0]


CORE, UNITS, EXIT = "tests/core/test_core.py", "tests/data/test_units.py", "tests/exit/test_guard.py"
DISCLOSURE, WORKED = "tests/risk/test_disclosure.py", "tests/risk/test_worked_examples.py"
MATCH = "tests/counts/test_match.py"
DP, RULES, POLICY = (
    "tests/dp/test_noise_and_budget.py",
    "tests/tables/test_rules.py",
    "tests/release/test_plan.py",
)

FAULTS = [
    Fault("core/intervals.py", "z * z / (4 * trials * trials)", "z * z / (2 * trials * trials)", CORE),
    Fault("core/random.py", "else (-number << 1) | 1", "else -number", CORE),
    Fault(
        "core/registry.py",
        'return value if self.better == "lower" else -value',
        "return value",
        "tests/evaluation/test_compare.py",
    ),
    Fault(
        "core/registry.py",
        "if name in self._items and _home",
        "if not name and _home",
        "tests/common/test_measures.py -k taken_once",
    ),
    Fault(
        "core/plugins.py",
        "    except Exception as error:",
        "    except OSError as error:",
        "tests/test_plugins.py -k broken",
    ),
    Fault(
        "data/units.py",
        "codes[gaps] = vector.categories.size + np.arange(len(gaps))",
        "codes[gaps] = vector.categories.size",
        UNITS,
    ),
    Fault(
        "data/units.py",
        "[*schema.by_role(Role.ENTITY), *schema.by_role(Role.HOUSEHOLD)]",
        "[*schema.by_role(Role.HOUSEHOLD), *schema.by_role(Role.ENTITY)]",
        UNITS,
    ),
    Fault(
        "data/grouping.py",
        'vector.data, side="right")',
        'vector.data, side="left")',
        "tests/counts/test_pair.py",
    ),
    Fault(
        "data/exit.py",
        "(Role.IDENTIFIER, Role.ENTITY, Role.HOUSEHOLD)",
        "(Role.IDENTIFIER, Role.ENTITY)",
        EXIT,
    ),
    Fault("data/exit.py", 'column.release == "as-is"', 'column.release != "as-is"', EXIT),
    Fault(
        "data/exit.py",
        "if units.codes is not None:\n        rows",
        "if units.codes is None:\n        rows",
        EXIT,
    ),
    Fault(
        "data/conformity.py",
        "vector.values > high",
        "vector.values > 2 * high",
        "tests/data/test_schema.py tests/data/test_declared.py",
    ),
    Fault(
        "data/atomic.py",
        "        temporary.unlink(missing_ok=True)",
        "        pass",
        "tests/data/test_atomic.py",
    ),
    Fault(
        "counts/match.py",
        "self.single & (self.protected == 1)",
        "self.single & (self.protected >= 1)",
        DISCLOSURE,
    ),
    Fault("counts/match.py", "    if target in keys:", "    if target in ():", MATCH),
    Fault(
        "counts/ipf.py", "converged = change < tol", "converged = True", "tests/synth/joint/test_fitting.py"
    ),
    Fault(
        "counts/ipf.py",
        "or np.any(t < 0) for t in ready",
        "for t in ready",
        "tests/synth/joint/test_fitting.py",
    ),
    Fault("counts/groups.py", "holdout if len(rows) > 2 else None)", "None)", MATCH),
    Fault("dp/budget.py", '(1 if self.neighbours == "add-remove" else 2)', "1", DP),
    Fault("dp/budget.py", "_SLACK = 1 + 1e-9", "_SLACK = 2", DP),
    Fault("dp/accounting.py", "+ alpha * math.log1p(-1 / alpha)", "+ math.log1p(-1 / alpha)", DP),
    Fault(
        "dp/repair.py",
        "np.count_nonzero(ordered > excess)) - 1",
        "np.count_nonzero(ordered > excess)) - 2",
        "src/dalenius/dp/repair.py",
    ),
    Fault("dp/noise.py", "if not 0 < scale <", "if not -1 < scale <", DP),
    Fault(
        "risk/identity.py",
        "(match.holdout == 1) & (match.protected == 1)",
        "match.holdout == 1",
        DISCLOSURE + " tests/risk/test_yardsticks.py",
    ),
    Fault(
        "risk/identity.py",
        "present = ((d > 0) & (s == 1))[rows]",
        "present = ((d > 1) & (s == 1))[rows]",
        DISCLOSURE,
    ),
    Fault(
        "risk/attribution.py",
        'table = table.sort("DiSCO", descending=True)',
        'table = table.sort("DiSCO")',
        DISCLOSURE,
    ),
    Fault(
        "risk/epsilon.py",
        "normal.inv_cdf(tpr) - normal.inv_cdf(fpr)",
        "normal.inv_cdf(tpr) + normal.inv_cdf(fpr)",
        "tests/risk/test_membership.py src/dalenius/risk/epsilon.py",
    ),
    Fault(
        "utility/distances.py", "(a - a.mean() - b + b.mean())", "(a - b)", "tests/utility/test_surveys.py"
    ),
    Fault(
        "utility/marginals.py",
        "return 500 * (2 - ",
        "return 1000 * (1 - ",
        "tests/utility/test_worked_examples.py",
    ),
    Fault(
        "utility/inference/combine.py",
        "variance = scaled * (1 + n / (k * m))",
        "variance = scaled * (1 + 1 / m)",
        "tests/utility/inference",
    ),
    Fault(
        "utility/inference/combine.py",
        "variance = (1 + 1 / m) * between - ubar",
        "variance = (1 + 1 / m) * between + ubar",
        "tests/utility/inference",
    ),
    Fault(
        "utility/cells.py",
        "vw * share * (1 - share) ** 2 / total",
        "vw * share * (1 - share) / total",
        "tests/utility/test_golden_tables.py",
    ),
    Fault(
        "tables/rules.py",
        "few = model.frequency <= self.max_n",
        "few = model.frequency < self.max_n",
        RULES + " src/dalenius/tables/rules.py",
    ),
    Fault(
        "tables/rules.py",
        "parts.largest_sum(1 + self.coalition)",
        "parts.largest_sum(1)",
        RULES + " src/dalenius/tables/rules.py",
    ),
    Fault(
        "tables/rules.py",
        "(share >= limit) | near",
        "(share > limit) & ~near",
        "tests/tables/test_rules.py tests/tables/test_properties.py",
    ),
    Fault(
        "tables/rounding.py",
        "np.where(draws < z / k, k, 0)",
        "np.where(draws < 0.5, k, 0)",
        "tests/tables/test_other_protections.py",
    ),
    Fault(
        "tables/loss.py",
        "size[inner & lost].sum()",
        "size[lost].sum()",
        "tests/tables/test_other_protections.py tests/tables/test_cli.py",
    ),
    Fault(
        "synth/sdc.py",
        "table = table.take(~again)",
        "table = table.take(~again | again)",
        "tests/synth/sequential/test_leaks.py",
    ),
    Fault("synth/sequential/linear.py", "w * (n / w.sum())", "w", "tests/synth/sequential/test_models.py"),
    Fault(
        "synth/joint/margins.py",
        "return held - used / (2 * max(task.rows, 1))",
        "return held + used / (2 * max(task.rows, 1))",
        "tests/synth/joint/test_models.py",
    ),
    Fault(
        "synth/base.py",
        "if wanted > 0 and self.rows == 0:",
        "if wanted > 1 and self.rows == 0:",
        "tests/common/test_synthesizers.py -k test_no_rows",
    ),
    Fault(
        "synth/kept.py",
        "held |= vector_arrays(str(i), self.table[name])",
        "held |= vector_arrays(str(0), self.table[name])",
        "tests/common/test_synthesizers.py -k 'saved and bootstrap'",
    ),
    Fault(
        "evaluation/comparing.py",
        '.rank("average")',
        '.rank("average", descending=True)',
        "tests/evaluation/test_compare.py",
    ),
    Fault(
        "evaluation/policy.py", "value <= bound if self.upper else value >= bound", "value <= bound", POLICY
    ),
    Fault("evaluation/policy.py", " or not result.trusted:", ":", POLICY + " tests/release/test_public.py"),
    Fault(
        "release/verify.py",
        "return not self.faults",
        "return True",
        "tests/release/test_pack.py tests/release/test_tampering.py",
    ),
]
