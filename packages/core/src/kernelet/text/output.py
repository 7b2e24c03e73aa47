"""Token ids of one choice to the text that its user sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelet.text.detokenizer import IncrementalDetokenizer, text_of
from kernelet.text.stop import StopChecker, StopDelta, StopStrings

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kernelet.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class TextOptions:
    """The fields of ``SamplingParams`` that say how tokens are shown."""

    include_stop_str_in_output: bool = False
    min_tokens: int = 0
    skip_special_tokens: bool = True
    spaces_between_special_tokens: bool = True


@dataclass(frozen=True, slots=True)
class OutputDelta:
    """What some tokens add.

    Attributes:
        text: New text.
        num_tokens: How many of the tokens given belong to the output; those behind a stop string do not.
        stop: The stop string that ended the text.
    """

    text: str
    num_tokens: int
    stop: str | None = None


class OutputAssembler:
    """Detokenizes one choice and looks for its stop strings, token by token: the result does not depend on how the
    tokens were grouped.

    Args:
        tokenizer: Of the model.
        prompt_ids: What stands before.
        stops: Shared by the choices of a request; None: no stop strings.
        options: How tokens are shown.
        keep_ids: Tokens that are shown even where special ones are not.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        prompt_ids: Sequence[int],
        stops: StopStrings | None = None,
        options: TextOptions | None = None,
        keep_ids: Collection[int] = (),
    ) -> None:
        self._options = options or TextOptions()
        self._detokenizer = IncrementalDetokenizer(
            tokenizer,
            prompt_ids=prompt_ids,
            skip_special_tokens=self._options.skip_special_tokens,
            keep_ids=keep_ids,
            spaces_between_special_tokens=self._options.spaces_between_special_tokens,
        )
        include = self._options.include_stop_str_in_output
        self._plain = stops is None
        self._checker = StopChecker(stops or StopStrings(()), include_in_output=include)
        self._num_tokens = 0
        self._ended = False

    def push(self, ids: Sequence[int], *, ends_with_stop_token: bool = False) -> OutputDelta:
        """Add new tokens.

        Args:
            ids: In order.
            ends_with_stop_token: The last id is what ended the text; it is shown only with
                ``include_stop_str_in_output``.

        Raises:
            ValueError: The text has ended.
        """
        if self._ended:
            raise ValueError("this output has ended; no token may follow")
        hides_last = ends_with_stop_token and not self._options.include_stop_str_in_output
        if self._plain and not hides_last:
            self._num_tokens += len(ids)
            return OutputDelta("".join([self._detokenizer.push_text(index) for index in ids]), len(ids))
        texts: list[str] = []
        for place, index in enumerate(ids, 1):
            self._num_tokens += 1
            if hides_last and place == len(ids):
                self._hide(index)
                break
            delta = self._add(index)
            texts.append(delta.text)
            if delta.stop is not None:
                self._ended = True
                return OutputDelta("".join(texts), place, delta.stop)
        return OutputDelta("".join(texts), len(ids))

    def finish(self) -> OutputDelta:
        """No more tokens come: what was held back. Empty after a stop string."""
        if self._ended:
            return OutputDelta("", 0)
        self._ended = True
        delta = self._end()
        rest = "" if delta.stop is not None else self._rest()
        return OutputDelta(delta.text + rest, 0, delta.stop)

    @property
    def _may_stop(self) -> bool:
        return self._num_tokens > self._options.min_tokens

    def _add(self, index: int) -> StopDelta:
        """One token more."""
        return self._checker.push(self._detokenizer.push_text(index), may_stop=self._may_stop)

    def _hide(self, index: int) -> None:
        """The token that ended the text, and is no part of it."""

    def _end(self) -> StopDelta:
        """What the detokenizer held back."""
        return self._checker.push(text_of(self._detokenizer.flush()), may_stop=self._may_stop)

    def _rest(self) -> str:
        """What may still have become a stop string."""
        return self._checker.flush()
