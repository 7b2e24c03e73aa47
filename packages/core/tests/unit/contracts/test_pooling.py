from __future__ import annotations

import json

import msgspec
import numpy as np

from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput


def test_parameters_travel_and_say_nothing_by_default():
    assert msgspec.json.encode(PoolingParams()) == b"{}"
    params = PoolingParams(pooling="mean", dimensions=3, normalize=False, task="plugin")
    assert msgspec.json.decode(msgspec.json.encode(params), type=PoolingParams) == params


def test_a_vector_is_an_array_and_a_list():
    output = PoolingOutput(data=np.array([0.5, -2.0], dtype=np.float32))
    assert json.dumps(output.embedding) == "[0.5, -2.0]"
    request = PoolingRequestOutput(request_id="r", outputs=output, prompt_token_ids=[1])
    assert (request.finished, request.num_cached_tokens) == (True, 0)
