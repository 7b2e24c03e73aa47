"""Wrong platforms: the null platform, and the reference on the host, with one mistake each. Imports no torch."""

from __future__ import annotations

import functools
import importlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kernelet.config import EngineConfig
from kernelet.contracts.executor import EnginePlan, SamplePlan, StepResult
from kernelet.contracts.lifecycle import ConfigChange
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import PackedWeights
from kernelet.contracts.platform import Capabilities, MemoryInfo, PlatformOffer, Probe
from kernelet.contracts.sampling import SamplingParams
from kernelet.hookspecs import hookimpl
from kernelet.testing.faults import Fault
from kernelet.testing.null import NullPlugin, write_model
from kernelet.testing.null.platform import NullConfig, NullDevice
from kernelet.testing.null.platform import probe as null_probe
from kernelet.testing.null.worker import NullWorker
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.platform.base import PlatformCapabilities
from kernelet.testing.platform.reference import ReferenceDevice, ReferencePlugin
from kernelet.testing.platform.suite import PlatformSuite

LONG = 600.0
SLOW = 1.5


def null_suite(changes: Mapping[str, Any], probe_seconds: float = 60.0) -> type[PlatformSuite]:
    """The suite of the null platform, whose offer names something else.

    Args:
        changes: Import strings, by field of the offer.
        probe_seconds: What the probe may take.
    """

    class Changed(NullPlugin):
        @hookimpl
        def kernelet_platforms(self) -> tuple[PlatformOffer, ...]:
            return tuple(replace(offer, **changes) for offer in super().kernelet_platforms())

    found = functools.cache(lambda: find_offer(Changed(), PlatformOffer))

    class Faulty(PlatformSuite):
        capabilities = PlatformCapabilities(torch=False, probe_seconds=probe_seconds)

        @pytest.fixture
        def offered(self) -> Offered[PlatformOffer]:
            return found()

        @pytest.fixture
        def plugins(self) -> Sequence[object]:
            return (Changed(),)

        @pytest.fixture
        def checkpoint(self, tmp_path: Path) -> Path:
            return write_model(tmp_path / "null")

    return Faulty


def reference_suite(device: type[ReferenceDevice] = ReferenceDevice) -> type[PlatformSuite]:
    """The suite of the platform on the host, with another device."""

    class Changed(ReferencePlugin):
        @hookimpl
        def kernelet_platforms(self) -> Sequence[PlatformOffer]:
            target = f"{device.__module__}:{device.__qualname__}"
            return tuple(replace(offer, target=target) for offer in super().kernelet_platforms())

    found = functools.cache(lambda: find_offer(Changed(), PlatformOffer))

    class Faulty(PlatformSuite):
        capabilities = PlatformCapabilities(dtype="", probe_seconds=60.0)

        @pytest.fixture
        def offered(self) -> Offered[PlatformOffer]:
            return found()

        @pytest.fixture
        def plugins(self) -> Sequence[object]:
            return (Changed(),)

    return Faulty


# --- probes --------------------------------------------------------------------------------------


def with_torch() -> Probe:
    """Asks torch for the device."""
    return replace(null_probe(), reason=f"torch {importlib.import_module('torch').__version__} is there")


def without_reason() -> Probe:
    """Says that it is there, and no more."""
    return replace(null_probe(), reason="")


def slow() -> Probe:
    """Waits for something that does not come."""
    time.sleep(SLOW)
    return null_probe()


def watching() -> Probe:
    """Starts something that goes on."""
    threading.Thread(target=time.sleep, args=(LONG,), daemon=True).start()
    return null_probe()


# --- configuration -------------------------------------------------------------------------------


class NoMemory(NullConfig):
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), memory_bytes=0)


class Mebibytes(NullConfig):
    def capabilities(self) -> Capabilities:
        found = super().capabilities()
        return replace(found, memory_bytes=found.memory_bytes >> 20)


class UnknownPath(NullConfig):
    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        return (ConfigChange(path="cache.blocksize", value=32, reason="blocks of 32 are faster"),)


class InPlace(NullConfig):
    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        object.__setattr__(config.cache, "block_size", 2 * config.cache.block_size)
        return ()


