from __future__ import annotations

from hypothesis import find, given

from kernelet.contracts.sampling import SamplingParams
from kernelet.testing.platform.configs import engine_config, engine_configs, sampling_params


def test_the_usual_configuration_has_one_rank():
    config = engine_config("float32")
    assert config.model.dtype == "float32"
    assert config.parallel.tensor_parallel_size == 1


def test_configurations_differ_in_what_platforms_look_at():
    strategy = engine_configs(("float32", "bfloat16"))
    assert find(strategy, lambda config: config.parallel.tensor_parallel_size > 1)
    assert find(strategy, lambda config: config.cache.block_size % 16)
    assert find(strategy, lambda config: config.model.dtype == "bfloat16")


@given(params=sampling_params())
def test_parameters_are_those_of_requests(params):
    assert type(params) is SamplingParams
    assert params.n >= 1
