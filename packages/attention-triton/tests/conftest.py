"""Interprets kernels on the CPU, each test in a process of its own: a bad pointer kills that test alone."""

from __future__ import annotations

from kernelet_device_triton import testing

testing.interpret()
interpreted = testing.interpreted
pytest_collection_finish = testing.pytest_collection_finish
pytest_runtest_protocol = testing.pytest_runtest_protocol
pytest_collection_modifyitems = testing.suites_in_ci(
    __file__,
    "TestTritonAttention.test_copied_blocks",
    "TestTritonAttention.test_empty_step",
    "TestTritonAttention.test_masked_has_no_weight",
    "TestTritonAttention.test_neighbours_do_not_leak",
    "TestTritonAttention.test_pages_are_what_was_stored",
    "TestBatchInvariant.test_empty_step",
    "TestQKVRopeWrite.test_no_rows",
)
