"""Runs a table over the text of one choice."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

from kernelet.contracts.parsing import REASONING
from kernelet.text.parsing.draft import Draft, new_call_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kernelet.request.message import ParsedMessage
    from kernelet.text.detokenizer import Span
    from kernelet.text.parsing.scanner import Step
    from kernelet.text.parsing.table import CompiledTable

_LONGEST: Final = 4096
"""Characters of a piece: what follows a marker is looked at as a copy."""

_MOST_TURNS: Final = 32
"""States that take nothing, one after the other."""


class OutputParser:
    """One choice of one request; make one for each.

    The message does not depend on how the text was cut into spans, and no character is looked at twice but for those
    of a marker that the next state begins with.

    Args:
        table: What to run.
        tools: The functions that may be called, for the types of their parameters.
        drops_calls: Neither calls nor their markup become part of the message.
        only_calls: The text is held to calls: what there is of one that was cut is no content.
        draft: What is written to; None: one of its own.

    Attributes:
        looked: Characters looked at until now.
    """

    def __init__(
        self,
        table: CompiledTable,
        tools: Iterable[Mapping[str, Any]] = (),
        *,
        drops_calls: bool = False,
        only_calls: bool = False,
        draft: Draft | None = None,
    ) -> None:
        self._table = table
        new_id = table.table.new_id or new_call_id
        self._draft = draft or Draft(tools, new_id, drops_calls=drops_calls, only_calls=only_calls)
        self._state = table.table.start
        self._scanner = table.scanner(self._state, self._draft, fresh=True)
        self._dropped = ""
        self._turns = 0
        self.looked = 0

    @property
    def message(self) -> ParsedMessage:
        """What was parsed until now; it grows."""
        return self._draft.message

    @property
    def in_reasoning(self) -> bool:
        """Whether the model thinks now."""
        return self._table.writes(self._state) == REASONING

    @property
    def state(self) -> str:
        """Name of the state it is in."""
        return self._state

    @property
    def dropped(self) -> str:
        """Characters that are dropped if they come now."""
        return self._dropped

    def fork(self) -> OutputParser:
        """Another one that stands where this one does; neither notices the other."""
        return copy.deepcopy(self, {id(self._table): self._table})

    def push(self, spans: Iterable[Span]) -> None:
        """More of the choice."""
        for span in spans:
            before = self._table.writes(self._state)
            if span.special and span.text in self._table.tokens:
                self._token(span.text)
            else:
                for start in range(0, len(span.text), _LONGEST):
                    self._text(span.text[start : start + _LONGEST])
            self._count(before, len(span.token_ids))

    def finish(self, *, cut: bool = False) -> ParsedMessage:
        """No more text comes: what was held back becomes part of the message.

        Args:
            cut: The text is not whole (its length was limited, a stop string ended it, it was aborted): parameters
                whose call did not end stay open.
        """
        self._scanner.finish()
        self._draft.finish(cut=cut)
        return self.message

    def _count(self, before: str, num_tokens: int) -> None:
        """Tokens of a span, which began where ``before`` was written; markers are reasoning's or nobody's."""
        after = self._table.writes(self._state)
        if REASONING in {before, after}:
            self._draft.count(REASONING, num_tokens)
        else:
            self._draft.count(after if after in {before, self._draft.last_kind} else "", num_tokens)

    def _text(self, text: str) -> None:
        place = 0
        while place < len(text):
            if self._dropped:
                kept = text[place:].lstrip(self._dropped)
                start, place = place, len(text) - len(kept)
                self.looked += place - start
                self._draft.expect(text[start:place])
                if not kept:
                    self._draft.skip()
                    return
                self._dropped = ""
            step = self._scanner.feed(text[place:])
            place += step.used
            self.looked += step.used
            self._follow(step)

    def _token(self, marker: str) -> None:
        self._dropped = ""
        step = self._scanner.token(marker)
        while step.to is not None and step.used == 0:
            self._follow(step)
            step = self._scanner.token(marker)
        self.looked += len(marker)
        self._follow(step)
        if step.used < len(marker):
            self._text(marker[step.used :])

    def _follow(self, step: Step) -> None:
        if step.to is None:
            return
        self._check_progress(step)
        self._state = step.to
        self._scanner = self._table.scanner(step.to, self._draft, fresh=step.fresh)
        self._dropped = ""
        if not step.again:
            self._dropped = step.after
        elif step.again in self._table.tokens:
            self._token(step.again)
        else:
            self._text(step.again)

    def _check_progress(self, step: Step) -> None:
        """A table must not hand the same text from state to state for ever."""
        self._turns = self._turns + 1 if step.again or not step.used else 0
        if self._turns > _MOST_TURNS:
            raise ValueError(f"the parser's table goes in circles: state {self._state!r} hands its text on")
