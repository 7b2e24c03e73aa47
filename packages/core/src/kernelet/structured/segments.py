"""Answers of several stretches: free text, markers, and rules that an engine holds, one after the other.

A token is given to the stretch where the answer stands. Rules go on as long as a token fits; where their text is whole,
a token that does not fit may begin what follows, and a marker that is a token of its own ends them at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelet.contracts.structured import MAX_ROLLBACK, CompiledGrammar, Grammar
from kernelet.request.structured import FreeState, MarkerState, RulesState, State
from kernelet.structured.stretches import FreeText, MarkerChoice, check_exits, check_markers
from kernelet.structured.token_index import TokenIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(eq=False)
class Stay:
    """One stay in rules.

    Attributes:
        grammar: Where their text stands.
        count: Tokens that it has taken.
    """

    grammar: Grammar
    count: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer stands.

    Attributes:
        state: Index; None: behind the last one, nothing may follow.
        text: What free text and markers know their place from.
        stay: In rules.
        count: Tokens of the stay.
    """

    state: int | None
    text: bytes = b""
    stay: Stay | None = None
    count: int = 0


class Program:
    """States over compiled grammars; shared by all answers.

    Args:
        states: The answer begins in the first one.
        grammars: What ``RulesState`` names, by digest.
        index: Of the vocabulary.

    Raises:
        ValueError: a state leads nowhere, or two markers cannot be told apart.
    """

    def __init__(self, states: Sequence[State], grammars: Mapping[str, CompiledGrammar], index: TokenIndex) -> None:
        check_states(states)
        self.states = tuple(states)
        self._grammars = grammars
        self._stretches: dict[int, FreeText | MarkerChoice] = {}
        for number, state in enumerate(states):
            if isinstance(state, FreeState):
                self._stretches[number] = FreeText(index, state)
            elif isinstance(state, MarkerState):
                self._stretches[number] = MarkerChoice(index, state)

    def stretch(self, place: Place) -> FreeText | MarkerChoice:
        """The state of a place that is not in rules."""
        assert place.state is not None
        return self._stretches[place.state]

    def enter(self, state: int | None) -> Place:
        """The first place of a state."""
        known = None if state is None else self.states[state]
        if isinstance(known, RulesState):
            return Place(state, stay=Stay(self._grammars[known.digest].start()))
        return Place(state)

    def start(self) -> ProgramGrammar:
        """A new answer."""
        return ProgramGrammar(self, self.enter(0))