class NeverContent(NullConfig):
    def check_and_update_config(self, config: EngineConfig) -> Sequence[ConfigChange]:
        more = config.scheduler.max_num_seqs + 1
        return (ConfigChange(path="scheduler.max_num_seqs", value=more, reason="more is better"),)


class RefusesOtherwise(NullConfig):
    def validate_request(self, prompt_len: int, params: SamplingParams) -> None:
        if params.logit_bias:
            raise KeyError("logit_bias")


class UnknownAttention(NullConfig):
    def attention_order(self) -> tuple[str, ...]:
        return ("attention-of-tomorrow",)


# --- devices -------------------------------------------------------------------------------------


class TakenAtOnce(NullDevice):
    def __init__(self, settings: Settings, local_rank: int) -> None:
        super().__init__(settings, local_rank)
        threading.Thread(target=time.sleep, args=(LONG,), daemon=True).start()


class MoreFreeThanThereIs(NullDevice):
    def memory(self) -> MemoryInfo:
        return MemoryInfo(total=self._memory, free=self._memory + 1)


class IgnoresSeed(ReferenceDevice):
    def manual_seed(self, seed: int) -> None:
        """Leaves the generator as it is."""


class CopiesAtOnce(ReferenceDevice):
    """A copy takes what the source holds when it is waited for."""

    def __init__(self, settings: Settings, local_rank: int) -> None:
        super().__init__(settings, local_rank)
        self._copies: list[tuple[Any, Any]] = []

    def copy_async(self, source: Any, destination: Any) -> None:
        self._copies.append((source, destination))

    def synchronize(self) -> None:
        for source, destination in self._copies:
            destination.copy_(source)
        self._copies.clear()


class Pigeonholes(PackedWeights):
    """Has one place, whatever the key."""

    def __init__(self) -> None:
        self.kept: Mapping[str, Any] | None = None

    def load(self, key: str) -> Mapping[str, Any] | None:
        return self.kept

    def save(self, key: str, tensors: Mapping[str, Any]) -> None:
        self.kept = tensors


