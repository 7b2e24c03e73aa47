"""The rig holds a connector to pages that others write in at once."""

from __future__ import annotations

import pytest

from kernelet.testing.kv_connector.fake import fake_offer
from kernelet.testing.kv_connector.pages import plain_layout, same
from kernelet.testing.kv_connector.requests import truth
from kernelet.testing.kv_connector.rig import Rig
from kernelet.testing.kv_connector.script import FOREVER, LoadScript, World
from kernelet.testing.verdict import ConformanceError

TOKENS = list(range(13))


@pytest.fixture
def rig():
    return Rig(fake_offer(World([LoadScript(polls=FOREVER)])), [[plain_layout()]], patience=0.1)


def test_computes_the_truth(rig):
    held = rig.add(TOKENS)
    rig.prefill(held, 5)
    layout = rig.layouts[0][0]
    wanted = truth(held.request, layout, "layers.1", 0, 13)
    assert same(rig.pages[0].read("layers.1", held.block_ids[0], 0, 13), wanted)
    rig.generate(held, 99)
    assert (held.num_computed, held.request.token_ids[-1]) == (14, 99)


def test_blocks_of_an_ended_request_are_written_by_others(rig):
    held = rig.add(TOKENS)
    rig.prefill(held)
    blocks, before = held.block_ids[0], rig.pages[0].snapshot()
    rig.finish(held)
    assert not same(rig.pages[0].read("layers.0", blocks, 0, 13), [part[list(blocks)] for part in before["layers.0"]])
    assert held.block_ids == ()


def test_what_never_comes_is_said(rig):
    first = rig.add(TOKENS)
    rig.prefill(first)
    rig.finish(first)
    held = rig.add(TOKENS)
    ticket = rig.ask(held)
    with pytest.raises(ConformanceError, match="a load must be confirmed"):
        rig.load(held, ticket)
    rig.expire()
    assert not rig.open
    rig.close()
