from __future__ import annotations

import base64

import numpy as np
import pytest
from asgi_calls import post
from scripted_engine import ScriptedEngine

from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.errors import EngineDeadError, ParameterError, PromptError, RequestError
from kernelet_server_openai.protocol.embeddings import EmbeddingResponse
from kernelet_server_openai.serving.embeddings import vector

PATH = "/v1/embeddings"
VECTOR = np.array([0.25, -1.5, 3.0], np.float32)
OUTPUT = PoolingRequestOutput(request_id="r", outputs=PoolingOutput(data=VECTOR), prompt_token_ids=[1, 2])


def scripted(vectors=OUTPUT):
    engine = ScriptedEngine()
    engine.vectors = vectors
    return engine


def test_vectors_of_several_texts(make_app):
    engine = scripted()
    found = post(
        make_app(engine), PATH, {"input": ["a", "b"], "dimensions": 3, "priority": 1, "request_id": "x"}
    ).json()
    EmbeddingResponse.model_validate(found)
    assert [one["embedding"] for one in found["data"]] == [[0.25, -1.5, 3.0]] * 2
    assert [one["index"] for one in found["data"]] == [0, 1]
    assert found["usage"] == {"prompt_tokens": 4, "total_tokens": 4}
    expected = PoolingParams(dimensions=3)
    assert engine.asked == [({"prompt": "a"}, expected, "embd-x-0", 1), ({"prompt": "b"}, expected, "embd-x-1", 1)]


def test_base64_is_what_the_numbers_are():
    packed = vector(OUTPUT, "base64")
    assert np.array_equal(np.frombuffer(base64.b64decode(packed), "<f4"), VECTOR)
    assert vector(OUTPUT, "float") == vector(OUTPUT, None) == [0.25, -1.5, 3.0]


@pytest.mark.parametrize(
    "error, status, param",
    [
        (ParameterError("dimensions", "got 9"), 400, "dimensions"),
        (PromptError("empty"), 400, "input"),
        (RequestError("gives no embeddings"), 400, None),
        (EngineDeadError("it stopped"), 503, None),
        (KeyError("secret"), 500, None),
    ],
)
def test_errors_of_the_engine(make_app, error, status, param):
    reply = post(make_app(scripted(error)), PATH, {"input": ["a", "b"]})
    assert (reply.status, reply.error["param"]) == (status, param)
