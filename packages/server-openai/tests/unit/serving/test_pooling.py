from __future__ import annotations

import numpy as np
import pytest
from asgi_calls import post
from scripted_engine import ScriptedEngine

from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.errors import ParameterError, RequestFailedError

PATH = "/pooling"


def scripted(vectors):
    engine = ScriptedEngine()
    engine.vectors = vectors
    return engine


def answered(data):
    return PoolingRequestOutput(request_id="r", outputs=data, prompt_token_ids=[])


def test_vectors(make_app):
    output = PoolingRequestOutput(
        request_id="r", outputs=PoolingOutput(data=np.ones(2, np.float32)), prompt_token_ids=[1]
    )
    found = post(make_app(scripted(output)), PATH, {"input": "a"}).json()
    assert found["data"] == [{"object": "pooling", "index": 0, "data": [1.0, 1.0]}]


@pytest.mark.parametrize("data", [{"a": [1]}, None, "x"])
def test_data_goes_to_the_processor(make_app, data):
    engine = scripted(answered({"done": True}))
    found = post(make_app(engine), PATH, {"data": data, "request_id": "x"}).json()
    assert found["data"] == {"done": True}
    assert found["request_id"] == "pool-x"
    assert engine.asked == [({"data": data}, None, "pool-x", 0)]


def test_parameters_go_with_the_data(make_app):
    engine = scripted(answered(1))
    post(make_app(engine), PATH, {"data": 1, "normalize": True})
    assert engine.asked[0][1] == PoolingParams(normalize=True)


@pytest.mark.parametrize(
    "error, status", [(ParameterError("data", "wrong"), 400), (RequestFailedError("it raised"), 500)]
)
def test_errors_of_the_processor(make_app, error, status):
    assert post(make_app(scripted(error)), PATH, {"data": 1}).status == status


def test_an_answer_that_is_no_plain_data(make_app):
    reply = post(make_app(scripted(answered(object()))), PATH, {"data": 1})
    assert (reply.status, reply.error["code"]) == (500, "io_processor")