class Rounding(Pigeonholes):
    """Keeps 8 bits."""

    def load(self, key: str) -> Mapping[str, Any] | None:
        return self.kept if key == "one" else None

    def save(self, key: str, tensors: Mapping[str, Any]) -> None:
        self.kept = {name: tensor // 256 * 256 for name, tensor in tensors.items()}


class OnePlace(ReferenceDevice):
    kept = Pigeonholes()

    def packed_weights(self) -> PackedWeights:
        return self.kept


class Rounds(ReferenceDevice):
    kept = Rounding()

    def packed_weights(self) -> PackedWeights:
        return self.kept


class Once(Rounding):
    """Is of no use once it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def load(self, key: str) -> Mapping[str, Any] | None:
        if self.closed:
            raise ValueError("it is closed")
        return None

    def close(self) -> None:
        self.closed = True


class LoadsOnce(ReferenceDevice):
    def init(self) -> None:
        super().init()
        self.kept = Once()

    def packed_weights(self) -> PackedWeights:
        return self.kept


class ReplaysNothing(ReferenceDevice):
    def capture(self, fn: Callable[[], None]) -> Callable[[], None] | None:
        fn()
        return lambda: None


class ReplaysOnce(ReferenceDevice):
    """Computes a graph again in the first replays only."""

    def capture(self, fn: Callable[[], None]) -> Callable[[], None] | None:
        fn()
        left = iter((fn, fn))  # as many as the test of one graph asks for

        def replay() -> None:
            for again in left:
                again()
                break

        return replay


class LosesWeights(ReferenceDevice):
    def offload(self, tensors: Sequence[Any]) -> Callable[[], None]:
        super().offload(tensors)
        return lambda: None


class ChangesDefaultDtype(ReferenceDevice):
    def init(self) -> None:
        torch = importlib.import_module("torch")
        torch.set_default_dtype(torch.bfloat16)

    def close(self) -> None:
        torch = importlib.import_module("torch")
        torch.set_default_dtype(torch.float32)


# --- workers -------------------------------------------------------------------------------------


def _shifted(result: StepResult, vocab_size: int) -> StepResult:
    """Other tokens."""
    requests = tuple(
        msgspec.structs.replace(one, token_ids=[(token + 1) % vocab_size for token in one.token_ids])
        for one in result.requests
    )
    return msgspec.structs.replace(result, requests=requests)


class DependsOnBatch(NullWorker):
    def sample(self, plan: SamplePlan) -> StepResult:
        result = super().sample(plan)
        return _shifted(result, self._model.vocab_size) if len(result.requests) > 1 else result


class SharesTurns(NullWorker):
    """Something of the process remembers which worker was the last."""

    turn = 0

    def sample(self, plan: SamplePlan) -> StepResult:
        result, mine = super().sample(plan), type(self).turn == id(self)
        type(self).turn = id(self)
        return result if mine else _shifted(result, self._model.vocab_size)


class DropsResults(NullWorker):
    def sample(self, plan: SamplePlan) -> StepResult:
        result = super().sample(plan)
        return msgspec.structs.replace(result, requests=tuple(one for one in result.requests if one.token_ids))


class NamesAnother(NullWorker):
    def get_plan(self) -> EnginePlan:
        return msgspec.structs.replace(super().get_plan(), platform="zero")


_HERE = f"{__name__}:"
_NULL: tuple[tuple[str, dict[str, str], str], ...] = (
    ("probes-with-torch", {"probe": "with_torch"}, "must import no torch, as every process imports them"),
    ("gives-no-reason", {"probe": "without_reason"}, "a Probe must say why the platform is there or not"),
    ("leaves-a-thread", {"probe": "watching"}, "a probe must leave nothing behind"),
    ("states-no-memory", {"config": "NoMemory"}, "`memory_bytes` of the capabilities must be what the device"),
    ("counts-in-mebibytes", {"config": "Mebibytes"}, "must both be bytes of the device"),
    ("changes-what-is-not-there", {"config": "UnknownPath"}, "must return ConfigChanges that can be applied"),
    ("changes-in-place", {"config": "InPlace"}, "check_and_update_config() must return changes, not make them"),
    ("always-wants-more", {"config": "NeverContent"}, "check_and_update_config() must have no wish left"),
    ("refuses-with-another-error", {"config": "RefusesOtherwise"}, "must refuse with a RequestError"),
    ("prefers-unknown-attention", {"config": "UnknownAttention"}, "must name attention that is installed"),
    ("takes-the-device-too-early", {"target": "TakenAtOnce"}, "making a Device must touch nothing before init()"),
    ("has-more-free-than-there-is", {"target": "MoreFreeThanThereIs"}, "and never above `total`"),
    ("depends-on-the-batch", {"worker": "DependsOnBatch"}, "a request's tokens must not depend on the others"),
    ("shares-state-between-workers", {"worker": "SharesTurns"}, "two workers in one process must share nothing"),
    ("drops-results", {"worker": "DropsResults"}, "a StepResult must have one entry for each scheduled request"),
    ("names-another-platform", {"worker": "NamesAnother"}, "`platform` of get_plan() must be the offer's name"),
)
_REFERENCE: tuple[tuple[str, type[ReferenceDevice], str], ...] = (
    ("ignores-the-seed", IgnoresSeed, "manual_seed() must seed the device's generator"),
    ("copies-out-of-order", CopiesAtOnce, "copy_async() must be ordered with later work"),
    ("keeps-weights-in-one-place", OnePlace, "packed_weights() must find nothing under a key that is new"),
    ("rounds-kept-weights", Rounds, "packed_weights() must give back what was saved under that key"),
    ("loads-once", LoadsOnce, "packed_weights() must serve a second load of the model"),
    ("replays-nothing", ReplaysNothing, "a replay must compute again"),
    ("replays-once", ReplaysOnce, "steps that are replayed must give the tokens of those that are launched"),
    ("loses-weights", LosesWeights, "offload() must return what brings tensors back"),
    ("changes-the-default-dtype", ChangesDefaultDtype, "init() must leave torch's default dtype alone"),
)

FAULTS = (
    *(
        Fault(name=name, suite=null_suite({field: f"{_HERE}{target}" for field, target in changes.items()}), says=says)
        for name, changes, says in _NULL
    ),
    Fault(
        name="probes-slowly", suite=null_suite({"probe": f"{_HERE}slow"}, SLOW / 2), says="a probe must answer within"
    ),
    *(Fault(name=name, suite=reference_suite(device), says=says) for name, device, says in _REFERENCE),
)
