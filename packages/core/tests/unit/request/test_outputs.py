from __future__ import annotations

import msgspec

from kernelet.contracts.sampling import TokenLogprobs
from kernelet.request.outputs import CompletionOutput, EngineOutput, RequestOutput


def test_an_engine_output_survives_the_wire():
    output = EngineOutput(
        request_id="a", token_ids=[1], logprobs=[TokenLogprobs([1], [-0.5], [1])], finish_reason="stop"
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(output), type=EngineOutput) == output


def test_two_outputs_share_no_lists():
    first, second = (RequestOutput(request_id=name, prompt=None, prompt_token_ids=[1]) for name in "ab")
    first.outputs.append(CompletionOutput(index=0, text="", token_ids=[]))
    assert second.outputs == []
