"""Configurations and parameters, as operators and clients give them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from kernelet.config import CacheConfig, EngineConfig, ModelConfig, ParallelConfig, SchedulerConfig
from kernelet.contracts.sampling import SamplingParams


def engine_config(dtype: str) -> EngineConfig:
    """An engine of one rank with usual sizes, for a model of no architecture in particular."""
    return EngineConfig(
        model=ModelConfig(
            model="test",
            path="",
            architecture="AnyForCausalLM",
            hf_config={"architectures": ["AnyForCausalLM"], "vocab_size": 1000, "hidden_size": 64},
            dtype=dtype,
            vocab_size=1000,
            max_model_len=2048,
            num_layers=2,
        )
    )


def engine_configs(dtypes: tuple[str, ...]) -> st.SearchStrategy[EngineConfig]:
    """Strategy over configurations, one rank or several."""

    def make(
        dtype: str, block_size: int, seqs: int, tokens: int, ranks: int, utilization: float, caching: bool
    ) -> EngineConfig:
        return replace(
            engine_config(dtype),
            cache=CacheConfig(block_size=block_size, memory_utilization=utilization, enable_prefix_caching=caching),
            scheduler=SchedulerConfig(max_num_seqs=seqs, max_num_batched_tokens=tokens),
            parallel=ParallelConfig(tensor_parallel_size=ranks),
        )

    return st.builds(
        make,
        dtype=st.sampled_from(dtypes),
        block_size=st.sampled_from([1, 8, 12, 16, 32, 128]),
        seqs=st.sampled_from([1, 7, 64, 1024]),
        tokens=st.sampled_from([1, 100, 2048, 1 << 16]),
        ranks=st.sampled_from([1, 1, 1, 2, 8]),
        utilization=st.sampled_from([0.1, 0.5, 0.95]),
        caching=st.booleans(),
    )


def sampling_params() -> st.SearchStrategy[SamplingParams]:
    """Strategy over parameters that the core has let through."""
    return st.builds(
        SamplingParams,
        n=st.integers(1, 4),
        temperature=st.sampled_from([0.0, 0.7, 1.0, 2.0]),
        top_p=st.sampled_from([1.0, 0.9]),
        top_k=st.sampled_from([0, -1, 40]),
        min_p=st.sampled_from([0.0, 0.1]),
        repetition_penalty=st.sampled_from([1.0, 1.2]),
        seed=st.none() | st.integers(0, 2**63 - 1),
        max_tokens=st.none() | st.integers(0, 100_000),
        stop=st.sampled_from([(), ("x",)]),
        logit_bias=st.none() | st.just({1: -100.0, 999: 5.0}),
        allowed_token_ids=st.none() | st.just([1, 2, 3]),
        logprobs=st.none() | st.integers(-1, 20),
        prompt_logprobs=st.none() | st.integers(0, 5),
        extra_args=st.none() | st.just({"some-plugin": {"some": "argument"}}),
    )
