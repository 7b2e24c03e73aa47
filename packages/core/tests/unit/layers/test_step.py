from __future__ import annotations

import pytest

from kernelet.layers.step import Step


def test_a_step_holds_metadata_and_ropes_and_nothing_else():
    step = Step({0: "metadata"}, {"model": "rows"})
    assert step.attention[0] == "metadata"
    assert step.ropes["model"] == "rows"
    with pytest.raises(AttributeError):
        step.other = 1
