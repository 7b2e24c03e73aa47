"""KV connectors: keys and values that are loaded from somewhere else, or saved there, and never change the text.

A connector is two classes. The ``SchedulerSide`` lives in the engine's process and decides; one ``WorkerSide`` a rank
moves bytes. What they say to each other rides in steps. The core owns what may go wrong: one deadline a load, the
blocks that transfers hold, the last token (which is always computed), and stale answers.

A load: the scheduler asks ``get_num_new_matched_tokens``, gets a ``Ticket``, allocates blocks, and settles the ticket
once, with ``update_state_after_alloc`` or ``abort``. Every transfer has a number of its own; a worker's answer for
another number is dropped. What was not confirmed was not loaded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    from torch import Tensor

CANONICAL = "canonical"
"""The order of pages that ``KVPages.read`` and ``write`` speak: each part [token, head, width]."""

ROLES = ("producer", "consumer", "both")
"""What an engine is to its connectors: it only saves, it only loads, or both."""

# --- what is stored ------------------------------------------------------------------------------


class KVIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What keys and values are a function of, besides tokens. Those of another identity are always a miss.

    Attributes:
        weights: Digest of the checkpoint.
        dtype: Dtype of the model.
        kv_cache_dtype: ``CacheConfig.dtype``.
        arithmetic: Digest of what computes every layer, and of the number of ranks.
    """

    weights: str
    dtype: str
    kv_cache_dtype: str
    arithmetic: str


