from __future__ import annotations

import pytest

from kernelet.contracts.attention import Attention
from kernelet.contracts.offer import Settings
from kernelet.testing.attention import AttentionSuite
from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.attention.recorded_tests import RecordedTests
from kernelet.testing.attention.reference import RecordedBatch


def test_it_is_part_of_the_suite():
    assert issubclass(AttentionSuite, RecordedTests)


def test_attention_without_recorded_steps_is_passed_over():
    class Plain(Attention):
        """Has the cache of the reference, and steps that are launched."""

        allocate_cache = SlowKept.allocate_cache
        build_metadata = SlowKept.build_metadata
        write_kv = SlowKept.write_kv
        forward = SlowKept.forward

    def requests(spec, **options):
        class Requests:
            attention = Plain(spec, Settings(plugin="x"))

        return Requests()

    with pytest.raises(pytest.skip.Exception, match="cannot be recorded"):
        RecordedTests.recorded.__wrapped__(RecordedTests(), None, requests)


def test_the_reference_keeps_its_arrays():
    made = SlowKept.decode_metadata(None, 3, 2, "cpu")
    assert isinstance(made, RecordedBatch)
    assert (made.block_table.shape, made.seq_lens.tolist()) == ((3, 2), [1, 1, 1])
