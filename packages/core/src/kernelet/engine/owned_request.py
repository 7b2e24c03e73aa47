"""One owner a request: leaving it unfinished means abort."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from kernelet.engine.core_client import CoreClient, Sink
from kernelet.engine.input_processor import PreparedRequest
from kernelet.engine.output_processor import ChoiceState, RequestState
from kernelet.errors import EngineDeadError
from kernelet.request.outputs import EngineOutput, RequestOutput
from kernelet.request.status import FinishReason
from kernelet.structured.constraint import Constraint
from kernelet.text.tokenizer import Tokenizer


class OwnedRequest:
    """Sends a request to the engine on entry; on exit, whatever of it still runs is aborted.

    With several answers and a prompt of at least ``share_from`` tokens, the first answer is sent alone and the others
    once it has computed the prompt: they find it in the prefix cache instead of computing it again.

    Args:
        client: The engine.
        request: What to send.
        sink: Takes outputs on the engine's thread and must bring each to ``update`` on the owner's.
        tokenizer: None: no text.
        share_from: None: all answers are sent at once.
    """

    def __init__(
        self,
        client: CoreClient,
        request: PreparedRequest,
        sink: Sink,
        tokenizer: Tokenizer | None,
        share_from: int | None = None,
    ) -> None:
        self._client = client
        self._sink = sink
        self._state = RequestState(request, tokenizer)
        shares = share_from is not None and len(request.prompt_token_ids) >= share_from
        first = 1 if shares else len(request.choices)
        self._first, self._later = request.choices[:first], request.choices[first:]

    def __enter__(self) -> Self:
        self._client.add(self._first, self._sink)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    @property
    def request_ids(self) -> list[str]:
        """The engine's ids of all answers."""
        return self._state.request_ids

    @property
    def finished(self) -> bool:
        return self._state.finished

    @property
    def error(self) -> str | None:
        """Why an answer failed, if one did."""
        return self._state.error

    @property
    def error_parameter(self) -> str | None:
        """The field of the request that it failed by."""
        return self._state.error_parameter

    @property
    def try_again(self) -> bool:
        """Whether it failed because others are being worked on."""
        return self._state.try_again

    def abort(self) -> None:
        """Ends what still runs; does nothing once all has ended."""
        self._later = ()
        if not self._state.finished:
            self._client.abort(self._state.unfinished_ids)

    def aborted(self) -> RequestOutput:
        """Aborts on the user's word; what was made so far ends with finish reason "abort"."""
        self.abort()
        for name in self._state.unfinished_ids:
            self._state.update(EngineOutput(request_id=name, token_ids=[], finish_reason=str(FinishReason.ABORT)))
        return self._state.snapshot()

    def update(self, outputs: Sequence[EngineOutput] | EngineDeadError) -> RequestOutput:
        """Takes what the sink was given, and says how the request stands.

        Raises:
            EngineDeadError: the engine stopped.
        """
        self.take(outputs)
        return self._state.snapshot()

    def take(self, outputs: Sequence[EngineOutput] | EngineDeadError) -> None:
        """``update`` without its copy of everything so far.

        Raises:
            EngineDeadError: the engine stopped.
        """
        if isinstance(outputs, EngineDeadError):
            raise EngineDeadError(str(outputs)) from outputs
        later, self._later = self._later, ()
        if later:
            self._client.add(later, self._sink)
        stopped = [output.request_id for output in outputs if self._state.update(output)]
        if stopped:
            self._client.abort(stopped, FinishReason.STOP)

    def to_check(self) -> list[tuple[Constraint, str, ChoiceState]]:
        """See ``RequestState.to_check``."""
        return self._state.to_check()

    def snapshot(self) -> RequestOutput:
        """How the request stands; what comes later does not change it."""
        return self._state.snapshot()
