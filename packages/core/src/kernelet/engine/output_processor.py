"""The engine's outputs to what users get: text, stop strings, log-probabilities, finish reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelet.contracts.sampling import TokenLogprobs
from kernelet.engine.input_processor import PreparedRequest
from kernelet.engine.parsing import ChoiceParser
from kernelet.errors import RequestFailedError
from kernelet.request.outputs import CompletionOutput, EngineOutput, Logprob, RequestOutput
from kernelet.request.status import FinishReason
from kernelet.request.structured import UNFINISHED
from kernelet.structured.constraint import TOOL_CALLS, Constraint
from kernelet.structured.validating import calls_text
from kernelet.text.logprobs import describe_logprobs
from kernelet.text.output import OutputAssembler, TextOptions
from kernelet.text.parsed_output import ParsedAssembler
from kernelet.text.stop import StopStrings
from kernelet.text.tokenizer import Tokenizer

CUT = frozenset({FinishReason.LENGTH, FinishReason.ABORT, FinishReason.ERROR})
"""Ends that came from outside, as a stop string does: a call that is open then stays as far as it came."""


@dataclass
class ChoiceState:
    """One answer as it grows.

    Attributes:
        assembler: None: no text is wanted.
        logprobs: None: not asked for.
        error: Why it failed.
        structured: What became of the request's constraint, once it ended.
        parser: None: the text is not parsed.
    """

    index: int
    assembler: OutputAssembler | None
    logprobs: list[dict[int, Logprob]] | None
    parser: ChoiceParser | None = None
    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    cumulative_logprob: float = 0.0
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    error: str | None = None
    error_parameter: str | None = None
    try_again: bool = False
    structured: str | None = None

    def snapshot(self) -> CompletionOutput:
        """A copy that stays as it is."""
        return CompletionOutput(
            index=self.index,
            text=self.text,
            token_ids=list(self.token_ids),
            logprobs=None if self.logprobs is None else list(self.logprobs),
            cumulative_logprob=None if self.logprobs is None else self.cumulative_logprob,
            finish_reason=self.finish_reason,
            stop_reason=self.stop_reason,
            message=None if self.parser is None else self.parser.message.snapshot(),
            structured=self.structured,
        )


class RequestState:
    """A request and all its answers, as they grow. Used from one thread at a time."""

    def __init__(self, request: PreparedRequest, tokenizer: Tokenizer | None) -> None:
        params = request.params
        self._request = request
        self._tokenizer = tokenizer
        self._options = TextOptions(
            include_stop_str_in_output=params.include_stop_str_in_output,
            min_tokens=params.min_tokens,
            skip_special_tokens=params.skip_special_tokens,
            spaces_between_special_tokens=params.spaces_between_special_tokens,
        )
        stops = StopStrings(tuple(params.stop)) if params.stop else None
        self._choices = {
            choice.request_id: self._new_choice(index, stops) for index, choice in enumerate(request.choices)
        }
        wants_prompt = params.prompt_logprobs is not None
        self._prompt_logprobs: list[dict[int, Logprob] | None] | None = [None] if wants_prompt else None
        self._num_cached_tokens = 0
        self._kv_transfer_params: dict[str, Any] | None = None

    def _new_choice(self, index: int, stops: StopStrings | None) -> ChoiceState:
        request, tokenizer = self._request, self._tokenizer
        logprobs: list[dict[int, Logprob]] | None = None if request.params.logprobs is None else []
        if tokenizer is None or not request.params.detokenize:
            return ChoiceState(index, None, logprobs)
        ids, options = request.prompt_token_ids, self._options
        if request.parsing is None:
            return ChoiceState(index, OutputAssembler(tokenizer, ids, stops, options), logprobs)
        parser = ChoiceParser(request.parsing)
        assembler = ParsedAssembler(tokenizer, ids, parser, request.parsing.marker_ids, stops, options)
        return ChoiceState(index, assembler, logprobs, parser)

    @property
    def request_ids(self) -> list[str]:
        """The engine's ids of all answers."""
        return list(self._choices)

    @property
    def finished(self) -> bool:
        """Whether every answer has ended."""
        return all(choice.finish_reason is not None for choice in self._choices.values())

    @property
    def error(self) -> str | None:
        """Why the first answer that failed did."""
        return next((choice.error for choice in self._choices.values() if choice.error is not None), None)

    @property
    def error_parameter(self) -> str | None:
        """The field of the request that the first answer that failed did so by; None: by none."""
        return next((choice.error_parameter for choice in self._choices.values() if choice.error is not None), None)

    @property
    def try_again(self) -> bool:
        """Whether an answer failed because others are being worked on."""
        return any(choice.try_again for choice in self._choices.values())

    @property
    def unfinished_ids(self) -> list[str]:
        """The engine's ids of answers that still grow."""
        return [name for name, choice in self._choices.items() if choice.finish_reason is None]

    def update(self, output: EngineOutput) -> bool:
        """Takes what the engine says; an answer that has ended takes nothing more.

        Returns:
            Whether the engine must be told to stop this answer, because a stop string ended it.
        """
        choice = self._choices[output.request_id]
        if output.kv_transfer_params is not None:
            self._kv_transfer_params = output.kv_transfer_params
        if choice.finish_reason is not None:
            return False
        if choice.index == 0:
            self._num_cached_tokens = max(self._num_cached_tokens, output.num_cached_tokens)
            self._add_prompt_logprobs(output.prompt_logprobs or ())
        try:
            self._take(choice, output)
        except RequestFailedError as error:  # of its parser
            choice.finish_reason, choice.error = str(FinishReason.ERROR), str(error)
        return choice.finish_reason is not None and output.finish_reason is None

    def to_check(self) -> list[tuple[Constraint, str, ChoiceState]]:
        """Answers that have ended and were to be compared with their constraint, which nobody enforced."""
        prepared = self._request.structured
        if prepared is None or prepared.engine is not None:
            return []
        return [
            (prepared.constraint, self._compared(prepared.constraint, choice), choice)
            for choice in self._choices.values()
            if choice.finish_reason in {FinishReason.STOP, FinishReason.LENGTH} and choice.structured is None
        ]

    def _compared(self, constraint: Constraint, choice: ChoiceState) -> str:
        """The text of an answer that is compared with a constraint."""
        message = None if choice.parser is None else choice.parser.message
        if message is None:
            return choice.text
        if constraint.kind == TOOL_CALLS:
            return calls_text(((call.name, call.arguments) for call in message.tool_calls), message.content)
        return message.content

    def snapshot(self) -> RequestOutput:
        """The request as of now; later updates do not change it."""
        return RequestOutput(
            request_id=self._request.request_id,
            prompt=self._request.prompt,
            prompt_token_ids=list(self._request.prompt_token_ids),
            outputs=[choice.snapshot() for choice in self._choices.values()],
            prompt_logprobs=None if self._prompt_logprobs is None else list(self._prompt_logprobs),
            finished=self.finished,
            num_cached_tokens=self._num_cached_tokens,
            kv_transfer_params=self._kv_transfer_params,
        )

    def _take(self, choice: ChoiceState, output: EngineOutput) -> None:
        stopped = self._add_tokens(choice, output)
        if not stopped and output.finish_reason is not None:
            self._finish(choice, output)
        if choice.finish_reason is None:
            return
        stopped = isinstance(choice.stop_reason, str)
        choice.structured = self._state_of_constraint(output, stopped=stopped)
        if choice.parser is not None:
            choice.parser.finish(cut=stopped or choice.finish_reason in CUT)

    def _state_of_constraint(self, output: EngineOutput, *, stopped: bool) -> str | None:
        """What became of the constraint of an answer that ends; None: there is none, or the text has to be compared."""
        prepared = self._request.structured
        if prepared is None:
            return None
        if prepared.engine is None:
            return None if output.finish_reason in {None, FinishReason.STOP, FinishReason.LENGTH} else UNFINISHED
        # of a text that a stop string cut, the engine knows nothing
        return UNFINISHED if stopped or output.structured is None else output.structured

    def _add_tokens(self, choice: ChoiceState, output: EngineOutput) -> bool:
        """New tokens; True if a stop string ended the answer, whose last token is then the one that completed it."""
        stop: str | None = None
        kept = len(output.token_ids)
        if choice.assembler is not None and output.token_ids:
            delta = choice.assembler.push(output.token_ids, ends_with_stop_token=output.stop_token_id is not None)
            choice.text += delta.text
            stop, kept = delta.stop, delta.num_tokens
        choice.token_ids += output.token_ids[:kept]
        self._add_logprobs(choice, (output.logprobs or ())[:kept])
        return self._ends_with_stop_string(choice, stop)

    def _finish(self, choice: ChoiceState, output: EngineOutput) -> None:
        """The engine ended the answer; text that was held back is released, and may hold a last stop string."""
        if choice.assembler is not None:
            delta = choice.assembler.finish()
            choice.text += delta.text
            if self._ends_with_stop_string(choice, delta.stop):
                return
        choice.finish_reason = output.finish_reason
        choice.error, choice.error_parameter = output.error, output.error_parameter
        choice.try_again = output.try_again
        if output.stop_token_id is not None and output.stop_token_id not in self._request.eos_token_ids:
            choice.stop_reason = output.stop_token_id

    @staticmethod
    def _ends_with_stop_string(choice: ChoiceState, stop: str | None) -> bool:
        if stop is not None:
            choice.finish_reason, choice.stop_reason = str(FinishReason.STOP), stop
        return stop is not None

    def _add_logprobs(self, choice: ChoiceState, positions: Sequence[TokenLogprobs]) -> None:
        if choice.logprobs is None:
            return
        for position in positions:
            choice.logprobs.append(self._describe(position))
            choice.cumulative_logprob += position.logprobs[0]

    def _add_prompt_logprobs(self, positions: Sequence[TokenLogprobs]) -> None:
        if self._prompt_logprobs is not None:
            self._prompt_logprobs += [self._describe(position) for position in positions]

    def _describe(self, position: TokenLogprobs) -> dict[int, Logprob]:
        if self._tokenizer is not None:
            return describe_logprobs(self._tokenizer, position)
        rows = zip(position.token_ids, position.logprobs, position.ranks, strict=True)
        return {index: Logprob(logprob=value, rank=rank, decoded_token="", bytes=b"") for index, value, rank in rows}
