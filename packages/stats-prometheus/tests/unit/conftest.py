from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import CacheInfo, EngineInfo, FinishedRequest, PluginInfo


@pytest.fixture
def make_engine():
    def make_engine(**changes):
        facts = {
            "model": "acme/small",
            "architecture": "AcmeForCausalLM",
            "dtype": "bfloat16",
            "max_model_len": 100,
            "platform": "cpu",
            "max_num_seqs": 8,
            "max_num_batched_tokens": 64,
            "enable_prefix_caching": True,
            "caches": (CacheInfo(kind="full", block_size=16, num_blocks=50),),
            "plugins": (PluginInfo(name="core", distribution="kernelet-core", version="1.2"),),
        }
        return EngineInfo(**facts | changes)

    return make_engine


@pytest.fixture
def settings():
    return lambda names="kernelet": Settings(plugin="stats-prometheus", values={"names": names})


@pytest.fixture
def request_of():
    def request_of(**values):
        made = {
            "request_id": "r",
            "finish_reason": "stop",
            "num_prompt_tokens": 7,
            "num_output_tokens": 5,
            "num_cached_tokens": 0,
            "num_preemptions": 0,
            "queue_s": 0.5,
            "first_token_s": 2.0,
            "total_s": 4.0,
            "max_tokens": 20,
        }
        return FinishedRequest(**made | values)

    return request_of


@pytest.fixture
def samples():
    """What a scrape says, read by the client library's own parser: (name, further labels) to value."""

    def samples(logger):
        text = logger.exposition().body.decode()
        return {
            (
                one.name,
                *(value for name, value in one.labels.items() if name not in {"model_name", "engine"}),
            ): one.value
            for family in text_string_to_metric_families(text)
            for one in family.samples
        }

    return samples
