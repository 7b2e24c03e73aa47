from __future__ import annotations

from kernelet.contracts.stats import StepStats
from kernelet.scheduler.kv.counters import KVCounters


def test_what_is_taken_begins_again():
    counters = KVCounters()
    counters.loaded(5)
    counters.loaded(0)
    counters.external_queries += 9
    counters.failures["short"] += 1
    counters.add("a", {"bytes": 2.5})
    counters.add("a", {"bytes": 1, "files": 1})
    counters.add("b", {})
    taken = counters.take()
    assert taken == {
        "external_queries": 9,
        "external_hits": 5,
        "num_loads": 1,
        "load_failures": {"short": 1},
        "kv_connectors": {"a": {"bytes": 3.5, "files": 1}},
    }
    assert set(taken) <= set(StepStats.__struct_fields__)
    assert not any(counters.take().values())
