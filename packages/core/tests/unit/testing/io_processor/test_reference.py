from __future__ import annotations

import math

import numpy as np
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.pooling import PoolingOutput, PoolingRequestOutput
from kernelet.errors import ParameterError
from kernelet.testing.io_processor.reference import Distances
from kernelet.testing.io_processor.vectors import make_context

PROCESSOR = Distances(Settings(plugin="p"), make_context({}, 3))


def test_distances():
    data = PROCESSOR.parse_data({"texts": ["a", "b"]})
    vectors = ([0.0, 1.0, 2.0], [2.0, 1.0, 1.0])
    outputs = [
        PoolingRequestOutput(
            request_id="r", outputs=PoolingOutput(data=np.array(one, dtype=np.float32)), prompt_token_ids=[1]
        )
        for one in vectors
    ]
    assert PROCESSOR.pre_process(data) == ["a", "b"]
    assert PROCESSOR.post_process(data, outputs) == {"distances": [[0.0, math.sqrt(5)], [math.sqrt(5), 0.0]]}


@pytest.mark.parametrize(
    "data, names",
    [
        (None, "data"),
        ({}, "data"),
        ({"texts": ["a"], "more": 1}, "data"),
        ({"texts": "a"}, "texts"),
        ({"texts": []}, "texts"),
        ({"texts": ["a"] * 101}, "texts"),
        ({"texts": [""]}, "texts"),
        ({"texts": [None]}, "texts"),
    ],
)
def test_what_it_refuses(data, names):
    with pytest.raises(ParameterError) as raised:
        PROCESSOR.parse_data(data)
    assert raised.value.parameter == names
