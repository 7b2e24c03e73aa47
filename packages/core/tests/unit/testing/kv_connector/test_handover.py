from __future__ import annotations

from kernelet.testing.kv_connector.handover import GIVES, TAKES, Bench, handover_offer
from kernelet.testing.kv_connector.pages import plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet.testing.kv_connector.rig import Rig
from kernelet.testing.kv_connector.suite import other_identity

TOKENS = list(range(11))


def engines(**other):
    bench = Bench()
    return [
        Rig(handover_offer(bench), [[plain_layout()]], engine_id="source", role="producer"),
        Rig(handover_offer(bench), [[plain_layout(block_size=8)]], engine_id="sink", role="consumer", **other),
    ]


def handed(source):
    held = source.add(TOKENS, {GIVES: True})
    source.prefill(held)
    return source.finish(held)


def test_a_reader_pulls_and_the_giver_lets_go():
    source, sink = engines()
    answer = handed(source)
    assert answer.holds_blocks
    assert answer.kv_transfer_params[TAKES][0] == "source"
    held = sink.add(TOKENS, answer.kv_transfer_params)
    assert sink.load(held, sink.ask(held)) == 10
    source.wait_for_handovers()


def test_nothing_for_another_identity_or_without_params():
    source, sink = engines(identity=other_identity(weights="other"))
    params = handed(source).kv_transfer_params
    assert sink.ask(sink.add(TOKENS, params)) is None
    assert sink.ask(sink.add(TOKENS)) is None
    assert sink.identity != IDENTITY == source.identity
