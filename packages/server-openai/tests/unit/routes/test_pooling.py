from __future__ import annotations

from asgi_calls import post


def test_vectors_of_an_engine(make_app, engine):
    app = make_app(engine)
    pooled = post(app, "/pooling", {"input": "abc"}).json()["data"][0]["data"]
    assert pooled == post(app, "/v1/embeddings", {"input": "abc"}).json()["data"][0]["embedding"]


def test_data_without_a_processor(make_app, engine):
    reply = post(make_app(engine), "/pooling", {"data": {"a": 1}})
    assert (reply.status, reply.error["param"]) == (400, "data")
    assert "--io-processor-plugin" in reply.error["message"]


def test_neither_input_nor_data(make_app, engine):
    assert post(make_app(engine), "/pooling", {}).error["param"] == "input"
