from __future__ import annotations

import inspect

from kernelet import builtin
from kernelet.testing import conformance
from kernelet.testing.suite import Suite

WITHOUT_SUITE = {"kernelet_executors", "kernelet_cache_specs"}
"""Kinds that the kit has no suite for; the core's own are tested where they stand."""


def test_every_offer_of_the_core_is_in_a_suite():
    suites = [found for name, found in inspect.getmembers(conformance, inspect.isclass) if name.startswith("Test")]
    assert sorted(suite.__name__ for suite in suites) == conformance.__all__
    assert all(issubclass(suite, Suite) for suite in suites)
    source = inspect.getsource(conformance)
    for name, hook in inspect.getmembers(builtin, inspect.isfunction):
        if name.startswith("kernelet_") and name not in WITHOUT_SUITE:
            for offer in hook():
                assert type(offer).__name__ in source, f"{offer.name} of {name} is in no suite"
