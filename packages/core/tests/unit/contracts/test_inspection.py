from __future__ import annotations

import msgspec

from kernelet.contracts.inspection import Inspect, Inspection, WeightPlan


def test_what_is_told_travels():
    weight = WeightPlan(name="w", role="linear", shape=(2, 3), scheme="dense", kernel="k", nbytes=24)
    found = Inspection(weights=(weight,), activation_bytes=5, token_bytes=7)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Inspection) == found


def test_what_a_worker_must_have():
    assert Inspect.__abstractmethods__ == {"inspect"}
