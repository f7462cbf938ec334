"""An attack that was killed goes on, to the same bytes; what another attack left is not looked at."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.published import Published, ends, fit
from dalenius.published.keeping import Kept
from dalenius.published.margin import NO_LIMIT, known_range
from dalenius.published.system import System
from dalenius.risk.reconstruction import attack, guess


class Killed(Exception):
    """Somebody pulled the plug."""


def released(seed=5, rows=90):
    rng = np.random.default_rng(seed)
    data = {name: rng.choice(list("abcd")[:size], rows).tolist() for name, size in
            (("x", 4), ("y", 4), ("z", 3), ("w", 2))}  # fmt: skip
    return Published.count(data, [["x", "y"], ["y", "z"], ["x", "z", "w"]])


@pytest.mark.parametrize("bounds", [False, True])
def test_a_killed_search_goes_on_to_the_same_bytes(tmp_path, monkeypatch, bounds):
    monkeypatch.setattr(ends, "BLOCK", 8)
    out = released()
    whole = fit(out, bounds=bounds)
    path = tmp_path / "state" / "attack.npz"
    times = 0

    def plug(done, of):
        nonlocal times
        times += 1
        if times in (3, 5):
            raise Killed

    for _ in range(2):
        with pytest.raises(Killed):
            fit(out, bounds=bounds, keep=path, progress=plug)
    assert path.parent.stat().st_mode & 0o077 == 0
    seen = []
    again = fit(out, bounds=bounds, keep=path, progress=lambda done, of: seen.append(done))
    assert seen[0] > 0  # it did not start anew
    for name in ("low", "high", "exact", "solution", "undecided"):
        assert getattr(again, name).tobytes() == getattr(whole, name).tobytes(), name
    assert again.programs == whole.programs
    assert not path.exists()


def test_what_another_attack_left_is_not_looked_at(tmp_path):
    path = tmp_path / "attack.npz"
    kept = Kept(path, "another")
    kept.save(low=np.array([99]), facts=np.array([0, 0, 0]))
    out = released()
    assert fit(out, keep=path, bounds=False).people_proved == fit(out, bounds=False).people_proved
    path.write_bytes(b"rubbish")
    assert Kept(path, "another").load() is None


def test_finished_runs_of_guesses_are_kept(tmp_path, monkeypatch):
    found = fit(released(), bounds=False)
    whole = guess(found, runs=3, rows=30, steps=20)
    assert (whole.frame["low"] < whole.frame["high"]).any()  # what is open stays open beside a guess
    import dalenius.risk.reconstruction.guesses as module

    saved = module._Runs.save

    def plug(self, run, codes):
        saved(self, run, codes)
        if run == 1:
            raise Killed

    monkeypatch.setattr(module._Runs, "save", plug)
    with pytest.raises(Killed):
        guess(found, runs=3, rows=30, steps=20, keep=tmp_path)
    monkeypatch.setattr(module._Runs, "save", saved)
    assert len(list(tmp_path.glob("guess-*.npz"))) == 2
    again = guess(found, runs=3, rows=30, steps=20, keep=tmp_path)
    assert again.frame.equals(whole.frame)
    assert not list(tmp_path.glob("guess-*.npz"))


def test_a_solver_that_was_cut_off_is_told_and_meets_no_limit(monkeypatch):
    """Where nobody could decide whether a cell is proved, the figure must not be read as safe."""
    out = released()
    plain = attack(out)
    assert plain.trusted
    monkeypatch.setattr(ends.Ends, "undecided", property(lambda self: np.arange(len(self.low)) == 0))
    cut = attack(out)
    assert not cut.trusted
    assert not any(found.trusted for found in cut.fits.values())
    doubted = cut.results["proved-unique"]
    assert not doubted.trusted
    assert "could not be decided" in doubted.sentence


def test_small_things_that_would_be_false_certainty():
    low, high = known_range(np.array([3.0]), "noisy", 1, 2.0)
    assert (low[0], high[0]) == (0, NO_LIMIT)  # noise says nothing for certain, above or below
    # a cell that an incomplete table does not list may hold anybody
    part = Published.from_tables({"t": {"a": ["x", "y"], "b": ["p", "q"], "n": [3, 4]}})
    assert len(System.of(part).cells) == 4
    # one table that fits has been met: nothing is decided before another one was looked for
    square = System.of(Published.count({"a": list("xy"), "b": list("pq")}, [["a"], ["b"]]))
    begun = ends.Ends.of(square, *square.bounds(), 100, 1)
    assert begun.undecided.all()
    # figures that had to be changed prove nothing, though bounds meet
    wrong = Published.from_tables({"t": {"sex": ["f", "m", "Total"], "n": [3, 4, 8]}})
    changed = fit(wrong, relax=True)
    assert (changed.low == changed.high).any()
    assert not changed.proved.any()


def test_of_several_dates_the_worst_is_told():
    first = Published.from_tables({"a": {"sex": ["f", "m"], "n": [1, 3]}}, date="2024")
    second = Published.from_tables(
        {"b": {"sex": ["Total"], "n": [50]}}, domains={"sex": ["f", "m"]}, date="2025"
    )
    found = attack(first | second)
    assert found.results["proved-people"].value == 100
    assert found.results["proved-unique"].value == 25
    assert "attacked apart" in found.remarks[0]
    assert set(found.frame()["date"]) == {"2024", "2025"}
