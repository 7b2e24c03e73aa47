"""The worker of platforms that run models with torch."""

from __future__ import annotations

import gc
import io
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

import torch

from kernelet.contracts.attention import Attention
from kernelet.contracts.cache import CacheConfigPlan, FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.executor import (
    Control,
    EnginePlan,
    SamplePlan,
    Sleep,
    StepPlan,
    StepResult,
    TransfersKV,
    Worker,
    WorkerContext,
)
from kernelet.contracts.inspection import Inspect, Inspection
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.contracts.platform import Device, MeasuresMemory, MovesWeights, PlatformOffer, SharesHost
from kernelet.errors import PluginError
from kernelet.layers.context import SINGLE_RANK
from kernelet.loading.progress import Progress
from kernelet.sampling.custom import NamedProcessor
from kernelet.sampling.sampler import Sampler
from kernelet.worker.batch import BatchState
from kernelet.worker.dummy import dummy_arrays
from kernelet.worker.graphs import CAPTURED, DecodeGraphs, graph_plan
from kernelet.worker.inspection import inspect_model
from kernelet.worker.kv_cache import KVCaches
from kernelet.worker.kv_quantization import make_kv_quantization
from kernelet.worker.kv_transfer.transfer import KVTransfer, make_kv_transfer
from kernelet.worker.memory import activation_bytes, measured_bytes
from kernelet.worker.model import LoadedModel, load_model
from kernelet.worker.processors import make_processors
from kernelet.worker.ranks import join_ranks
from kernelet.worker.runner import ModelRunner, PendingStep
from kernelet.worker.sampling_op import select_sampling_ops
from kernelet.worker.sleeping import tensors_of
from kernelet.worker.steps import StepThread


