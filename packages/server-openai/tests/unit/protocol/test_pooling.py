from __future__ import annotations

import pytest

from kernelet_server_openai.protocol.base import read_fields
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.pooling import PoolingRequest


@pytest.mark.parametrize(
    "body",
    [
        b'{"input": "x"}',
        b'{"data": {}}',
        b'{"data": null}',
        b'{"input": null, "data": 1}',
        b'{"input": "x", "data": null}',
    ],
)
def test_input_or_data(body):
    read_fields(PoolingRequest, body).check()


@pytest.mark.parametrize("body", [b"{}", b'{"input": "x", "data": 1}', b'{"input": null}'])
def test_not_both_and_not_neither(body):
    with pytest.raises(ApiError, match="either input"):
        read_fields(PoolingRequest, body).check()
