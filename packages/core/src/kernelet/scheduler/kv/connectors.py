"""Several KV connectors as one: the first that has something loads, all save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kernelet.contracts.kv import LATER, KVRequest, KVStep, Later, SchedulerSide, Ticket
from kernelet.errors import ParameterError, PluginError
from kernelet.scheduler.kv.guard import GuardedSide


class Connector:
    """One that runs.

    Attributes:
        name: Of its offer: the key of what it says to its workers.
        side: Its scheduler side, until it fails.
        requires_delivery: ``KVConnectorOffer.requires_kv_delivery``.
    """

    def __init__(self, *, name: str, side: SchedulerSide, requires_delivery: bool = False) -> None:
        self.name = name
        self.side = GuardedSide(name, side)
        self.requires_delivery = requires_delivery


class Promise(NamedTuple):
    """A ticket and whose it is."""

    connector: Connector
    ticket: Ticket


class Connectors:
    """All of them, in the operator's order. Keeps whose answers are not settled, by request."""

    def __init__(self, connectors: Sequence[Connector]) -> None:
        self._all = tuple(connectors)
        self._loading = tuple(one for one in connectors if one.side.context.loads)
        self._asked: dict[str, list[Connector]] = {}
        self._left: list[Connector] = []

    def __iter__(self) -> Iterator[Connector]:
        return iter(self._all)

    def on_new_request(self, request: KVRequest) -> None:
        """A request came in.

        Raises:
            ParameterError: one of them refuses it; those that heard of it before are told.
        """
        for index, one in enumerate(self._all):
            try:
                one.side.on_new_request(request)
            except ParameterError:
                for other in self._all[:index]:
                    other.side.abort(request)
                raise

    def ask(self, request: KVRequest, num_computed_tokens: int) -> Promise | Later | None:
        """What the first has that has something, or may have. Those behind it are not asked."""
        for one in self._loading:
            answer = one.side.get_num_new_matched_tokens(request, num_computed_tokens)
            if answer is None:
                continue
            asked = self._asked.setdefault(request.request_id, [])
            if one not in asked:
                asked.append(one)
            return LATER if answer is LATER else Promise(one, answer)
        return None

    def settle(self, request: KVRequest, chosen: Connector | None = None) -> None:
        """Nothing is loaded of what was said, except by the chosen one, whose ticket its caller settles."""
        for one in self._asked.pop(request.request_id, ()):
            if one is not chosen:
                one.side.abort(request)

    def request_preempted(self, request: KVRequest) -> None:
        """A request loses its blocks."""
        for one in self._all:
            one.side.request_preempted(request)

    def build_connector_meta(self, step: KVStep) -> dict[str, bytes]:
        """What the workers of each are told."""
        return {one.name: one.side.build_connector_meta(step) for one in self._all}

    def has_pending_work(self) -> bool:
        """Whether one of them needs steps."""
        return any(one.side.has_pending_work() for one in self._all)

    @property
    def off(self) -> dict[str, str]:
        """Those that are switched off, and why."""
        return {one.name: one.side.off for one in self._all if one.side.off}

    def take_off(self) -> list[Connector]:
        """Those that were switched off since the last call."""
        new = [one for one in self._all if one.side.off and one not in self._left]
        self._left += new
        return new

    def reset_cache(self) -> None:
        """What they keep is forgotten.

        Raises:
            PluginError: some of them have not; the others have.
        """
        failed = []
        for one in self._all:
            try:
                one.side.reset_cache()
            except PluginError as error:
                failed.append(str(error))
        if failed:
            raise PluginError("; ".join(failed))

    def shutdown(self) -> None:
        """They end."""
        for one in self._all:
            one.side.shutdown()


def merged(params: Mapping[str, Any] | None, into: dict[str, Any] | None) -> dict[str, Any] | None:
    """What several connectors say to a client."""
    return into if params is None else {**(into or {}), **params}