class ModelWorker(Worker, Sleep, TransfersKV, Inspect):
    """Runs one rank of a model.

    A platform with a ``Device`` for torch names it as its worker, or a class that derives from it: one that overrides
    methods of ``Worker`` and calls them with ``super()``. What else is in here is not covered by the contract.

    Steps run on a thread of their own, unless the platform has the feature ``"streams"``. A step's model pass starts
    as soon as the step before is sampled, so up to ``depth`` plans may be handed over ahead.
    """

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._config = context.config
        self._plugins = context.plugins
        self._device = self._make_device()
        self._thread = StepThread(inline="streams" in context.platform.capabilities.features)
        self._waiting: deque[StepPlan] = deque()
        self._started: tuple[int, Future[PendingStep]] | None = None
        self._parallel = SINGLE_RANK
        self._processors: tuple[NamedProcessor, ...] = ()
        self._kv_transfer: KVTransfer | None = None
        self._bring_back: Callable[[], None] | None = None

    def init_device(self) -> None:
        self._thread.run(self._device.init)
        self._device.manual_seed(self._config.model.seed)
        self._parallel = self._thread.run(partial(join_ranks, self._context))

    def load_model(self) -> None:
        self._loaded: LoadedModel = self._thread.run(
            partial(
                load_model,
                self._config,
                self._plugins,
                self._device.tensor_device,
                self._device.packed_weights(),
                self._parallel,
            )
        )
        quantization = make_kv_quantization(self._config, self._plugins)
        self._caches = KVCaches(self._plugins, self._device.tensor_device, quantization)
        self._sampling, self._sampling_plans = select_sampling_ops(self._plugins, self._config.model.dtype)
        self._layers = tuple(self._loaded.model.attention_layers())
        self._attention: dict[str, Attention] = self._caches.select(self._layers)
        quantization.set_scales(self._layers, self._attention, self._loaded.cache_scales, warn=not self._parallel.rank)
        features = self._context.platform.capabilities.features
        self._graph_plan = graph_plan(self._config, features, self._caches.plans, self._attention)

    def get_kv_cache_spec(self) -> dict[str, FullAttentionSpec | SlidingWindowSpec]:
        return self._caches.specs(self._layers)

    def determine_available_memory(self) -> int:
        """What the device has left now that weights are loaded, less the largest step's activations.

        Those are measured where the device can. Pages of mapped files count as free where they are looked up, and are
        in use all the same.
        """
        free = self._device.memory().free
        return max(0, free - self._loaded.mapped_bytes - self._thread.run(self._activation_bytes))

    def _activation_bytes(self) -> int:
        model, device = self._loaded.model, self._device
        if not isinstance(device, MeasuresMemory):
            return activation_bytes(model, self._config)
        return measured_bytes(device, self._config, model, self._caches, self._layers, self._attention)

    def initialize_from_config(self, cache: CacheConfigPlan) -> None:
        self._cache_plan = cache
        self._caches.allocate(self._layers, self._attention, cache)
        model, scheduler = self._config.model, self._config.scheduler
        self._processors = make_processors(self._config.plugins.logits_processors, self._plugins, model.vocab_size)
        sampler = Sampler(model.vocab_size, torch.device(self._device.tensor_device), self._processors, self._sampling)
        batch = BatchState([group.spec for group in cache.groups], scheduler.max_num_seqs, model.max_model_len, sampler)
        self._runner = ModelRunner(
            self._loaded.model, self._caches, sampler, batch, self._device.tensor_device, self._parallel
        )
        self._block_sizes = tuple(group.spec.block_size for group in cache.groups)

    def compile_or_warm_up_model(self) -> None:
        self._thread.run(self._warm_up)
        self._thread.run(self._capture)

    def _warm_up(self) -> None:
        """One token through the model, in a block that is nobody's yet: libraries make their kernels at first use."""
        with torch.inference_mode():
            self._loaded.model.compute_logits(self._runner.forward(dummy_arrays([1], self._block_sizes)))
        self._device.synchronize()

    def _capture(self) -> None:
        if self._graph_plan is None or self._graph_plan.choice != CAPTURED:
            return
        graphs = DecodeGraphs(self._device, self._loaded.model, self._caches, self._block_sizes, self._config)
        graphs.capture(Progress("", 0, io.StringIO()) if self._parallel.rank else None)  # one bar is enough
        self._runner.graphs = graphs

    def get_plan(self) -> EnginePlan:
        model = self._config.model
        return EnginePlan(
            architecture=model.architecture,
            row=self._loaded.row,
            dtype=model.dtype,
            platform=self._context.platform.name,
            layers=(*self._loaded.plans, *self._sampling_plans, *self._caches.plans, *filter(None, [self._graph_plan])),
            max_model_len=model.max_model_len,
            weight_bytes=self._loaded.weight_bytes,
            quantization=model.quantization or "",
            kv_cache_dtype=self._config.cache.dtype,
            weights_digest=self._loaded.digest,
        )

    def inspect(self) -> Inspection:
        return self._thread.run(partial(inspect_model, self._config, self._plugins, self._device.tensor_device))

    def start_kv_transfer(self, start: KVStart) -> KVStarted:
        return self._thread.run(partial(self._start_kv_transfer, start))

    def _start_kv_transfer(self, start: KVStart) -> KVStarted:
        transfer = self._kv_transfer = make_kv_transfer(
            self._context, start, self._cache_plan, self._layers, self._attention, self._caches
        )
        transfer.attach(self._warm_up)
        self._runner.kv_transfer = transfer
        return transfer.started()

    def execute_model(self, plan: StepPlan) -> None:
        self._waiting.append(plan)
        if self._started is None:
            self._start_next()

    def sample(self, plan: SamplePlan) -> StepResult:
        """Finishes the oldest step in flight.

        Raises:
            RuntimeError: if that is another step, or none is in flight.
        """
        if self._started is None or self._started[0] != plan.step:
            oldest = "none" if self._started is None else f"step {self._started[0]}"
            raise RuntimeError(f"asked to sample step {plan.step}, but the oldest in flight is {oldest}")
        pending, self._started = self._started[1], None
        # on the same thread, so that the pass is over when this runs: nobody has to wake up in between
        result = self._thread.submit(lambda: self._runner.sample(pending.result(), plan))
        if self._waiting:
            self._start_next()
        return result.result()

    def sleep(self, level: int) -> None:
        self._stop_kv_transfer()
        self._caches.release(self._layers, self._attention)
        self._processors = ()
        del self._runner
        device = self._device
        if level > 1:
            del self._loaded, self._layers, self._attention, self._caches, self._sampling
        elif isinstance(device, MovesWeights):
            own = (self._plugins, self._context, self._config)
            self._bring_back = device.offload(tensors_of(self._loaded.model, device.tensor_device, own))
        if isinstance(device, MovesWeights):
            gc.collect()
            device.release()

    def wake_up(self) -> None:
        if self._bring_back is not None:
            self._bring_back()
            self._bring_back = None
        elif not hasattr(self, "_loaded"):
            self.load_model()
        self.initialize_from_config(self._cache_plan)
        self._thread.run(self._capture)

    def control(self, plugin: str, name: str, payload: bytes) -> Sequence[bytes]:
        called = [one.processor for one in self._processors if one.plugin == plugin]
        controls = [one for one in called if isinstance(one, Control)]
        return self._thread.run(lambda: [one.control(name, payload) for one in controls])

    def shutdown(self) -> None:
        self._stop_kv_transfer()
        if self._parallel.communicator is not None:
            self._thread.run(self._parallel.communicator.close)
        self._thread.close()
        self._device.close()

    def _stop_kv_transfer(self) -> None:
        transfer, self._kv_transfer = self._kv_transfer, None
        if transfer is not None:
            self._thread.run(transfer.shutdown)

    def _start_next(self) -> None:
        plan = self._waiting.popleft()
        self._started = (plan.step, self._thread.submit(partial(self._runner.execute, plan)))

    def _make_device(self) -> Device:
        owned = self._plugins.select(PlatformOffer, self._context.platform.name).chosen
        device: object = self._plugins.load(owned)(self._plugins.settings(owned.plugin), self._context.local_rank)
        if not isinstance(device, Device):
            raise PluginError(f"{owned.plugin}: {owned.offer.target} of offer {owned.offer.name!r} is no Device")
        if self._context.local_size > 1 and isinstance(device, SharesHost):
            device.share_host(self._context.local_size)
        return device
