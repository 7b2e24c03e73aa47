"""Token ids of one choice to its text, and to what a parser makes of it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from kernelet.text.detokenizer import Span
from kernelet.text.output import OutputAssembler
from kernelet.text.stop import StopDelta

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from kernelet.text.output import TextOptions
    from kernelet.text.stop import StopStrings
    from kernelet.text.tokenizer import Tokenizer


class TakesSpans(Protocol):
    """What text is given to."""

    def push(self, spans: Iterable[Span]) -> None:
        """More of it."""


class ParsedAssembler(OutputAssembler):
    """Of a choice that is parsed: its text is the same, and the parser is fed with it.

    The parser is given the text up to a stop string, and every marker that is a token: also where markers are not
    shown, or ended the text. A marker that a stop string cuts is text.

    Args:
        tokenizer: Of the model.
        prompt_ids: What stands before.
        parser: Of this choice; ``finish`` is its owner's to call.
        marker_ids: Tokens that are markers of the parser.
        stops: Shared by the choices of a request; None: no stop strings.
        options: How tokens are shown.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        prompt_ids: Sequence[int],
        parser: TakesSpans,
        marker_ids: Collection[int],
        stops: StopStrings | None = None,
        options: TextOptions | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._parser = parser
        self._markers = frozenset(marker_ids)
        skips = options is None or options.skip_special_tokens
        self._hidden = frozenset(index for index in self._markers if skips and tokenizer.is_special(index))
        super().__init__(tokenizer, prompt_ids, stops, options, self._markers - self._hidden)
        self._plain = False  # spans are needed, not their text alone
        self._waiting: deque[tuple[str, Span]] = deque()  # text as it is shown, and as the parser sees it
        self._certain = 0  # characters of what waits that no stop string can take any more

    def _add(self, index: int) -> StopDelta:
        # a character that is unfinished before a marker does not go on behind it
        before = self._detokenizer.flush() if index in self._hidden else []
        return self._take([*before, *self._detokenizer.push(index)])

    def _end(self) -> StopDelta:
        return self._take(self._detokenizer.flush())

    def _rest(self) -> str:
        rest = super()._rest()
        self._release(len(rest))
        return rest

    def _hide(self, index: int) -> None:
        """The token that ended the text: no part of it, but the parser may wait for it."""
        if index in self._markers:
            self._waiting.append(("", self._marker(index)))
            self._release(0)

    def _take(self, spans: Sequence[Span]) -> StopDelta:
        texts = []
        for shown, span in self._seen(spans):
            self._waiting.append((shown, span))
            delta = self._checker.push(shown, may_stop=self._may_stop)
            texts.append(delta.text)
            self._release(len(delta.text))
            if delta.stop is not None:
                self._cut()
                return StopDelta("".join(texts), delta.stop)
        return StopDelta("".join(texts))

    def _seen(self, spans: Sequence[Span]) -> Iterator[tuple[str, Span]]:
        """Each span's text as it is shown, and the span as the parser sees it."""
        for span in spans:
            hidden = [index for index in span.token_ids if index in self._hidden]
            for index in hidden:
                yield "", self._marker(index)
            rest = tuple(index for index in span.token_ids if index not in self._hidden)
            last = rest[-1] if rest else None
            if span.special and last in self._markers:
                yield from self._split(span, last)
            elif rest or span.text:
                yield span.text, Span(span.text, rest)

    def _split(self, span: Span, index: int) -> Iterator[tuple[str, Span]]:
        """A marker that is shown; some decoders write a space before it."""
        marker = self._marker(index)
        before = span.text.removesuffix(marker.text)
        if before:
            yield before, Span(before, ())
        yield marker.text, marker

    def _marker(self, index: int) -> Span:
        return Span(self._tokenizer.added_token(index) or "", (index,), special=True)

    def _release(self, count: int) -> None:
        """So many characters more are certain: gives the parser what they complete."""
        self._certain += count
        done: list[Span] = []
        while self._waiting and len(self._waiting[0][0]) <= self._certain:
            shown, span = self._waiting.popleft()
            self._certain -= len(shown)
            done.append(span)
        self._parser.push(done)

    def _cut(self) -> None:
        """A stop string ended the text within what waits: what stands before it is given, the rest never was."""
        if self._certain:
            shown, span = self._waiting[0]
            self._parser.push([Span(shown[: self._certain], span.token_ids)])
        self._waiting.clear()
