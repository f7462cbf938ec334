"""Short forms of the bench on surveys: coverage, preference and S_pMSE's null over two-stage samples."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from tests import LONG

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("survey_design", ROOT / "bench" / "survey_design.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["survey_design"] = module
    spec.loader.exec_module(module)
    return module


def test_the_null_of_s_pmse_is_one(bench):
    """Mean of 10 tables; the standard deviation between samples is about 0.3, so that a mean of 200 is within 0.05."""
    found = bench.null(500 if LONG else 200)
    for name, value in found.items():
        assert value == pytest.approx(1, abs=0.05 if LONG else 0.1), name


def test_the_file_that_used_the_weights_is_preferred(bench):
    assert bench.preference(500 if LONG else 40) >= 0.95


def test_intervals_of_synthetic_files_cover(bench):
    """Nine misses or more in 30 samples would be one chance in a million at 95 %."""
    synthetic, original = bench.coverage(500 if LONG else 30)
    low, high = (0.93, 0.97) if LONG else (0.7, 1.0)
    assert ((synthetic >= low) & (synthetic <= high)).all()
    assert (original >= (0.92 if LONG else 0.7)).all()
