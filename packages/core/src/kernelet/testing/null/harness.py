"""An engine core on the null worker, without plugins or processes, for tests of the scheduler and the cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from kernelet.cache.sizing import plan_cache
from kernelet.config import CacheConfig, EngineConfig, ModelConfig, SchedulerConfig
from kernelet.contracts.executor import EnginePlan, Executor, SamplePlan, StepPlan, StepResult, WorkerContext
from kernelet.contracts.platform import Capabilities, PlatformChoice
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.sampling import SamplerParams
from kernelet.engine.core import EngineCore
from kernelet.request.request import EngineRequest
from kernelet.testing.null.model import FULL, null_config
from kernelet.testing.null.tokens import STATE_SIZE
from kernelet.testing.null.worker import NullWorker

NO_PLUGINS = cast("PluginView", None)
"""The harness sizes the cache itself, so that the worker asks no plugin anything."""


class NullExecutor(Executor):
    """Runs the null worker in place, and keeps the plans that it was given."""

    def __init__(self, config: EngineConfig, platform: PlatformChoice, plugins: PluginView) -> None:
        self._config = config
        self._worker = NullWorker(WorkerContext(config=config, platform=platform, plugins=plugins))
        self.plans: list[StepPlan] = []

    def start(self) -> EnginePlan:
        cache = plan_cache(self._worker.get_kv_cache_spec(), self._config, 1 << 26)
        self._worker.initialize_from_config(cache)
        plan = self._worker.get_plan()
        return EnginePlan(
            architecture=plan.architecture,
            row=plan.row,
            dtype=plan.dtype,
            platform=plan.platform,
            layers=plan.layers,
            cache=cache,
            max_model_len=plan.max_model_len,
        )

    def execute_model(self, plan: StepPlan) -> None:
        self.plans.append(plan)
        self._worker.execute_model(plan)

    def sample(self, plan: SamplePlan) -> StepResult:
        return self._worker.sample(plan)

    def check_health(self) -> None:
        """It cannot die."""

    def shutdown(self) -> None:
        """Nothing runs."""


def null_engine_config(
    *,
    layer_types: Sequence[str] = (FULL,),
    window: int | None = None,
    vocab_size: int = 260,
    max_model_len: int = 4096,
    cache: CacheConfig | None = None,
    scheduler: SchedulerConfig | None = None,
) -> EngineConfig:
    """A configuration of the null model."""
    hf_config = null_config(layer_types=layer_types, window=window, vocab_size=vocab_size, max_model_len=max_model_len)
    model = ModelConfig(
        model="null",
        path="",
        architecture="NullForCausalLM",
        hf_config=hf_config,
        dtype="float32",
        vocab_size=vocab_size,
        max_model_len=max_model_len,
        num_layers=len(layer_types),
        hidden_size=STATE_SIZE,
    )
    return EngineConfig(model=model, cache=cache or CacheConfig(), scheduler=scheduler or SchedulerConfig())


def null_core(config: EngineConfig, **options: Any) -> tuple[EngineCore, NullExecutor]:
    """An engine core with a started executor; options are those of ``EngineCore``."""
    capabilities = Capabilities(device_type="null", dtypes=("float32",), memory_bytes=1 << 26)
    executor = NullExecutor(config, PlatformChoice(name="null", capabilities=capabilities), NO_PLUGINS)
    cache = executor.start().cache
    assert cache is not None
    return EngineCore(config, executor, cache, **options), executor


def null_request(
    request_id: str, prompt: Sequence[int], max_tokens: int = 16, *, params: SamplerParams | None = None, **fields: Any
) -> EngineRequest:
    """A request, greedy unless ``params`` says otherwise."""
    return EngineRequest(
        request_id=request_id,
        prompt_token_ids=list(prompt),
        params=params or SamplerParams(seed=0, temperature=0.0),
        max_tokens=max_tokens,
        **fields,
    )