class ProgramGrammar(Grammar):
    """One answer.

    Args:
        program: What it follows.
        place: Where it stands.

    Attributes:
        place: Where it stands.
        before: Where it stood before each of its last tokens.
    """

    def __init__(self, program: Program, place: Place) -> None:
        self._program = program
        self.place = place
        self.before: deque[Place] = deque(maxlen=MAX_ROLLBACK)
        self._known: list[Place] | None = None

    def accept(self, token_ids: Sequence[int]) -> bool:
        if len(token_ids) > MAX_ROLLBACK:
            return self._accept_many(token_ids)
        count = self.take(token_ids)
        if count < len(token_ids):
            self.rollback(count)
            return False
        return True

    def validate(self, token_ids: Sequence[int]) -> int:
        if len(token_ids) > MAX_ROLLBACK:
            return self._fork().take(token_ids)
        count = self.take(token_ids)
        self.rollback(count)
        return count

    def rollback(self, num_tokens: int) -> None:
        if not 0 <= num_tokens <= len(self.before):
            raise ValueError(f"{num_tokens} tokens cannot be taken back")
        for _ in range(num_tokens):
            self._return(self.before.pop())

    def fork(self) -> Grammar:
        return self._fork()

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        row[:] = 0
        for number, place in enumerate(self._places()):
            if place.stay is None:
                row |= self._program.stretch(place).mask(place.text)
            elif number == 0:
                place.stay.grammar.fill_mask(row)
            else:
                more = np.empty_like(row)
                place.stay.grammar.fill_mask(more)
                row |= more

    def can_end(self) -> bool:
        return self.place.state is None or any(self._may_end(place) for place in self._places())

    def must_end(self) -> bool:
        for place in self._places():
            if place.stay is None:
                if self._program.stretch(place).mask(place.text).any():
                    return False
            elif not place.stay.grammar.must_end():
                return False
        return True

    def forced(self) -> bytes:
        places = self._places()
        if len(places) != 1 or self._may_end(places[0]):
            return b""
        stay = places[0].stay
        if stay is not None:
            return b"" if stay.grammar.can_end() else stay.grammar.forced()
        stretch = self._program.stretch(places[0])
        return stretch.forced(places[0].text) if isinstance(stretch, MarkerChoice) else b""

    def _places(self) -> list[Place]:
        """Where the next token may be taken: here, and behind rules whose text is whole; none behind the last state."""
        if self._known is None:
            found = [self.place]
            if self.place.stay is not None and self.place.count == 0:
                instead = self._rules(self.place).instead
                found += [] if instead is None else [self._program.enter(instead)]
            place = self.place
            while (stay := place.stay) is not None and stay.grammar.can_end():
                following = self._rules(place).next
                if following is None:
                    break
                place = self._program.enter(following)
                found.append(place)
            self._known = [place for place in found if place.state is not None]
        return self._known

    def _may_end(self, place: Place) -> bool:
        if place.stay is not None:
            return self._rules(place).next is None and place.stay.grammar.can_end()
        state = self._program.states[place.state or 0]
        if isinstance(state, MarkerState):
            return state.may_end and not place.text
        return isinstance(state, FreeState) and state.may_end

    def _rules(self, place: Place) -> RulesState:
        state = self._program.states[place.state or 0]
        assert isinstance(state, RulesState)
        return state

    def take(self, token_ids: Sequence[int]) -> int:
        """Takes tokens as far as they fit, and says how many."""
        for count, token_id in enumerate(token_ids):
            before, after = self.place, self._next(token_id)
            if after is None:
                return count
            self.before.append(before)
            self._stand(after)
        return len(token_ids)

    def _next(self, token_id: int) -> Place | None:
        places = self._places()
        for place in places:
            if place.stay is None and (after := self._follow(place, token_id, whole=True)):
                return after
        for place in places:
            stay = place.stay
            if stay is None:
                after = self._follow(place, token_id, whole=False)
                if after:
                    return after
            elif stay.grammar.accept((token_id,)):
                stay.count += 1
                return Place(place.state, stay=stay, count=stay.count)
        return None

    def _follow(self, place: Place, token_id: int, *, whole: bool) -> Place | None:
        """Where a token leads from free text or a marker.

        Args:
            place: There.
            token_id: What comes.
            whole: Only if it is a marker by itself.
        """
        step = self._program.stretch(place).step(place.text, token_id)
        if step is None or (whole and (step.exit is None or step.exit.marker.token_id is None)):
            return None
        return Place(place.state, step.place) if step.exit is None else self._program.enter(step.exit.next)

    def _stand(self, place: Place) -> None:
        self.place = place
        self._known = None

    def _return(self, place: Place) -> None:
        """Takes back what the stay of a place has taken since."""
        stay = place.stay
        if stay is not None and stay.count > place.count:
            stay.grammar.rollback(stay.count - place.count)
            stay.count = place.count
        self._stand(place)

    def _accept_many(self, token_ids: Sequence[int]) -> bool:
        """More tokens than can be taken back: on a fork, which this becomes."""
        ahead = self._fork()
        if ahead.take(token_ids) < len(token_ids):
            return False
        self.before = ahead.before
        self._stand(ahead.place)
        return True

    def _fork(self) -> ProgramGrammar:
        stays: dict[Stay, Stay] = {}

        def copied(place: Place) -> Place:
            if place.stay is None:
                return place
            if place.stay not in stays:
                stays[place.stay] = Stay(place.stay.grammar.fork(), place.stay.count)
            return Place(place.state, stay=stays[place.stay], count=place.count)

        other = ProgramGrammar(self._program, copied(self.place))
        other.before.extend(map(copied, self.before))
        return other


def check_states(states: Sequence[State]) -> None:
    """What can be said of states without a vocabulary.

    Raises:
        ValueError: one leads nowhere, or two markers cannot be told apart.
    """
    if not states:
        raise ValueError("a program has no state")
    for state in states:
        if isinstance(state, RulesState):
            if state.next is not None and not 0 <= state.next < len(states):
                raise ValueError(f"rules lead to state {state.next} of {len(states)}")
            if state.instead is not None and not _are_tokens(states, state.instead):
                raise ValueError(f"state {state.instead}, which may come in place of rules, is none of tokens")
            continue
        check_exits(state.exits, len(states))
        if isinstance(state, FreeState):
            check_markers([*(exit_.marker for exit_ in state.exits), *state.excludes])
        elif not state.exits:
            raise ValueError("a state of markers has none")


def _are_tokens(states: Sequence[State], number: int) -> bool:
    state = states[number] if 0 <= number < len(states) else None
    return isinstance(state, MarkerState) and all(exit_.marker.token_id is not None for exit_ in state.exits)
