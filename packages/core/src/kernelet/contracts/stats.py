"""What stat loggers receive: one snapshot a step, one record a finished request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    from kernelet.contracts.serving import Exposition


class StepStats(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the engine. Counters count this step only; gauges are as of its end.

    Attributes:
        step: Number of the step.
        num_running: Requests that are scheduled or preemptible.
        num_waiting: Requests that wait.
        num_prefill_tokens: Prompt tokens computed (recomputed ones included).
        num_decode_tokens: Tokens generated.
        num_prefill_requests: Requests that computed prompt tokens.
        num_decode_requests: Requests that decoded.
        num_chunked: Prefills that were cut by the token budget.
        num_preempted: Requests preempted.
        prefix_queries: Prompt tokens looked up in the prefix index.
        prefix_hits: Prompt tokens found there.
        cache_usage: Share of blocks in use, 0 to 1, of the fullest group.
        seconds: Duration of the step.
        num_done_prompt_tokens: Prompt tokens, cached ones included, of requests whose prompt is done; once a request.
        first_token_s: Seconds from arrival to first token, of each request that got its first.
        inter_token_s: Seconds since its last token, of each request that got a further one.
        num_waiting_remote: Those of ``num_waiting`` that wait for a KV connector. Since stats 2.2, as what follows.
        waiting_remote_s: For how many seconds the one has that waits longest.
        external_queries: Tokens that KV connectors were asked for.
        external_hits: Tokens that they loaded.
        num_loads: Loads that brought something.
        load_failures: Loads and handovers that failed, by kind: ``"timeout"``, ``"short"`` (less came than was
            promised), ``"unconfirmed"`` (a step ended without the word of its load), ``"handover_timeout"``,
            ``"connector_off"`` (their connector failed, and was switched off).
        kv_connectors: What connectors counted, by their name; over all ranks.
        kv_connectors_off: Those that failed and are switched off. Since stats 2.3.
        num_forced_tokens: Those of ``num_decode_tokens`` that a constraint left no choice about, and that were appended
            without a step of their own. Since stats 2.3.
    """

    step: int
    num_running: int
    num_waiting: int
    num_prefill_tokens: int = 0
    num_decode_tokens: int = 0
    num_prefill_requests: int = 0
    num_decode_requests: int = 0
    num_chunked: int = 0
    num_preempted: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    cache_usage: float = 0.0
    seconds: float = 0.0
    num_done_prompt_tokens: int = 0
    first_token_s: tuple[float, ...] = ()
    inter_token_s: tuple[float, ...] = ()
    num_waiting_remote: int = 0
    waiting_remote_s: float = 0.0
    external_queries: int = 0
    external_hits: int = 0
    num_loads: int = 0
    load_failures: dict[str, int] = {}
    kv_connectors: dict[str, dict[str, float]] = {}
    kv_connectors_off: tuple[str, ...] = ()
    num_forced_tokens: int = 0


class FinishedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One finished choice. Times in seconds from its arrival.

    Attributes:
        finish_reason: ``"stop"``, ``"length"``, ``"abort"`` or ``"error"``.
        queue_s: Until it was first scheduled.
        first_token_s: Until its first token; None: there was none.
        total_s: Until it ended.
        max_tokens: Most tokens that it might have.
    """

    request_id: str
    finish_reason: str
    num_prompt_tokens: int
    num_output_tokens: int
    num_cached_tokens: int
    num_preemptions: int
    queue_s: float
    first_token_s: float | None
    total_s: float
    max_tokens: int = 0


class CacheInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One group of layers that share block tables.

    Attributes:
        kind: Kind of state, e.g. ``"full"``.
        block_size: Tokens a block.
        num_blocks: Blocks, the null block included.
    """

    kind: str
    block_size: int
    num_blocks: int


class PluginInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin that the engine runs.

    Attributes:
        distribution: Where it comes from; empty for one that a script handed over.
    """

    name: str
    distribution: str
    version: str


class EngineInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The engine whose statistics a logger receives: what labels and one-time metrics say.

    Attributes:
        model: The model's name as the user gave it.
        index: Number of the engine among those that serve the model, from 0.
        architecture: The entry of ``architectures`` in config.json.
        dtype: Compute dtype.
        max_model_len: Largest number of tokens of a request, prompt and output together.
        platform: Name of the platform.
        num_ranks: Workers that compute a step together.
        max_num_seqs: Most requests of a step.
        max_num_batched_tokens: Most tokens of a step.
        enable_prefix_caching: Whether blocks of equal prefixes are reused.
        caches: The cache's groups; their names are their positions.
        plugins: What runs, the core included.
        served_model_name: The name that clients ask for; empty: there is no server.
    """

    model: str
    index: int = 0
    architecture: str
    dtype: str
    max_model_len: int
    platform: str
    num_ranks: int = 1
    max_num_seqs: int
    max_num_batched_tokens: int
    enable_prefix_caching: bool
    caches: tuple[CacheInfo, ...]
    plugins: tuple[PluginInfo, ...] = ()
    served_model_name: str = ""


@dataclass(frozen=True, kw_only=True)
class StatLoggerOffer(Offer):
    """A stat logger. ``target`` is a ``StatLogger`` class. All active ones run; one that raises is switched off.

    Attributes:
        flags: Flags of ``kernelet serve`` without dashes, each for a key of the plugin's own options.
    """

    flags: Mapping[str, str] = field(default_factory=dict)


class StatLogger(ABC):
    """Receives statistics in one designated frontend."""

    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        """The engine has started.

        Args:
            settings: The plugin's options.
            engine: The engine that the statistics are of.
        """
        self.settings = settings
        self.engine = engine

    @abstractmethod
    def record(self, stats: StepStats) -> None:
        """After each step."""

    @abstractmethod
    def record_finished(self, request: FinishedRequest) -> None:
        """After each finished request."""

    def log(self) -> None:
        """About every ten seconds, and once before ``close``."""

    def exposition(self) -> Exposition | None:
        """What whoever scrapes is shown, without waiting for anything; never during another call of this logger.

        Returns:
            None: it shows nothing.
        """
        return None

    def close(self) -> None:
        """The engine stops."""
