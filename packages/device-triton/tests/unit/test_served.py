from __future__ import annotations

import pytest

from kernelet_device_triton.served import why_not_compiled


@pytest.mark.parametrize(
    "target, named", [("sm90", ""), ("sm121", ""), ("gfx1101", ""), ("sm75", "sm75"), ("gfx90a", "gfx90a")]
)
def test_targets_that_are_not_served_are_named_beside_those_that_are(target, named):
    reason = why_not_compiled(target)
    assert bool(reason) == bool(named)
    assert reason.endswith(named)
    assert not reason or "gfx942" in reason
