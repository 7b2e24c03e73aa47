from __future__ import annotations

import pytest

from kernelet.testing.kv_connector.fake import fake_offer
from kernelet.testing.kv_connector.scene import KVConnectorCapabilities, Scene
from kernelet.testing.kv_connector.script import World
from kernelet.testing.verdict import ConformanceError

TOKENS = list(range(9))


def scene(**promises):
    return Scene(fake_offer(World()), KVConnectorCapabilities(patience=0.1, **promises))


def test_engines_are_one_or_two():
    one, other = scene().pair()
    assert one is other
    one, other = scene(shared=True).pair()
    assert one is not other
    assert not one.beside
    one, other = scene(keeps=False).pair()
    assert (one.beside, other.beside) == ([other], [one])
    assert one.scheduler.context.role == "producer"


def test_what_was_put_is_found_and_nothing_else():
    made = scene()
    rig = made.rig()
    assert made.put(rig, TOKENS) is None
    held, ticket = made.find(rig, TOKENS, None, known=9)
    assert ticket.num_tokens == 9
    made.misses(rig, TOKENS, None, "found", cache_salt="other")
    with pytest.raises(ConformanceError, match=r"^found$"):
        made.misses(rig, TOKENS, None, "found")
    with pytest.raises(ConformanceError, match="must be found again"):
        made.find(rig, [1, 2, 3], None, known=3)
    rig.load(held, ticket)
    made.close()


def test_a_restart_is_another_engine():
    made = scene(persistent=True)
    rig = made.rig()
    assert made.restart(rig) is not rig
