from __future__ import annotations

from kernelet.testing.grammar_engine.faults import FAULTS, Late, Trips, engine_of, suite_of
from kernelet.testing.grammar_engine.reference import ReferenceEngine
from kernelet.testing.grammar_engine.suite import GrammarEngineSuite


def test_each_is_the_suite_of_a_wrong_engine():
    assert all(issubclass(fault.suite, GrammarEngineSuite) for fault in FAULTS)
    assert issubclass(Trips, ReferenceEngine)
    assert issubclass(engine_of(Late), ReferenceEngine)
    assert suite_of(Trips, forces=True).capabilities.forces
