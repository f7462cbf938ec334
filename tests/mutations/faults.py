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


FAULTS = [
    Fault(
        "core/intervals.py",
        "z * z / (4 * trials * trials)",
        "z * z / (2 * trials * trials)",
        "tests/core/test_core.py",
    ),
    Fault("core/random.py", "else (-number << 1) | 1", "else -number", "tests/core/test_core.py"),
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
        "tests/data/test_units.py",
    ),
    Fault(
        "data/units.py",
        "[*schema.by_role(Role.ENTITY), *schema.by_role(Role.HOUSEHOLD)]",
        "[*schema.by_role(Role.HOUSEHOLD), *schema.by_role(Role.ENTITY)]",
        "tests/data/test_units.py",
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
        "tests/exit/test_guard.py",
    ),
    Fault(
        "data/exit.py", 'column.release == "as-is"', 'column.release != "as-is"', "tests/exit/test_guard.py"
    ),
    Fault(
        "data/exit.py",
        "if units.codes is not None:\n        rows",
        "if units.codes is None:\n        rows",
        "tests/exit/test_guard.py",
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
        "tests/counts/test_match.py",
    ),
    Fault("counts/match.py", "    if target in keys:", "    if target in ():", "tests/counts/test_match.py"),
    Fault(
        "counts/ipf.py", "converged = change < tol", "converged = True", "tests/synth/joint/test_fitting.py"
    ),
    Fault(
        "counts/ipf.py",
        "or np.any(t < 0) for t in ready",
        "for t in ready",
        "tests/synth/joint/test_fitting.py",
    ),
    Fault("counts/groups.py", "holdout if len(rows) > 2 else None)", "None)", "tests/counts/test_match.py"),
    Fault(
        "dp/budget.py",
        '(1 if self.neighbours == "add-remove" else 2)',
        "1",
        "tests/dp/test_noise_and_budget.py",
    ),
    Fault("dp/budget.py", "_SLACK = 1 + 1e-9", "_SLACK = 2", "tests/dp/test_noise_and_budget.py"),
    Fault(
        "dp/accounting.py",
        "+ alpha * math.log1p(-1 / alpha)",
        "+ math.log1p(-1 / alpha)",
        "tests/dp/test_accounting.py",
    ),
    Fault(
        "dp/repair.py",
        "np.count_nonzero(ordered > excess)) - 1",
        "np.count_nonzero(ordered > excess)) - 2",
        "src/dalenius/dp/repair.py",
    ),
    Fault("dp/noise.py", "if not 0 < scale <", "if not -1 < scale <", "tests/dp/test_noise_and_budget.py"),
    Fault(
        "risk/identity.py",
        "match.single_outside * (match.protected == 1)",
        "match.single_outside",
        "tests/risk/test_yardsticks.py -k by_hand",
    ),
    Fault(
        "risk/identity.py",
        "present = ((d > 0) & (s == 1))[rows]",
        "present = ((d > 1) & (s == 1))[rows]",
        "tests/risk/test_by_hand.py",
    ),
    Fault(
        "risk/attribution.py",
        'return table.sort("added", level, descending=True, nulls_last=True)',
        'return table.sort("added", level, nulls_last=True)',
        "tests/risk/test_by_hand.py",
    ),
    Fault(
        "risk/epsilon.py",
        "normal.inv_cdf(tpr) - normal.inv_cdf(fpr)",
        "normal.inv_cdf(tpr) + normal.inv_cdf(fpr)",
        "src/dalenius/risk/epsilon.py",
    ),
    Fault(
        "utility/distances.py",
        "(a - a.mean() - b + b.mean())",
        "(a - b)",
        "src/dalenius/utility/distances.py",
    ),
    Fault(
        "utility/marginals.py",
        "return 500 * (2 - ",
        "return 1000 * (1 - ",
        "src/dalenius/utility/marginals.py",
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
        "src/dalenius/utility/inference/combine.py",
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
        "tests/tables/test_rules.py",
    ),
    Fault(
        "tables/rules.py",
        "parts.largest_sum(1 + self.coalition)",
        "parts.largest_sum(1)",
        "tests/tables/test_rules.py",
    ),
    Fault(
        "tables/rules.py", "(share >= limit) | near", "(share > limit) & ~near", "tests/tables/test_rules.py"
    ),
    Fault(
        "tables/rounding.py",
        "np.where(draws < z / k, k, 0)",
        "np.where(draws < 0.5, k, 0)",
        "src/dalenius/tables/rounding.py",
    ),
    Fault("tables/loss.py", "size[inner & lost].sum()", "size[lost].sum()", "tests/tables/test_rules.py"),
    Fault(
        "synth/sdc.py",
        "table = table.take(~again)",
        "table = table.take(~again | again)",
        "src/dalenius/synth/sdc.py",
    ),
    Fault(
        "synth/sequential/linear.py",
        "w * (n / w.sum())",
        "w",
        "tests/synth/sequential/test_models.py -k 'by_hand or scale_of or pseudo'",
    ),
    Fault(
        "synth/joint/margins.py",
        "if v not in covered]",
        "if v in covered]",
        "tests/synth/joint/test_models.py -k in_no_margin",
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
        "evaluation/policy.py",
        "value <= bound if self.upper else value >= bound",
        "value <= bound",
        "tests/evaluation/test_policy.py",
    ),
    Fault("evaluation/policy.py", " or not result.trusted:", ":", "tests/evaluation/test_policy.py"),
    Fault(
        "release/verify.py",
        "return not self.faults",
        "return True",
        "tests/release/test_verification.py",
    ),
]