class KVPart(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor of a layer's cache: [token, num_kv_heads, width].

    Attributes:
        name: ``"key"``, ``"value"``, ``"key_scale"`` or ``"value_scale"``.
        dtype: Name of the torch dtype, ``"bfloat16"``, ``"float8_e4m3fn"``, ...
        width: Elements a head: the head size, or 1 for scales.
    """

    name: str
    dtype: str
    width: int


class KVLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of one cache group on one rank.

    Attributes:
        group: Index of the group.
        layers: Global names, in order.
        block_size: Tokens a block.
        num_blocks: Blocks, the null block included.
        num_kv_heads: Heads of this rank, which are ``[rank * num_kv_heads, ...)`` of all.
        parts: What each layer keeps.
        window: Tokens that are seen, of a sliding window; None: all.
        native: The attention's own order of a page, as ``Attention.native_layout`` says it; equal texts mean equal
            bytes. Empty: nobody but the attention can read it.
        rank: This rank.
        world_size: Ranks that share each layer.
    """

    group: int
    layers: tuple[str, ...]
    block_size: int
    num_blocks: int
    num_kv_heads: int
    parts: tuple[KVPart, ...]
    window: int | None = None
    native: str = ""
    rank: int = 0
    world_size: int = 1


@dataclass(frozen=True, kw_only=True)
class KVRegion:
    """Memory in which the pages of one layer lie one after the other; block b is at ``address + b * block_bytes``.

    Attributes:
        address: Of block 0.
        block_bytes: Bytes of one block.
        num_blocks: Blocks.
        device: What torch calls the device, ``"cpu"``, ``"cuda:0"``.
    """

    address: int
    block_bytes: int
    num_blocks: int
    device: str


class KVPages(Protocol):
    """The pages of one rank, for its ``WorkerSide``. ``read`` and ``write`` may be called on any thread.

    Tokens are positions in a request; ``block_ids`` is its whole block list in the group of the layer, so that a
    stretch of tokens may begin and end inside blocks.
    """

    @property
    def layouts(self) -> tuple[KVLayout, ...]:
        """One a group."""
        ...

    def read(self, layer: str, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        """The parts of tokens [start, end): copies on the host, each [end - start, num_kv_heads, width]."""
        ...

    def write(self, transfer: int, layer: str, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> bool:
        """Stores parts from token ``start`` on; what else is in their blocks stays.

        Returns:
            False: the transfer was cancelled or has ended, and nothing was written.

        Raises:
            ValueError: parts of another shape or dtype than the layout says.
        """
        ...

    def regions(self, layer: str) -> tuple[KVRegion, ...]:
        """The memory of a layer, for transports that register it; empty: its pages do not lie so.

        What is written there directly, not with ``write``, is not held back when a transfer is cancelled:
        ``WorkerSide.cancel`` must do it.
        """
        ...


# --- what the scheduler side sees ----------------------------------------------------------------


class KVRequest(Protocol):
    """What a connector sees of a request; valid while the request lives."""

    @property
    def request_id(self) -> str: ...
    @property
    def token_ids(self) -> Sequence[int]:
        """Prompt and what was generated so far."""
        ...

    @property
    def num_tokens(self) -> int: ...
    @property
    def num_prompt_tokens(self) -> int: ...
    @property
    def kv_transfer_params(self) -> Mapping[str, Any] | None:
        """What the client says to connectors, or another engine through it."""
        ...

    @property
    def cache_salt(self) -> str: ...

    def key(self, num_tokens: int) -> bytes:
        """Names the first ``num_tokens`` tokens and all that their keys and values depend on: 32 bytes.

        A function of the ``KVIdentity``, adapter, salt, media and tokens, not of block sizes: any count from 1 to
        ``num_tokens`` of the request has a key.

        Raises:
            ValueError: fewer tokens are known, or it is not 1 at least.
        """
        ...


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """A promise that tokens can be loaded.

    Attributes:
        num_tokens: Tokens beyond those that are there already; more than 0. It may be the whole prompt: the core
            leaves the last token out.
        load_async: The load runs beside steps, and ``get_finished`` confirms it. False: ``start_load_kv`` and
            ``wait_for_layer_load`` of the step that computes the rest have it done, and ``get_finished`` of that step
            confirms it.
    """

    num_tokens: int
    load_async: bool = True


class Later(Enum):
    """An answer of ``get_num_new_matched_tokens``."""

    LATER = "later"


LATER = Later.LATER
"""The connector does not know yet: it is asked again at the next steps, until the deadline."""


@dataclass(frozen=True, kw_only=True)
class ScheduledKV:
    """What one request computes in a step.

    Attributes:
        request: The request.
        num_computed_tokens: Tokens whose keys and values are there before the step.
        num_scheduled_tokens: Tokens computed in it; of those, what is beyond ``request.num_tokens`` is not known yet.
        block_ids: Its whole block list in each group, with dropped blocks as the null block.
    """

    request: KVRequest
    num_computed_tokens: int
    num_scheduled_tokens: int
    block_ids: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class KVStep:
    """A step as it goes out.

    Attributes:
        step: Its number.
        scheduled: What is computed; empty in a step that only moves.
        preempted: Requests that lost their blocks since the last step.
        finished: Requests that ended since the last step.
    """

    step: int
    scheduled: tuple[ScheduledKV, ...] = ()
    preempted: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Handover:
    """What a connector does with a request that ended.

    Attributes:
        holds_blocks: Its blocks stay taken until ``get_finished`` names the transfer, or its deadline passes.
        kv_transfer_params: For the client, in the answer's field of this name; None: nothing.
    """

    holds_blocks: bool = False
    kv_transfer_params: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class KVConnectorContext:
    """What a scheduler side is made from.

    Attributes:
        identity: Of this engine.
        role: One of ``ROLES``.
        engine_id: Names this engine among others, for as long as its process runs.
        layouts: By rank, then by group.
        load_timeout: Seconds, the deadline of each load.
        max_model_len: Largest number of tokens of a request.
        handshakes: What ``WorkerSide.get_handshake_metadata`` gave, by rank; None where it gave nothing.
    """

    identity: KVIdentity
    role: str
    engine_id: str
    layouts: tuple[tuple[KVLayout, ...], ...]
    load_timeout: float
    max_model_len: int
    handshakes: tuple[bytes | None, ...] = ()

    @property
    def saves(self) -> bool:
        """Whether this engine's keys and values are given away."""
        return self.role != "consumer"

    @property
    def loads(self) -> bool:
        """Whether this engine takes others' keys and values."""
        return self.role != "producer"


class SchedulerSide(ABC):
    """Decides what is loaded and saved; in the engine's process, on its thread. Nothing in here may wait."""

    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        self.settings = settings
        self.context = context

    @classmethod
    def validate_params(cls, params: Mapping[str, Any]) -> None:
        """Checks ``kv_transfer_params`` of one request, in the frontend; keys of other connectors may be among them.

        Raises:
            ParameterError: naming the key.
        """

    def on_new_request(self, request: KVRequest) -> None:
        """A request came in."""

    @abstractmethod
    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        """How many tokens beyond the first ``num_computed_tokens`` can be loaded; None: none.

        It may be called any number of times before the ticket is settled, and gives the same answer each time; once it
        was not ``LATER`` it stays what it is. A request of which a load has failed is not asked for again.

        Args:
            request: Waits.
            num_computed_tokens: What the prefix cache has; a multiple of the block size.
        """

    @abstractmethod
    def update_state_after_alloc(
        self, request: KVRequest, transfer: int, start: int, end: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> None:
        """Settles a ticket: tokens [start, end) are to be loaded; never more than it promised.

        Args:
            request: The request.
            transfer: Number of the load.
            start: Tokens that are there already.
            end: Where the load ends; ``end - start`` may be less than the ticket said.
            block_ids: The request's block list in each group.
        """

    def abort(self, request: KVRequest) -> None:
        """Settles what ``get_num_new_matched_tokens`` said, where nothing will be loaded of it."""

    def cancel(self, transfer: int) -> None:
        """A load or a handover is over before it was confirmed: its deadline passed, or its request ended.

        The core tells the workers by itself, with ``WorkerSide.cancel``.
        """

    @abstractmethod
    def build_connector_meta(self, step: KVStep) -> bytes:
        """What every worker of the connector is told with a step: once a step, empty ones too. May be empty."""

    def request_preempted(self, request: KVRequest) -> None:
        """A request loses its blocks, also those that hold what was loaded; it will be asked about again."""

    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        """A request ended in any way; called exactly once for each that came in, while its blocks are its own.

        Args:
            request: The request.
            transfer: Number of the handover, if the answer holds its blocks.
            num_computed_tokens: Tokens whose keys and values are in ``block_ids``, by steps that have ended.
            block_ids: Its block list in each group; empty lists where it holds none.
        """
        return Handover()

    def update_connector_output(self, outputs: Sequence[bytes]) -> None:
        """What ``WorkerSide.build_connector_worker_meta`` gave, by rank, where any gave something."""

    def has_pending_work(self) -> bool:
        """Whether steps must go on though no request needs one."""
        return False

    def reset_cache(self) -> None:
        """Forgets what this connector's own store has for this engine, where it can."""

    def shutdown(self) -> None:
        """Ends; what was saved is complete."""


# --- what the worker side does -------------------------------------------------------------------


class TransferResults(msgspec.Struct, frozen=True, kw_only=True):
    """What became of transfers on one rank, each told once.

    Attributes:
        received: Loads that are over, with the number of tokens, from ``start`` on, that are valid: all, or fewer, or
            0 where nothing came.
        sent: Handovers that are over: nobody reads their blocks any more.
    """

    received: Mapping[int, int] = {}
    sent: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True)
class KVWorkerContext:
    """What a worker side is made from.

    Attributes:
        identity: Of this engine; equal on all ranks and in its scheduler side.
        role: One of ``ROLES``.
        engine_id: As in ``KVConnectorContext``.
        pages: This rank's.
        rank: This rank.
        world_size: Number of ranks.
        load_timeout: Seconds, the deadline of each load.
    """

    identity: KVIdentity
    role: str
    engine_id: str
    pages: KVPages
    rank: int = 0
    world_size: int = 1
    load_timeout: float = 30.0


class WorkerSide(ABC):
    """Moves bytes for one rank. A step calls it in the order in which the methods stand here, on one thread.

    Steps without a forward pass call all but the two with a layer.
    """

    def __init__(self, settings: Settings, context: KVWorkerContext) -> None:
        self.settings = settings
        self.context = context

    def get_handshake_metadata(self) -> bytes | None:
        """What others need to reach this rank; once, after it is made."""
        return None

    def cancel(self, transfers: Collection[int]) -> None:
        """The fence: when it returns, nothing of these transfers touches a page any more, nor ever will.

        Called for loads and handovers whose deadline passed, whose request ended or was preempted; it may hold ones
        that are over, or that this rank never heard of.
        """

    @abstractmethod
    def bind_connector_metadata(self, meta: bytes) -> None:
        """Takes what the scheduler side built for this step."""

    @abstractmethod
    def start_load_kv(self) -> None:
        """Begins loads; those of sync tickets must be visible once ``wait_for_layer_load`` returns."""

    def wait_for_layer_load(self, layer: str) -> None:
        """Before a layer's attention reads its pages."""

    def save_kv_layer(self, layer: str) -> None:
        """After a layer has written this step's keys and values."""

    def wait_for_save(self) -> None:
        """After the forward pass: when it returns, nothing reads a page for saving that is not held by a transfer."""

    @abstractmethod
    def get_finished(self) -> TransferResults:
        """What is over since the last call."""

    def build_connector_worker_meta(self) -> bytes:
        """For ``SchedulerSide.update_connector_output``; empty: nothing."""
        return b""

    def get_kv_connector_stats(self) -> Mapping[str, float]:
        """Counters of this rank since the last call, by name; the core adds those of ranks and steps up."""
        return {}

    def shutdown(self) -> None:
        """Ends; waits for what is being saved."""


# --- the offer -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class KVConnectorOffer(Offer):
    """A connector. ``target`` is its ``SchedulerSide`` class.

    Attributes:
        worker: Import string of its ``WorkerSide`` class.
        aliases: Names that it has in other engines' configurations (``kv_connector`` of ``--kv-transfer-config``).
        roles: Those of ``ROLES`` that it serves.
        default_role: The role where none is named.
        layouts: Orders of pages that it takes: ``CANONICAL``, or texts of ``KVLayout.native``.
        max_groups: Most cache groups; 0: any number.
        max_ranks: Most ranks; 0: any number.
        requires_kv_delivery: A request's answer is worth nothing without its handover: where the handover fails, so
            does the request.
        params: Keys of ``kv_transfer_params`` that it reads or gives; two connectors that share one cannot be composed.
    """

    worker: str
    aliases: tuple[str, ...] = ()
    roles: frozenset[str] = field(default_factory=lambda: frozenset(ROLES))
    default_role: str = "both"
    layouts: tuple[str, ...] = (CANONICAL,)
    max_groups: int = 0
    max_ranks: int = 0
    requires_kv_delivery: bool = False
    params: tuple[str, ...] = ()
