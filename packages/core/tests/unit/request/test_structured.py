from __future__ import annotations

import msgspec
import pytest

from kernelet.request.structured import (
    Exit,
    FreeState,
    Marker,
    MarkerState,
    ReasoningGate,
    RulesState,
    StructuredRequest,
)

STATES = (
    FreeState(exits=(Exit(marker=Marker(text="<a>", token_id=3), next=1),), excludes=(Marker(text="no"),)),
    RulesState(rules=b"\x00\xff", digest="d", next=2),
    MarkerState(exits=(Exit(marker=Marker(text="</a>")),), may_end=True),
)
GATE = ReasoningGate(
    parser="p", prompt="é", template_kwargs=b'{"a":1}', tokens={"<t>": 4}, excludes=(Marker(token_id=9),)
)


@pytest.mark.parametrize("reasoning", [None, GATE])
@pytest.mark.parametrize("protocol", [msgspec.msgpack, msgspec.json])
def test_it_crosses_processes(reasoning, protocol):
    sent = StructuredRequest(engine="e", states=STATES, reasoning=reasoning)
    assert protocol.decode(protocol.encode(sent), type=StructuredRequest) == sent


def test_equal_states_are_one_key():
    again = msgspec.msgpack.decode(
        msgspec.msgpack.encode(STATES), type=tuple[FreeState | RulesState | MarkerState, ...]
    )
    assert len({STATES, again}) == 1
