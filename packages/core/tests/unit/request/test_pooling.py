from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.pooling import PoolingParams
from kernelet.errors import ParameterError
from kernelet.request.pooling import finish_vector, validate_pooling_params


def test_defaults_and_values_of_numpy():
    assert validate_pooling_params(None, 8) == PoolingParams(task="embed")
    given = PoolingParams(pooling="mean", dimensions=np.int64(8), normalize=np.bool_(True), task="plugin")
    found = validate_pooling_params(given, 8)
    assert found == PoolingParams(pooling="mean", dimensions=8, normalize=True, task="plugin")
    assert (type(found.dimensions), type(found.normalize)) == (int, bool)


@pytest.mark.parametrize(
    "params, says",
    [
        ({"dimensions": 9}, "dimensions: got 9.*from 1 to 8"),
        ({"dimensions": 0}, "dimensions: got 0"),
        ({"dimensions": True}, "dimensions: got True"),
        ({"dimensions": 2.0}, "dimensions: got 2.0"),
        ({"dimensions": math.nan}, "dimensions: got nan"),
        ({"normalize": 1}, "normalize: got 1"),
        ({"pooling": "cls"}, "pooling: got 'cls'.*one of last, mean"),
        ({"pooling": ["last"]}, "pooling: got"),
        ({"task": "classify"}, "task: got 'classify'.*one of embed, plugin"),
    ],
)
def test_what_is_wrong_is_named(params, says):
    with pytest.raises(ParameterError, match=f"^{says}") as raised:
        validate_pooling_params(PoolingParams(**params), 8)
    assert raised.value.parameter == next(iter(params))


@pytest.mark.parametrize("params", [{"pooling": "last"}, "last", 3])
def test_something_else_than_parameters(params):
    with pytest.raises(ParameterError, match=r"^pooling_params: got"):
        validate_pooling_params(params, 8)


@given(
    st.lists(st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False), min_size=1, max_size=20),
    st.integers(1, 20),
    st.booleans(),
)
def test_the_first_numbers_of_length_one(values, dimensions, normalize):
    params = PoolingParams(dimensions=min(dimensions, len(values)), normalize=normalize)
    found = finish_vector(np.array(values, dtype=np.float32).tobytes(), params)
    head = values[: params.dimensions]
    norm = math.sqrt(math.fsum(value * value for value in head)) if normalize else 1.0
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx([value / (norm or 1.0) for value in head], rel=1e-6, abs=1e-37)


def test_all_of_it_and_it_may_be_written_to():
    found = finish_vector(np.arange(3, dtype=np.float32).tobytes(), PoolingParams())
    found[0] = 7
    assert found.tolist() == [7, 1, 2]
