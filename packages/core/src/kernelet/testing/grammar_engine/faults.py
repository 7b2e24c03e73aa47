"""Wrong grammar engines."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import Chars, Expression, GrammarEngineOffer, GrammarRules, Repeat, Text
from kernelet.testing.faults import Fault
from kernelet.testing.grammar_engine.expressions import changed
from kernelet.testing.grammar_engine.places import Place
from kernelet.testing.grammar_engine.reference import ReferenceCompiled, ReferenceEngine, ReferenceGrammar
from kernelet.testing.grammar_engine.suite import GrammarEngineCapabilities, GrammarEngineSuite
from kernelet.testing.offered import Offered

if TYPE_CHECKING:
    from numpy.typing import NDArray


def suite_of(engine: type[Any], *, forces: bool = False) -> type[GrammarEngineSuite]:
    """The suite as the author of that engine writes it."""

    class Faulty(GrammarEngineSuite):
        capabilities = GrammarEngineCapabilities(forces=forces)

        @pytest.fixture
        def offered(self) -> Offered[GrammarEngineOffer]:
            there = engine if globals().get(engine.__name__) is engine else ReferenceEngine  # both compile alike
            offer = GrammarEngineOffer(name="faulty", target=f"{there.__module__}:{there.__qualname__}")
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=engine)

    return Faulty


class Faulty(ReferenceEngine):
    """An engine whose answers are of a class of its own."""

    answer: ClassVar[type[ReferenceGrammar]]

    def load(self, compiled: bytes) -> ReferenceCompiled:
        right = super().load(compiled)
        right.answer = self.answer
        return right


def engine_of(grammar: type[ReferenceGrammar]) -> type[ReferenceEngine]:
    """An engine with these answers."""
    return type(grammar.__name__, (Faulty,), {"answer": grammar})


# --- engines ---------------------------------------------------------------------------------------


class NoEngine:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class ReturnsRules(ReferenceEngine):
    def compile(self, rules: GrammarRules) -> Any:
        return rules


class ChecksNothing(ReferenceEngine):
    def compile(self, rules: GrammarRules) -> bytes:
        try:
            return super().compile(rules)
        except ValueError:
            return super().compile(GrammarRules({"root": Text("a")}))


class Trips(ReferenceEngine):
    def compile(self, rules: GrammarRules) -> bytes:
        return super().compile(GrammarRules({"root": rules.rules["root"], **rules.rules}))


class Sulks(ReferenceEngine):
    hurt = False

    def compile(self, rules: GrammarRules) -> bytes:
        if self.hurt:
            raise RuntimeError("the compiler is in a bad state")
        self.hurt = True
        compiled = super().compile(rules)
        self.hurt = False
        return compiled


class Hoards(ReferenceEngine):
    def load(self, compiled: bytes) -> ReferenceCompiled:
        self.__dict__.setdefault("hoard", []).append(bytearray(compiled))
        return super().load(compiled)


class Notes(ReferenceEngine):
    """``compile`` returns the number under which this object has the grammar."""

    def compile(self, rules: GrammarRules) -> bytes:
        notes = self.__dict__.setdefault("notes", [])
        notes.append(super().compile(rules))
        return str(len(notes) - 1).encode()

    def load(self, compiled: bytes) -> ReferenceCompiled:
        return super().load(self.__dict__.setdefault("notes", [b""])[int(compiled)])


class NotesOfTheProcess(ReferenceEngine):
    notes: ClassVar[list[bytes]] = []

    def compile(self, rules: GrammarRules) -> bytes:
        self.notes.append(super().compile(rules))
        return str(len(self.notes) - 1).encode()

    def load(self, compiled: bytes) -> ReferenceCompiled:
        return super().load(self.notes[int(compiled)])


class OneAnswer(ReferenceEngine):
    def load(self, compiled: bytes) -> ReferenceCompiled:
        right = super().load(compiled)
        answer = right.start()
        right.start = lambda: answer  # type: ignore[method-assign]
        return right


class Weightless(ReferenceEngine):
    def load(self, compiled: bytes) -> ReferenceCompiled:
        right = super().load(compiled)
        right._num_bytes = 0  # noqa: SLF001 - the fault
        return right


class Rewrites(ReferenceEngine):
    """Each expression is another before it is compiled."""

    def compile(self, rules: GrammarRules) -> bytes:
        rules = GrammarRules({name: changed(one, self.rewrite) for name, one in rules.rules.items()})
        return super().compile(rules)

    def rewrite(self, expression: Expression) -> Expression:
        return expression


class LosesCount(Rewrites):
    def rewrite(self, expression: Expression) -> Expression:
        if isinstance(expression, Repeat) and expression.minimum > 255:
            return Repeat(expression.item, 255, None)
        return expression


class KnowsBrackets(Rewrites):
    """``]`` ends its classes."""

    def rewrite(self, expression: Expression) -> Expression:
        if isinstance(expression, Chars) and expression.ranges[0][0] == ord("]"):
            return Chars(((ord("["), ord("[")),))
        return expression


class EndsClassesEarly(Rewrites):
    """The last character of a class is none of it."""

    def rewrite(self, expression: Expression) -> Expression:
        if isinstance(expression, Chars) and expression.ranges[0][0] < expression.ranges[0][1]:
            (low, high), *others = expression.ranges
            return Chars(((low, high - 1), *others))
        return expression


# --- answers ---------------------------------------------------------------------------------------


class Late(ReferenceGrammar):
    @property
    def place(self) -> Place:
        return self._places[max(0, len(self._places) - 2)]

    def _follow(self, token_ids: Sequence[int]) -> list[Place]:
        late, places = ReferenceGrammar(self._compiled, self._places), list[Place]()
        for token_id in token_ids:
            places += late._follow([token_id])  # noqa: SLF001 - its own kind
            late._places += places[-1:]  # noqa: SLF001
        return places[: len(token_ids)]


class NeverBack(ReferenceGrammar):
    def rollback(self, num_tokens: int) -> None:
        del num_tokens


class ShortMemory(ReferenceGrammar):
    def rollback(self, num_tokens: int) -> None:
        super().rollback(min(num_tokens, 32))


class Stops(ReferenceGrammar):
    def fill_mask(self, row: NDArray[np.int32]) -> None:
        super().fill_mask(row)
        for stop in self._compiled.vocabulary.stop_token_ids if self.can_end() else ():
            row[stop // 32] |= np.int32(1 << stop % 32)


class TakesStops(ReferenceGrammar):
    def _follow(self, token_ids: Sequence[int]) -> list[Place]:
        stops = set(self._compiled.vocabulary.stop_token_ids)
        places = super()._follow([token for token in token_ids if token not in stops])
        return places + [places[-1] if places else self.place] * bool(stops & set(token_ids))


class Overflows(ReferenceGrammar):
    def fill_mask(self, row: NDArray[np.int32]) -> None:
        wide = np.lib.stride_tricks.as_strided(row, (len(row) + 1,))
        wide[-1] = 0
        super().fill_mask(row)


class Beyond(ReferenceGrammar):
    def fill_mask(self, row: NDArray[np.int32]) -> None:
        super().fill_mask(row)
        row[-1] |= np.int32(-1 << len(self._compiled.vocabulary.token_bytes) % 32)


class Lazy(ReferenceGrammar):
    """Words without a token are left as they are, if the row seems to be new."""

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        before = row.copy()
        super().fill_mask(row)
        if before[0] == 0x55555555:
            row[row == 0] = before[row == 0]


class Singles(ReferenceGrammar):
    """Only some tokens are looked at."""

    def fill_mask(self, row: NDArray[np.int32]) -> None:
        bits = np.zeros(32 * len(row), np.bool_)
        bits[self.seen()] = True
        row[:] = np.packbits(bits, bitorder="little").view("<i4")

    def seen(self) -> list[int]:
        tokens = self._compiled.vocabulary.token_bytes
        return [token for token in self.allowed() if len(tokens[token]) == 1 or not tokens[token].isascii()]


class Whole(Singles):
    def seen(self) -> list[int]:
        tokens = self._compiled.vocabulary.token_bytes
        return [token for token in self.allowed() if tokens[token].decode(errors="ignore").encode() == tokens[token]]


class Overlong(Singles):
    def seen(self) -> list[int]:
        _, pending = self.place
        return [*self.allowed(), *(range(0x80, 0xA0) if pending == b"\xe0" else ())]


class Once(Singles):
    def seen(self) -> list[int]:
        tokens = self._compiled.vocabulary.token_bytes
        return list({tokens[token]: token for token in self.allowed()}.values())


class Advances(ReferenceGrammar):
    def validate(self, token_ids: Sequence[int]) -> int:
        places = self._follow(token_ids)
        self._places += places
        return len(places)


class AllOrNone(ReferenceGrammar):
    def validate(self, token_ids: Sequence[int]) -> int:
        count = super().validate(token_ids)
        return count if count == len(token_ids) else 0


class TakesSome(ReferenceGrammar):
    def accept(self, token_ids: Sequence[int]) -> bool:
        places = self._follow(token_ids)
        self._places += places
        return len(places) == len(token_ids)


class TakesAny(ReferenceGrammar):
    """Of many tokens the last is believed."""

    def accept(self, token_ids: Sequence[int]) -> bool:
        return super().accept(token_ids[:-1] if len(token_ids) > 1 else token_ids)


class OneCall(ReferenceGrammar):
    def accept(self, token_ids: Sequence[int]) -> bool:
        return not (token_ids and self.can_end()) and super().accept(token_ids)


class Twins(ReferenceGrammar):
    def fork(self) -> ReferenceGrammar:
        fork = super().fork()
        fork._places = self._places  # noqa: SLF001 - the fault
        return fork


class EndsEarly(ReferenceGrammar):
    def must_end(self) -> bool:
        return self.can_end()


class EndsLate(ReferenceGrammar):
    def can_end(self) -> bool:
        return self.must_end() and super().can_end()


class Guesses(ReferenceGrammar):
    def forced(self) -> bytes:
        tokens, allowed = self._compiled.vocabulary.token_bytes, self.allowed()
        return tokens[min(allowed)] if allowed and not self.can_end() else b""


class Desk(ReferenceGrammar):
    """One desk for all threads."""

    desk: ClassVar[list[Place]] = []

    def allowed(self) -> list[int]:
        self.desk[:] = [self.place]
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.0005)
        return self._compiled.fitting(self.desk[0])


class Shallow(ReferenceGrammar):
    """Of many brackets that open it knows 64."""

    def accept(self, token_ids: Sequence[int]) -> bool:
        return super().accept(token_ids) and list(token_ids[:65]) != [ord("(")] * 65


_ENGINES: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-engine", NoEngine, "is no GrammarEngine"),
    ("returns-an-object", ReturnsRules, "compile() must return bytes"),
    ("compiles-what-is-no-grammar", ChecksNothing, "compile() must raise ValueError for what is no grammar"),
    ("raises-what-comes", Trips, "compile() must raise ValueError, not"),
    ("is-broken-by-bad-rules", Sulks, "an engine must stay usable after rules that it refused"),
    ("keeps-every-grammar", Hoards, "an engine's memory must be bounded"),
    ("compiles-into-itself", Notes, "load() must need nothing but the bytes that compile() returned"),
    ("compiles-into-its-process", NotesOfTheProcess, "load() must take the bytes of another process's compile()"),
    ("has-one-answer", OneAnswer, "answers must share no state"),
    ("weighs-nothing", Weightless, "num_bytes must be about the memory that a grammar takes"),
    ("loses-count", LosesCount, "a repeat must be held to its bounds"),
    ("takes-a-bracket-for-a-sign", KnowsBrackets, "every character must stand for itself"),
    ("ends-its-classes-early", EndsClassesEarly, "a mask must allow every character that the rules allow"),
)

_ANSWERS: tuple[tuple[str, type[ReferenceGrammar], str], ...] = (
    ("accepts-one-token-late", Late, "a mask must forbid what the rules forbid"),
    ("forgets-to-roll-back", NeverBack, "rollback() must lead back to where the answer stood"),
    ("rolls-back-32", ShortMemory, "rollback() of up to 64 tokens"),
    ("allows-stop-tokens", Stops, "a token without bytes must never be allowed"),
    ("accepts-stop-tokens", TakesStops, "stop tokens are no text"),
    ("writes-into-the-next-row", Overflows, "fill_mask() must write its own row only"),
    ("sets-bits-beyond-the-vocabulary", Beyond, "bits beyond the vocabulary must be 0"),
    ("leaves-words-as-they-are", Lazy, "fill_mask() must write every word of its row"),
    ("masks-single-bytes", Singles, "a mask must allow tokens of several characters"),
    ("masks-whole-characters", Whole, "a mask must allow tokens that are parts of characters"),
    ("allows-overlong-forms", Overlong, "tokens must be UTF-8 of characters that the rules allow"),
    ("masks-one-of-the-same", Once, "a mask must allow all tokens of the same bytes"),
    ("advances-when-asked", Advances, "validate() must change nothing"),
    ("counts-all-or-nothing", AllOrNone, "validate() must count"),
    ("takes-what-it-can", TakesSome, "a refused accept() must change nothing"),
    ("believes-the-last-token", TakesAny, "accept() must refuse all tokens where one does not fit"),
    ("ends-with-the-first-call", OneCall, "accept() must take the tokens that the rules allow"),
    ("forks-into-itself", Twins, "a fork and its origin must not notice each other"),
    ("must-end-where-it-can", EndsEarly, "must_end() must be whether no token fits"),
    ("can-end-where-it-must", EndsLate, "can_end() must be whether the text is whole"),
    ("guesses-what-follows", Guesses, "forced() must be bytes with which every continuation begins"),
    ("has-one-desk-for-all-threads", Desk, "answers in several threads must not disturb each other"),
    ("knows-64-levels", Shallow, "recursion must be held to its depth"),
)

FAULTS = (
    *(Fault(name=name, suite=suite_of(engine), says=says) for name, engine, says in _ENGINES),
    *(Fault(name=name, suite=suite_of(engine_of(answer)), says=says) for name, answer, says in _ANSWERS),
    Fault(
        name="forces-nothing-against-its-promise",
        suite=suite_of(engine_of(type("Silent", (ReferenceGrammar,), {"forced": lambda _: b""})), forces=True),
        says="forced() must find a text that is written out",
    ),
)
