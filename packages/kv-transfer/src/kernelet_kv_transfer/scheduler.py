"""The side that decides: which prompts are kept for others, and which are taken from others."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from kernelet.contracts.kv import (
    Handover,
    KVConnectorContext,
    KVRequest,
    KVStep,
    SchedulerSide,
    Ticket,
)
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError, ParameterError
from kernelet_kv_transfer.messages import Address, Lease, Load, Orders
from kernelet_kv_transfer.params import (
    FIELD,
    TO_DECODE,
    TO_PREFILL,
    Remote,
    asks_for_handover,
    handover_params,
    remote_of,
)

logger = logging.getLogger(__name__)

CONSUMER = "this engine has the role of a consumer and keeps no prompt for others: ask one that prefills"
PRODUCER = "this engine has the role of a producer and takes no prompt of others: ask one that decodes"


class PrefillDecodeScheduler(SchedulerSide):
    """Shared by all connectors of this protocol: nothing in here knows the transport."""

    def __init__(self, settings: Settings, context: KVConnectorContext) -> None:
        super().__init__(settings, context)
        self._ranks = tuple(_place(data) for data in context.handshakes if data is not None)
        if context.saves and len(self._ranks) != len(context.layouts):
            raise ConfigError(
                f"{settings.plugin}: {len(context.layouts)} ranks must say where they listen, {len(self._ranks)} do"
            )
        lease = settings.values.get("lease")
        if context.saves and isinstance(lease, int) and lease > context.handover_timeout:
            logger.warning(
                "%s.lease is %d s, and blocks are given back after %g s: lower it, or raise --kv-handover-timeout",
                settings.plugin,
                lease,
                context.handover_timeout,
            )
        self._remotes: dict[str, Remote] = {}
        self._leases: dict[int, Lease] = {}
        self._loads: dict[int, Load] = {}
        self._renewals: list[Remote] = []
        self._releases: list[Remote] = []

    @classmethod
    def validate_params(cls, params: Mapping[str, Any]) -> None:
        remote_of(params)

    def on_new_request(self, request: KVRequest) -> None:
        if asks_for_handover(request.kv_transfer_params) and not self.context.saves:
            raise ParameterError(f"{FIELD}.{TO_DECODE}", CONSUMER)
        remote = remote_of(request.kv_transfer_params)
        if remote is None:
            return
        if not self.context.loads:
            self._releases.append(remote)
            raise ParameterError(f"{FIELD}.{TO_PREFILL}", PRODUCER)
        self._remotes[request.request_id] = remote
        self._renewals.append(remote)

    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | None:
        remote = self._remotes.get(request.request_id)
        if remote is None or (num_tokens := self._num_tokens(remote, request)) <= num_computed_tokens:
            return None
        return Ticket(num_tokens=num_tokens - num_computed_tokens, load_async=True)

    def update_state_after_alloc(
        self, request: KVRequest, transfer: int, start: int, end: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> None:
        remote = self._remotes.pop(request.request_id)
        self._loads[transfer] = Load(
            transfer=transfer,
            remote=remote,
            key=request.key(self._num_tokens(remote, request)),
            start=start,
            end=end,
            block_ids=block_ids,
        )

    def abort(self, request: KVRequest) -> None:
        if (remote := self._remotes.pop(request.request_id, None)) is not None:
            self._releases.append(remote)

    def cancel(self, transfer: int) -> None:
        self._leases.pop(transfer, None)
        if (load := self._loads.pop(transfer, None)) is not None:
            self._releases.append(load.remote)

    def build_connector_meta(self, step: KVStep) -> bytes:
        for scheduled in step.scheduled:
            # it computes without having been loaded: it was not asked about, or the prefix cache has it all
            self.abort(scheduled.request)
        if not self.has_pending_work():
            return b""
        orders = Orders(
            leases=tuple(self._leases.values()),
            renewals=tuple(self._renewals),
            loads=tuple(self._loads.values()),
            releases=tuple(self._releases),
        )
        self._leases, self._renewals, self._loads, self._releases = {}, [], {}, []
        return msgspec.msgpack.encode(orders)

    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        self.abort(request)
        tokens = request.num_prompt_tokens
        wanted = self.context.saves and asks_for_handover(request.kv_transfer_params)
        if not wanted or request.finish_reason in {"abort", "error"} or num_computed_tokens < tokens:
            return Handover()
        if not any(block_ids):
            return Handover()
        generation = secrets.token_hex(16)
        self._leases[transfer] = Lease(
            number=transfer,
            generation=generation,
            key=request.key(tokens),
            num_tokens=tokens,
            block_ids=block_ids,
        )
        remote = Remote(
            remote_engine_id=self.context.engine_id,
            remote_host=self._ranks[0][0],
            remote_port=self._ranks[0][1],
            tp_size=len(self._ranks),
            remote_num_tokens=tokens,
            remote_lease=transfer,
            remote_generation=generation,
            remote_ranks=self._ranks,
        )
        params = handover_params(remote=remote, request_id=request.request_id, block_ids=block_ids)
        return Handover(holds_blocks=True, kv_transfer_params=params)

    def has_pending_work(self) -> bool:
        return bool(self._leases or self._renewals or self._loads or self._releases)

    @staticmethod
    def _num_tokens(remote: Remote, request: KVRequest) -> int:
        """What is asked for; of a longer prompt, which must be another one, the load fails by its key."""
        return min(remote.remote_num_tokens, request.num_tokens)


def _place(data: bytes) -> tuple[str, int]:
    address = msgspec.msgpack.decode(data, type=Address)
    return address.host, address.port
