from __future__ import annotations

import json

import pytest

from kernelet.contracts.pooling import PoolingParams
from kernelet_server_openai.protocol.base import read_fields
from kernelet_server_openai.protocol.embeddings import MAX_INPUTS, EmbeddingRequest
from kernelet_server_openai.protocol.errors import ApiError


def request(**fields):
    return read_fields(EmbeddingRequest, json.dumps({"input": "x", **fields}).encode())


def test_parameters_come_through():
    found = request(pooling="mean", normalize=False, dimensions=8)
    assert found.pooling_params() == PoolingParams(pooling="mean", normalize=False, dimensions=8)
    assert found.asks_for_pooling
    assert not request().asks_for_pooling


@pytest.mark.parametrize(
    "fields, param",
    [
        ({"input": 1}, "input"),
        ({"input": ["x"] * (MAX_INPUTS + 1)}, "input"),
        ({"encoding_format": "int8"}, "encoding_format"),
        ({"dimensions": "8"}, "dimensions"),
        ({"truncate": 1}, "truncate"),
    ],
)
def test_wrong_values(fields, param):
    with pytest.raises(ApiError) as caught:
        request(**fields)
    assert caught.value.param == param
