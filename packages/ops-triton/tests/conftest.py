"""Interprets kernels on the CPU, each test in a process of its own: a bad pointer kills that test alone."""

from __future__ import annotations

from kernelet_device_triton import testing

testing.interpret()
interpreted = testing.interpreted
pytest_collection_finish = testing.pytest_collection_finish
pytest_runtest_protocol = testing.pytest_runtest_protocol
pytest_collection_modifyitems = testing.suites_in_ci(
    __file__, "test_knows_its_layer", "test_no_rows", "test_prepare_takes_nothing_away"
)
