from __future__ import annotations

import pytest
from kit import run_suites
from safetensors.numpy import load_file
from tiny_reference import tiny_logits

from kernelet.testing.model.faults import suite_of


class TestWithReference(suite_of()):
    """The tiny model passes, also against its formulas."""

    @pytest.fixture
    def reference_logits(self, checkpoint, config):
        tensors = load_file(checkpoint / "model.safetensors")
        return lambda ids: tiny_logits(tensors, config, ids)


def test_a_wrong_reference_is_noticed(tmp_path):
    class Wrong(suite_of()):
        @pytest.fixture
        def reference_logits(self, checkpoint, config):
            tensors = load_file(checkpoint / "model.safetensors")
            return lambda ids: tiny_logits(tensors, config | {"sliding_window": 5}, ids)

    listener = run_suites([Wrong], tmp_path, "-k", "reference")
    assert len(listener.messages[0]) == 1
    assert "the logits must be those of the reference" in listener.messages[0][0]
