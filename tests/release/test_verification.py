"""What a verification says of itself."""

from __future__ import annotations

from dalenius.release.verify import Verification


def test_a_pack_with_a_fault_is_not_accepted():
    assert Verification(remarks=["the plan is not here"]).accepted
    assert not Verification(faults=["public/report.html was changed"]).accepted
