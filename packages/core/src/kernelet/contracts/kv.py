"""KV connectors: keys and values that are loaded from somewhere else, or saved there, and never change the text.

A connector is two classes. The ``SchedulerSide`` lives in the engine's process and decides; one ``WorkerSide`` a rank
moves bytes. What they say to each other rides in steps. The core owns what may go wrong: one deadline a load, the
blocks that transfers hold, the last token (which is always computed), and stale answers.

A load: the scheduler asks ``get_num_new_matched_tokens``, gets a ``Ticket``, allocates blocks, and settles the ticket
once, with ``update_state_after_alloc`` or ``abort``. Every transfer has a number of its own; a worker's answer for
another number is dropped. What was not confirmed was not loaded.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kernelet.contracts.cache import NULL_BLOCK
from kernelet.contracts.kv_pages import CANONICAL, KVIdentity, KVLayout, KVPages, KVPart, KVRegion
from kernelet.contracts.kv_worker import KVWorkerContext, TransferResults, WorkerSide, no_policies
from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    from kernelet.contracts.cache import EvictionPolicy

__all__ = [
    "CANONICAL",
    "LATER",
    "ROLES",
    "Handover",
    "KVConnectorContext",
    "KVConnectorOffer",
    "KVIdentity",
    "KVLayout",
    "KVPages",
    "KVPart",
    "KVRegion",
    "KVRequest",
    "KVStep",
    "KVWorkerContext",
    "Later",
    "ScheduledKV",
    "SchedulerSide",
    "SchedulerWatch",
    "Ticket",
    "TransferResults",
    "WorkerSide",
]

ROLES = ("producer", "consumer", "both")
"""What an engine is to its connectors: it only saves, it only loads, or both."""

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
    @property
    def finish_reason(self) -> str | None:
        """Why it ended: ``"stop"``, ``"length"``, ``"abort"`` or ``"error"``; None before ``request_finished``."""
        ...

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


class ScheduledKV(msgspec.Struct, frozen=True, kw_only=True):
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

    @property
    def num_ready_tokens(self) -> int:
        """Tokens, from the first on, that are known and whose keys and values are there after it. Since kv 1.1."""
        return min(self.num_computed_tokens + self.num_scheduled_tokens, self.request.num_tokens)

    def blocks_of(self, layouts: Sequence[KVLayout], start: int, end: int) -> tuple[tuple[int, ...], ...] | None:
        """The blocks of tokens [start, end) in each group, to be saved. Since kv 1.1.

        Args:
            layouts: One a group.
            start: The first token.
            end: Behind the last one.

        Returns:
            None: one was dropped behind a sliding window, and the tokens are not all there any more.
        """
        found = tuple(one.blocks_of(ids, start, end) for one, ids in zip(layouts, self.block_ids, strict=True))
        return None if any(NULL_BLOCK in blocks for blocks in found) else found


@dataclass(frozen=True, kw_only=True)
class KVStep:
    """A step as it goes out.

    Attributes:
        step: Its number.
        scheduled: What is computed; empty in a step that only moves. A request of which a load is not confirmed yet is
            left out: what it computes may come to nothing.
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
        handover_timeout: Seconds, the deadline of each handover. Since kv 1.2.
        max_model_len: Largest number of tokens of a request.
        handshakes: What ``WorkerSide.get_handshake_metadata`` gave, by rank; None where it gave nothing.
        eviction: Makes the offered ``EvictionPolicy`` of a name, of a pool of so many ids, the null block
            included; raises SelectionError where nobody offers it.
    """

    identity: KVIdentity
    role: str
    engine_id: str
    layouts: tuple[tuple[KVLayout, ...], ...]
    load_timeout: float
    max_model_len: int
    handshakes: tuple[bytes | None, ...] = ()
    eviction: Callable[[str, int], EvictionPolicy] = no_policies
    handover_timeout: float = math.inf

    @property
    def saves(self) -> bool:
        """Whether this engine's keys and values are given away."""
        return self.role != "consumer"

    @property
    def loads(self) -> bool:
        """Whether this engine takes others' keys and values."""
        return self.role != "producer"


class SchedulerWatch(ABC):  # noqa: B024 - nothing of it is needed
    """What a ``SchedulerSide`` hears, and may leave out."""

    def on_new_request(self, request: KVRequest) -> None:
        """A request came in.

        Raises:
            ParameterError: what its ``kv_transfer_params`` ask for does not go together with it, or with this engine's
                role: it ends with this error, and this connector hears no more of it. Since kv 1.2.
        """

    def request_preempted(self, request: KVRequest) -> None:
        """A request loses its blocks, also those that hold what was loaded; it will be asked about again."""

    def update_connector_output(self, outputs: Sequence[bytes]) -> None:
        """What ``WorkerSide.build_connector_worker_meta`` gave, by rank, where any gave something."""

    def reset_cache(self) -> None:
        """Forgets what this connector's own store has for this engine: from now on it is a miss.

        Requests that have begun go on, and what is computed of them is not saved any more: it may be of older weights.

        Raises:
            KerneletError: it cannot; says what to do. Who asked is told, and the connector goes on.
        """

    def shutdown(self) -> None:
        """Ends, after the worker sides: what was saved is complete."""


class SchedulerSide(SchedulerWatch, ABC):
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
        """Settles what ``get_num_new_matched_tokens`` said, where nothing will be loaded of it.

        It is also called for a request that another connector refused, and of which nothing more is heard.
        """

    def cancel(self, transfer: int) -> None:
        """A load or a handover is over before it was confirmed: its deadline passed, or its request ended.

        The core tells the workers by itself, with ``WorkerSide.cancel``.
        """

    @abstractmethod
    def build_connector_meta(self, step: KVStep) -> bytes:
        """What every worker of the connector is told with a step: once a step, empty ones too. May be empty."""

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

    def has_pending_work(self) -> bool:
        """Whether steps must go on though no request needs one."""
        return False


# --- the offer -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class KVConnectorOffer(Offer):
    """A connector. ``target`` is its ``SchedulerSide`` class.

    Attributes:
        worker: Import string of its ``WorkerSide`` class.
        aliases: Names that it has in other engines' configurations (``kv_connector`` of ``--kv-transfer-config``).
        extra_config: Names that its plugin's options have there: keys of ``kv_connector_extra_config`` to its own.
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
    extra_config: Mapping[str, str] = field(default_factory=dict)
    roles: frozenset[str] = field(default_factory=lambda: frozenset(ROLES))
    default_role: str = "both"
    layouts: tuple[str, ...] = (CANONICAL,)
    max_groups: int = 0
    max_ranks: int = 0
    requires_kv_delivery: bool = False
    params: tuple[str, ...] = ()
