"""Scanners of text that a marker ends: content, reasoning, names, headers, values."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from kernelet.contracts.parsing import CONTENT
from kernelet.text.parsing.matcher import Found, Matcher
from kernelet.text.parsing.scanner import Scanner, Step

if TYPE_CHECKING:
    from kernelet.contracts.parsing import Exit, HeaderState, NameState, ParameterNameState, ParameterValueState
    from kernelet.text.parsing.draft import Draft
    from kernelet.text.parsing.matcher import Patterns


class MarkedScanner(Scanner):
    """Text up to a marker.

    Args:
        patterns: The exits.
        draft: What is written to.
        fresh: Exits that count at the start may come.
    """

    def __init__(self, patterns: Patterns, draft: Draft, *, fresh: bool = True) -> None:
        self._matcher = Matcher(patterns, fresh=fresh)
        self._draft = draft

    def feed(self, text: str) -> Step:
        """Takes text up to the first marker."""
        return self._take(self._matcher.feed(text))

    def token(self, marker: str) -> Step:
        """Takes a marker; one that no exit has is text."""
        found = self._matcher.token(marker)
        return self.feed(marker) if found is None else self._take(found)

    def finish(self) -> None:
        """Text that was held back is text."""
        if text := self._matcher.flush():
            self.add(text)
        self.end()

    def _take(self, found: Found) -> Step:
        if found.text:
            self.add(found.text)
        if found.exit is None:
            return Step(found.used)
        return self.leave(found, found.exit)

    def leave(self, found: Found, exit_: Exit) -> Step:
        """A marker ended the text."""
        kept = exit_.parts[-1] if exit_.keeps else ""
        to = self.exit(exit_, found.marker.removesuffix(kept))
        if to == CONTENT and not exit_.opens and self._draft.expects_call:
            self._draft.give_up(ended=True)
        return Step(found.used, to, again=kept, after=exit_.after)

    @abstractmethod
    def add(self, text: str) -> None:
        """More text."""

    def exit(self, exit_: Exit, marker: str) -> str:
        """Notes what an exit means for calls, and returns the state that follows.

        Args:
            exit_: What ended the text.
            marker: As it stood in the text, without what the next state begins with.
        """
        if exit_.closes:
            self._draft.end()
        if exit_.opens:
            self._draft.open(marker)
        else:
            self._draft.expect(marker)
        return exit_.to

    def end(self) -> None:
        """The text has ended without a marker."""


class TextScanner(MarkedScanner):
    """Text for the user, reasoning, or text that is dropped."""

    def __init__(self, patterns: Patterns, draft: Draft, into: str, skip: str, *, fresh: bool) -> None:
        super().__init__(patterns, draft, fresh=fresh)
        self._into = into
        self._skip = skip

    def add(self, text: str) -> None:
        """Writes it."""
        if self._skip:
            kept = text.lstrip(self._skip)
            self._draft.expect(text[: len(text) - len(kept)])
            if not kept:
                self._draft.skip()
                return
            text, self._skip = kept, ""
        self._draft.write(self._into, text)

    def exit(self, exit_: Exit, marker: str) -> str:
        """A marker that ends a call in content may belong to one that was given up."""
        if self._into == CONTENT == exit_.to and not exit_.opens and not self._draft.expects_call:
            self._draft.end_given_up(marker)
        return super().exit(exit_, marker)


class ArgumentsTextScanner(MarkedScanner):
    """Arguments of the open call that are no JSON."""

    def add(self, text: str) -> None:
        """More of them."""
        self._draft.arguments(text)


class CapturedScanner(MarkedScanner):
    """A short text that is read as a whole. One that reaches its limit is content."""

    def __init__(self, patterns: Patterns, draft: Draft, limit: int) -> None:
        super().__init__(patterns, draft)
        self._left = limit
        self._text: list[str] = []

    def feed(self, text: str) -> Step:
        """Takes text up to the marker or the limit."""
        step = super().feed(text[: self._left])
        self._left -= step.used
        if step.to is not None or self._left > 0:
            return step
        self.add(self._matcher.flush())
        return Step(step.used, self.refuse(), fresh=False)

    def add(self, text: str) -> None:
        """Keeps it."""
        self._text.append(text)

    def refuse(self, marker: str = "", *, ended: bool = False) -> str:
        """What was read is content; returns the state of content."""
        self._draft.give_up(self.text + marker, ended=ended)
        return CONTENT

    @property
    def text(self) -> str:
        """What came until now."""
        return "".join(self._text)


class NameScanner(CapturedScanner):
    """The name of a function."""

    def __init__(self, patterns: Patterns, draft: Draft, state: NameState) -> None:
        super().__init__(patterns, draft, state.limit)
        self._state = state

    def exit(self, exit_: Exit, marker: str) -> str:
        """The call begins, if the text is a name."""
        name = self._state.read(self.text)
        if not name.name:
            return self.refuse(marker, ended=exit_.closes)
        self._draft.begin(name)
        return super().exit(exit_, marker)

    def end(self) -> None:
        """A name that is not known to be whole is none."""
        self.refuse()


class HeaderScanner(CapturedScanner):
    """Text that says what comes."""

    def __init__(self, patterns: Patterns, draft: Draft, state: HeaderState) -> None:
        super().__init__(patterns, draft, state.limit)
        self._state = state

    def exit(self, exit_: Exit, marker: str) -> str:
        """What the header says."""
        turn = self._state.read(self.text)
        self._draft.expect(self.text)
        super().exit(exit_, marker)
        if turn.call is not None:
            self._draft.begin(turn.call)
        return turn.to

    def end(self) -> None:
        """A header that never ended said nothing, and is shown only where a call was expected."""
        if self._draft.expects_call:
            self.refuse()


class ParameterNameScanner(CapturedScanner):
    """The name of a parameter of the open call."""

    def __init__(self, patterns: Patterns, draft: Draft, state: ParameterNameState) -> None:
        super().__init__(patterns, draft, state.limit)
        self._state = state

    def exit(self, exit_: Exit, marker: str) -> str:
        """The parameter begins."""
        self._draft.parameters.key(self._state.read(self.text))
        return super().exit(exit_, marker)

    def refuse(self, marker: str = "", *, ended: bool = False) -> str:
        """A text too long for a name ends the call."""
        self._draft.end()
        return super().refuse(marker, ended=ended)


class ParameterValueScanner(MarkedScanner):
    """The value of a parameter of the open call."""

    def __init__(self, patterns: Patterns, draft: Draft, state: ParameterValueState) -> None:
        super().__init__(patterns, draft)
        self._ends = tuple((exit_.before, exit_.parts[0]) for exit_ in state.exits if len(exit_.parts) > 1)
        self._skip = state.skip
        self._trim = state.trim
        self._last = ""

    def add(self, text: str) -> None:
        """More of the value."""
        while self._skip and text:
            if text[0] not in self._skip:
                self._skip = ""
                break
            self._skip = self._skip.replace(text[0], "", 1)
            text = text[1:]
        if self._trim:
            text = self._last + text
            end = len(text) - len(_trimmed(text, self._trim)[1])
            text, self._last = text[:end], text[end:]
        self._draft.parameters.value(text)

    def exit(self, exit_: Exit, marker: str) -> str:
        """The value has ended."""
        self._draft.parameters.end_value()
        return super().exit(exit_, marker)

    def finish(self) -> None:
        """A value that no marker ended is as it came; of a marker of several texts, the first one ends it here."""
        text = self._matcher.flush()
        if any(text.lstrip(before).startswith(marker) for before, marker in self._ends):
            self._draft.parameters.end_value()
        else:
            self.add(text)
            self._draft.parameters.value(self._last)


def _trimmed(text: str, characters: str) -> tuple[str, str]:
    """A text without those characters at its end, at most one of each; and these."""
    end = len(text)
    while end and characters and text[end - 1] in characters:
        end -= 1
        characters = characters.replace(text[end], "", 1)
    return text[:end], text[end:]
