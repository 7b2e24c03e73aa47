"""A connector's scheduler side, which is called no more once it has failed."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import msgspec

from kernelet.contracts.kv import Handover, KVRequest, KVStep, Later, SchedulerSide, Ticket
from kernelet.errors import KerneletError, ParameterError, PluginError

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class GuardedSide(SchedulerSide):
    """Passes calls on. The first that raises, or answers what the contract does not know, switches the side off.

    What its loads and handovers held is for its owner to end.

    Args:
        name: Of the connector.
        side: The connector's own.

    Attributes:
        off: Why it is switched off; empty: it is not.
    """

    def __init__(self, name: str, side: SchedulerSide) -> None:
        super().__init__(side.settings, side.context)
        self.off = ""
        self._name = name
        self._side = side

    def switch_off(self, why: str, trace: str = "") -> None:
        """It is called no more, but for ``shutdown``; who reads the log is told once."""
        if self.off:
            return
        self.off = why
        logger.error(
            "KV connector %s is switched off until the engine starts again, and requests go on without it: %s%s",
            self._name,
            why,
            f"\n{trace}".rstrip(),
        )

    def on_new_request(self, request: KVRequest) -> None:
        refusal = self._call(self._on_new_request, _any, None, request)
        if refusal is not None:
            raise refusal

    def get_num_new_matched_tokens(self, request: KVRequest, num_computed_tokens: int) -> Ticket | Later | None:
        return self._call(self._side.get_num_new_matched_tokens, _ticket, None, request, num_computed_tokens)

    def update_state_after_alloc(
        self, request: KVRequest, transfer: int, start: int, end: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> None:
        self._call(self._side.update_state_after_alloc, _any, None, request, transfer, start, end, block_ids)

    def abort(self, request: KVRequest) -> None:
        self._call(self._side.abort, _any, None, request)

    def cancel(self, transfer: int) -> None:
        self._call(self._side.cancel, _any, None, transfer)

    def request_preempted(self, request: KVRequest) -> None:
        self._call(self._side.request_preempted, _any, None, request)

    def build_connector_meta(self, step: KVStep) -> bytes:
        return self._call(self._side.build_connector_meta, _bytes, b"", step)

    def update_connector_output(self, outputs: Sequence[bytes]) -> None:
        self._call(self._side.update_connector_output, _any, None, outputs)

    def request_finished(
        self, request: KVRequest, transfer: int, num_computed_tokens: int, block_ids: tuple[tuple[int, ...], ...]
    ) -> Handover:
        return self._call(
            self._side.request_finished, _handover, Handover(), request, transfer, num_computed_tokens, block_ids
        )

    def has_pending_work(self) -> bool:
        return self._call(self._side.has_pending_work, _any, False)

    def reset_cache(self) -> None:
        """See ``SchedulerWatch.reset_cache``.

        Raises:
            PluginError: it cannot, or is switched off: who asked must know that the store may be as it was.
        """
        refused = self._call(self._reset_cache, _any, None)
        why = f"it is switched off ({self.off})" if self.off else refused
        if why:
            raise PluginError(f"KV connector {self._name} has not forgotten what it keeps: {why}")

    def shutdown(self) -> None:
        try:
            self._side.shutdown()
        except Exception:
            logger.exception("KV connector %s failed as it was shut down", self._name)

    # --- inside ----------------------------------------------------------------------------------

    def _on_new_request(self, request: KVRequest) -> ParameterError | None:
        try:
            self._side.on_new_request(request)
        except ParameterError as error:
            return error
        return None

    def _reset_cache(self) -> str | None:
        try:
            self._side.reset_cache()
        except KerneletError as error:
            return str(error)
        return None

    def _call(
        self, method: Callable[P, T], check: Callable[[Any], T], instead: T, /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        if self.off:
            return instead
        try:
            return check(method(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the connector's alone
            name = getattr(method, "__name__", repr(method)).lstrip("_")
            self.switch_off(f"{name}() raised {type(error).__name__}: {error}", traceback.format_exc())
            return instead


def _any(answer: T) -> T:
    return answer


def _ticket(answer: object) -> Ticket | Later | None:
    if answer is None or isinstance(answer, Later):
        return answer
    if isinstance(answer, Ticket) and type(answer.num_tokens) is int:
        return answer
    raise TypeError(f"the answer is {answer!r:.100}, expected a Ticket, LATER or None")


def _bytes(answer: object) -> bytes:
    if not isinstance(answer, bytes):
        raise TypeError(f"the answer is {answer!r:.100}, expected bytes")
    return answer


def _handover(answer: object) -> Handover:
    if not isinstance(answer, Handover):
        raise TypeError(f"the answer is {answer!r:.100}, expected a Handover")
    if answer.kv_transfer_params is not None:
        msgspec.json.encode(dict(answer.kv_transfer_params))  # or it could not travel to the client
    return answer
