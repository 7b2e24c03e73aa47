from __future__ import annotations

from kernelet.config import CacheConfig
from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.harness import null_core, null_engine_config, null_request
from kernelet.testing.null.tokens import generate


def test_a_core_that_generates():
    config = null_engine_config(max_model_len=64, cache=CacheConfig(block_size=4))
    core, executor = null_core(config)
    core.add_request(null_request("r", [1, 2], 5))
    tokens = []
    while core.has_unfinished():
        tokens += [token for output in core.step() for token in output.token_ids]
    assert tokens == generate([1, 2], SamplerParams(seed=0, temperature=0.0), 260, 5)
    assert executor.plans[0].new[0].request_id == "r"
    executor.check_health()
    executor.shutdown()
    assert executor.start().max_model_len == 64
