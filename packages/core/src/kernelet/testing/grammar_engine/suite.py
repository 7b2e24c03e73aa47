"""The suite of grammar engines: every mask and every end is what the rules say, by an engine that tries each token."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.structured import (
    MAX_ROLLBACK,
    Chars,
    Concat,
    GrammarEngine,
    GrammarEngineOffer,
    GrammarRules,
    Repeat,
    Rule,
    Text,
    TokenVocabulary,
    Union,
)
from kernelet.testing.grammar_engine.answers import Answer, Engines, outsider, says, walk
from kernelet.testing.grammar_engine.draw import CHARS, LOOPS, SPECIAL, drawn_rules
from kernelet.testing.grammar_engine.elsewhere import compile_elsewhere
from kernelet.testing.grammar_engine.expressions import count, words
from kernelet.testing.grammar_engine.recognizer import recognizes
from kernelet.testing.grammar_engine.resources import grown
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary, small_vocabulary
from kernelet.testing.offered import Offered
from kernelet.testing.search import SEARCH
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import ConformanceError, check

Make = Callable[..., GrammarEngine]

EXAMPLES = settings(SEARCH, max_examples=min(60, SEARCH.max_examples))
STEPS = 6
SEEDS = st.integers(0, 2**31)
MANY = 10_000
"""Largest bound of a repeat that core lets through by default."""

DIGITS = Chars(((48, 57),))
NUMBER = GrammarRules({"root": Repeat(DIGITS, 1, None)})
LETTERS = GrammarRules(
    {"root": Repeat(Union((Text("ab"), Chars(((97, 122), (0xE4, 0x20AC))), Text("\U0001f600"))), 0, None)}
)
BRACKETS = GrammarRules({"root": Repeat(Concat((Text("("), Rule("root"), Text(")"))), 0, None)})


@dataclass(frozen=True, kw_only=True)
class GrammarEngineCapabilities:
    """What an engine promises beyond the contract.

    Attributes:
        forces: ``forced`` finds a text that is written out in the rules, not only nothing.
        rules: Further rules, played beside the random ones: of reports, of the engine's own corners.
    """

    forces: bool = False
    rules: tuple[GrammarRules, ...] = ()


class GrammarEngineSuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", GrammarEngineOffer)``."""

    capabilities: ClassVar[GrammarEngineCapabilities] = GrammarEngineCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[GrammarEngineOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', GrammarEngineOffer)")

    @pytest.fixture
    def make(self, offered: Offered[GrammarEngineOffer]) -> Make:
        """Makes an engine, as a process does once a vocabulary."""

        def make(vocabulary: TokenVocabulary | None = None) -> GrammarEngine:
            engine = offered.target(offered.settings, vocabulary or byte_vocabulary())
            check(isinstance(engine, GrammarEngine), f"{offered.offer.target} is no GrammarEngine")
            assert isinstance(engine, GrammarEngine)
            return engine

        return make

    @pytest.fixture
    def engines(self, make: Make) -> Engines:
        """One for the bytes and some longer tokens, beside the reference."""
        return Engines(make())

    # --- objects -----------------------------------------------------------------------------------

    def test_compiled_grammars(self, engines: Engines) -> None:
        small = engines.compile(NUMBER).grammar.num_bytes
        large = engines.compile(GrammarRules({"root": long_text(2000)})).grammar.num_bytes
        check(
            0 < small < large,
            f"num_bytes must be about the memory that a grammar takes: {small} of a number, {large} of 2000 letters",
        )

    def test_another_engine_loads(self, make: Make) -> None:
        compiler, loader = make(), Engines(make())
        with says("load() must need nothing but the bytes that compile() returned"):
            walk(loader.load(compiler.compile(LETTERS), LETTERS), Random(1), STEPS)

    def test_bad_rules(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        """What is no grammar, and what the offer leaves out, is refused, or else enforced; and nothing is broken."""
        offer = offered.offer
        beyond = [] if offer.recursion else [BRACKETS]
        if offer.max_repeat is not None:
            beyond.append(GrammarRules({"root": Repeat(Text("a"), 0, offer.max_repeat + 1)}))
        if offer.max_expressions is not None:
            beyond.append(GrammarRules({"root": Concat((Text("ab"),) * offer.max_expressions)}))
            assert count(beyond[-1]) > offer.max_expressions
        for rules in (GrammarRules({"root": Rule("absent")}), GrammarRules({}), *beyond):
            try:
                compiled = engines.engine.compile(rules)
            except ValueError:
                with says("an engine must stay usable after rules that it refused"):
                    walk(engines.compile(NUMBER), Random(1), 2)
            except Exception as error:
                raise ConformanceError(f"compile() must raise ValueError, not {error!r}: {rules}") from error
            else:
                check(rules in beyond, f"compile() must raise ValueError for what is no grammar: {rules}")
                walk(engines.load(compiled, rules), Random(1), STEPS)

    # --- ends --------------------------------------------------------------------------------------

    def test_ends(self, engines: Engines) -> None:
        """What can end need not: numbers, and a text that begins another."""
        a_or_ab = GrammarRules({"root": Union((Text("a"), Text("ab")))})
        cases = (
            (NUMBER, "", False, False),
            (NUMBER, "1", True, False),
            (NUMBER, "123", True, False),
            (a_or_ab, "", False, False),
            (a_or_ab, "a", True, False),
            (a_or_ab, "ab", True, True),
            (GrammarRules({"root": Text("€")}), "€", True, True),
        )
        for rules, text, can, must in cases:
            answer = engines.compile(rules).start()
            answer.accept(list(text.encode()))
            found = answer.grammar.can_end(), answer.grammar.must_end()
            check(
                found == (can, must),
                f"can_end() is whether the text is whole, must_end() whether no token fits: {answer}, they must be "
                f"{can} and {must}, not {found[0]} and {found[1]}",
            )
            answer.look()

    def test_loops(self, engines: Engines) -> None:
        """What is repeated where an alternative or an option begins or ends stays in it."""
        for expression in LOOPS:
            rules = GrammarRules({"root": expression})
            compiled = engines.compile(rules)
            for text in words("abc", 4):
                grammar = compiled.start().grammar
                whole = all(grammar.accept([byte]) for byte in text.encode()) and grammar.can_end()
                check(
                    whole == recognizes(rules, text),
                    f"loops at the ends of alternatives and options must not leak: {expression} and {text!r}",
                )

    # --- corners -----------------------------------------------------------------------------------

    def test_rows(self, engines: Engines) -> None:
        for rules in (NUMBER, LETTERS):
            answer = engines.compile(rules).start()
            for _ in range(3):
                answer.look_at_row()
                answer.accept(answer.follow(Random(1), 1))

    def test_stop_tokens_are_no_text(self, engines: Engines) -> None:
        """Behind a text that is whole: in one call, in two, and again."""
        [stop] = engines.engine.vocabulary.stop_token_ids
        for rules in (NUMBER, GrammarRules({"root": Text("1")})):
            answer = engines.compile(rules).start()
            with says("stop tokens are no text: core decides where an answer ends"):
                self._refuses(answer, [ord("1")], stop)
                answer.accept([ord("1")])
                self._refuses(answer, [], stop)
                answer.look()

    def test_nothing_fits_always(self, engines: Engines) -> None:
        answer = engines.compile(NUMBER).start()
        check(answer.grammar.accept([]), "accept() of no tokens must be True")
        check(answer.grammar.validate([]) == 0, "validate() of no tokens must be 0")
        answer.rollback(0)
        answer.look("calls without tokens must change nothing")

    def test_answers_share_nothing(self, engines: Engines) -> None:
        numbers, letters = engines.compile(NUMBER), engines.compile(LETTERS)
        answers = [compiled.start() for compiled in (numbers, letters, numbers, letters)]
        for step in range(8):
            answer = answers[step % 4]
            answer.accept(answer.follow(Random(step), 1 + step % 3), "answers must share no state")
            for each in answers:
                each.look("answers must share no state")

    def test_characters(self, engines: Engines) -> None:
        """Each as text, as one of a class, and at the ends of a class."""
        for character in SPECIAL:
            code = ord(character)
            one_of = Chars(((code, code + 2),) if code % 2 else ((code, code), (code + 2, code + 2)))
            rules = GrammarRules({"root": Concat((Text(f"a{character}"), one_of, Repeat(Text(character), 0, 1)))})
            with says(f"every character must stand for itself: {character!r} does not"):
                for seed in range(2):
                    walk(engines.compile(rules), Random(seed), 4)

    def test_characters_of_several_bytes(self, engines: Engines) -> None:
        """No overlong forms, no surrogates, and nothing behind the last character."""
        for ranges in CHARS:
            compiled = engines.compile(GrammarRules({"root": Repeat(Chars(ranges), 1, 3)}))
            for lead in sorted({*range(0xC2, 0xF5)} & {*compiled.start().allowed}):
                answer = compiled.start()
                answer.accept([lead])
                answer.look("tokens must be UTF-8 of characters that the rules allow")

    def test_repeats(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        """Up to the largest that the offer allows, to the letter."""
        most = MANY if offered.offer.max_repeat is None else min(offered.offer.max_repeat, MANY)
        rules = GrammarRules({"root": Concat((Repeat(Chars(((97, 98),)), most, most), Text("c")))})
        answer = engines.compile(rules).start()
        sentence = "a repeat must be held to its bounds"
        answer.accept([97 + place % 2 for place in range(most - 1)], sentence)
        answer.look(sentence)
        answer.accept([97], sentence)
        answer.look(sentence)

    def test_recursion(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        if not offered.offer.recursion:
            pytest.skip("the engine offers no recursion")
        answer = engines.compile(BRACKETS).start()
        for text in ("(" * 100, ")" * 99, "()" * 3, ")"):
            answer.accept(list(text.encode()), "recursion must be held to its depth")
            answer.look("recursion must be held to its depth")

    def test_rollback_of_every_length(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        bounded = GrammarRules({"root": Repeat(Chars(((97, 98),)), 0, MAX_ROLLBACK + 8)})
        most = offered.offer.max_repeat
        for rules in (LETTERS, *([bounded] if most is None or most >= MAX_ROLLBACK + 8 else [])):
            answer, random = engines.compile(rules).start(), Random(1)
            with says(f"rollback() of up to {MAX_ROLLBACK} tokens must lead back to where the answer stood"):
                for length in range(1, MAX_ROLLBACK + 1):
                    answer.accept(random.choices(b"aaab", k=MAX_ROLLBACK + 8 - len(answer.tokens)))
                    answer.rollback(length)
                    answer.look()

    def test_own_rules(self, engines: Engines) -> None:
        for rules, seed in itertools.product(self.capabilities.rules, range(5)):
            walk(engines.compile(rules), Random(seed), 5 * STEPS)

    # --- random rules ------------------------------------------------------------------------------

    def test_masks(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        @EXAMPLES
        @given(rules=drawn_rules(offered.offer), seed=SEEDS)
        def masks(rules: GrammarRules, seed: int) -> None:
            walk(engines.compile(rules), Random(seed), STEPS)

        masks()

    def test_small_vocabularies(self, make: Make, offered: Offered[GrammarEngineOffer]) -> None:
        """Without some bytes, in another order, of full words; an engine may refuse what such a one cannot write."""
        engines = Engines(make(small_vocabulary()))

        @EXAMPLES
        @given(rules=drawn_rules(offered.offer), seed=SEEDS)
        def masks(rules: GrammarRules, seed: int) -> None:
            try:
                compiled = engines.engine.compile(rules)
            except ValueError:
                return
            walk(engines.load(compiled, rules), Random(seed), STEPS)

        masks()

    def test_accepts_what_masks_allow(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        @EXAMPLES
        @given(rules=drawn_rules(offered.offer), seed=SEEDS)
        def accepts(rules: GrammarRules, seed: int) -> None:
            random, answer = Random(seed), engines.compile(rules).start()
            answer.accept(answer.follow(random, random.randint(0, 3)))
            good = answer.follow(random, random.randint(1, 3))
            ahead = answer.truth.fork()
            ahead.accept(good)
            bad = outsider(answer, random, set(ahead.allowed()))
            self._refuses(answer, good, bad)
            if good:
                answer.accept(good[:1])
                self._refuses(answer, good[1:], bad)
                answer.accept(good[1:], "accept() must not depend on how tokens are batched")
            answer.look("accept() must not depend on how tokens are batched")

        accepts()

    def _refuses(self, answer: Answer, good: list[int], bad: int) -> None:
        """``bad`` behind ``good`` fits nowhere."""
        counted = answer.grammar.validate([*good, bad])
        check(
            counted == len(good),
            f"validate() must count the tokens that accept() would take: {answer}, it counted {counted} of "
            f"{answer.text_of([*good, bad])}",
        )
        answer.look("validate() must change nothing")
        check(
            not answer.grammar.accept([*good, bad]),
            f"accept() must refuse all tokens where one does not fit: {answer}, it took {answer.text_of([*good, bad])}",
        )
        answer.look("a refused accept() must change nothing")

    def test_rollback(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        @EXAMPLES
        @given(rules=drawn_rules(offered.offer), seed=SEEDS)
        def goes_back(rules: GrammarRules, seed: int) -> None:
            random, answer = Random(seed), engines.compile(rules).start()
            for _ in range(4):
                answer.accept(answer.follow(random, random.randint(1, 5)))
                answer.rollback(random.randint(0, min(MAX_ROLLBACK, len(answer.tokens))))
                answer.look("rollback() must lead back to where the answer stood")

        goes_back()

    def test_forks(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        @EXAMPLES
        @given(rules=drawn_rules(offered.offer), seed=SEEDS)
        def forks(rules: GrammarRules, seed: int) -> None:
            random, answer = Random(seed), engines.compile(rules).start()
            answer.accept(answer.follow(random, 3))
            both = [answer, answer.fork()]
            for _ in range(3):
                one = random.choice(both)
                new = one.follow(random, 2)
                one.accept(new, "a fork must go on by itself")
                if random.random() < 0.3:
                    one.rollback(len(new))
                for each in both:
                    each.look("a fork and its origin must not notice each other")

        forks()

    def test_forced(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        @EXAMPLES
        @given(rules=drawn_rules(offered.offer), seed=SEEDS)
        def forces(rules: GrammarRules, seed: int) -> None:
            random, answer = Random(seed), engines.compile(rules).start()
            for _ in range(3):
                answer.look_ahead()
                answer.accept(answer.follow(random, 1))

        forces()
        answer = engines.compile(GrammarRules({"root": Concat((Text('{"name": '), Repeat(DIGITS, 1, 2)))})).start()
        check(
            not self.capabilities.forces or answer.look_ahead() == b'{"name": ',
            "forced() must find a text that is written out in the rules, or GrammarEngineCapabilities.forces be False",
        )

    # --- processes, threads, memory ----------------------------------------------------------------

    def test_threads(self, engines: Engines) -> None:
        """Answers of one grammar, and new grammars, in many threads."""
        shared = engines.compile(LETTERS)

        def play(seed: int) -> None:
            walk(shared if seed % 4 else engines.compile(NUMBER), Random(seed), STEPS)

        with ThreadPoolExecutor(8) as pool, says("answers in several threads must not disturb each other"):
            list(pool.map(play, range(24)))

    def test_another_process_compiles(self, engines: Engines, offered: Offered[GrammarEngineOffer]) -> None:
        with says("load() must take the bytes of another process's compile()"):
            walk(engines.load(compile_elsewhere(offered, LETTERS), LETTERS), Random(1), STEPS)

    def test_memory(self, engines: Engines) -> None:
        """Grammars that nobody holds any more take no memory."""
        engine = engines.engine

        def compile_one(number: int) -> None:
            rules = GrammarRules({"root": Concat((Text(f"{number} "), long_text(400)))})
            grammar = engine.load(engine.compile(rules)).start()
            grammar.accept(list(f"{number} ".encode()))
            grammar.fill_mask(np.zeros(engine.vocabulary.num_words, np.int32))

        check(
            not grown(compile_one),
            "an engine's memory must be bounded: it grew with every grammar that was compiled, used and dropped",
        )


def long_text(length: int) -> Text:
    """Letters that have no order."""
    random = Random(length)
    return Text("".join(random.choice("abc") for _ in range(length)))
