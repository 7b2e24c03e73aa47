from __future__ import annotations

import msgspec

from kernelet.contracts.sampling import SamplerParams
from kernelet.request.request import EngineRequest, Request, Segment


def make(extra_args=None, **fields):
    params = SamplerParams(seed=7, extra_args=extra_args)
    return EngineRequest(request_id="a/0", prompt_token_ids=[1, 2, 3], params=params, max_tokens=4, **fields)


def test_an_engine_request_survives_the_wire():
    request = make(
        stop_token_ids=(5,),
        cache_salt="s",
        segments=(Segment(offset=0, length=1, kind="image", content_hash=b"h", payload=b"p"),),
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(request), type=EngineRequest) == request


def test_the_engines_record_counts_prompt_and_output():
    request = Request(data=make(), arrival_index=0)
    request.token_ids.append(9)
    assert (request.num_prompt_tokens, request.num_output_tokens, request.num_tokens) == (3, 1, 4)
    assert request.output_token_ids == [9]
    assert request.data.prompt_token_ids == [1, 2, 3]


def test_policies_see_what_a_request_says_to_plugins():
    assert Request(data=make(), arrival_index=0).extra_args == {}
    assert Request(data=make({"p": {"k": 1}}), arrival_index=0).extra_args == {"p": {"k": 1}}
