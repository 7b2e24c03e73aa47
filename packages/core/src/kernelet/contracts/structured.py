"""Grammars: what a request's text must look like, and the engines that hold its tokens to it. Domain ``structured``.

A constraint of any kind (JSON schema, regular expression, choice, EBNF, Lark) becomes ``GrammarRules`` in the frontend:
the one language that core writes and engines read. An engine compiles rules in a helper process that may be killed,
loads the result where requests run, and says for each answer which tokens may come next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from kernelet.contracts.offer import Offer, Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# --- rules ---------------------------------------------------------------------------------------


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Exactly these characters; never empty."""

    text: str


class Chars(msgspec.Struct, frozen=True, tag="chars"):
    """One character.

    Attributes:
        ranges: Code points (first, last), both included, ascending, with a gap between two; at least one. Surrogates
            (U+D800 to U+DFFF) are no characters and in none.
    """

    ranges: tuple[tuple[int, int], ...]


class Concat(msgspec.Struct, frozen=True, tag="concat"):
    """One after the other; without items the empty text."""

    items: tuple[Expression, ...]


class Union(msgspec.Struct, frozen=True, tag="union"):
    """Any one of at least one."""

    items: tuple[Expression, ...]


class Repeat(msgspec.Struct, frozen=True, tag="repeat"):
    """So many times.

    Attributes:
        minimum: 0 or more.
        maximum: At least ``minimum`` and 1; None: any number.
    """

    item: Expression
    minimum: int
    maximum: int | None


class Rule(msgspec.Struct, frozen=True, tag="rule"):
    """What the rule of this name says; a rule may refer to itself."""

    name: str


Expression = Text | Chars | Concat | Union | Repeat | Rule


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that it is made of."""
    if isinstance(expression, Concat | Union):
        return expression.items
    return (expression.item,) if isinstance(expression, Repeat) else ()


def walk(expression: Expression) -> Iterator[Expression]:
    """It and all expressions in it, from the left; what its rules say is none of them."""
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed(parts_of(each))


EMPTY: Final = Concat(())
"""The empty text."""

ROOT: Final = "root"


class GrammarRules(msgspec.Struct, frozen=True):
    """A language over characters: the texts that rule ``root`` derives.

    Core gives no rules but such that every rule derives some text and is reached from the root, and none derives itself
    from itself alone (``a ::= a``). Names match ``[a-z][a-z0-9_]*``.
    """

    rules: dict[str, Expression]


# --- tokens --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TokenVocabulary:
    """What engines need to know of a tokenizer; computed once.

    Attributes:
        token_bytes: The bytes of each token's text, by id; as many as logits have columns. Empty: a token that is no
            text (special ones, ids that the tokenizer does not know), which no grammar ever allows.
        stop_token_ids: Ids that end a text by default. They have no bytes. For libraries that ask for one: core decides
            by itself where an answer may end.
        digest: The same for the same vocabulary only.
    """

    token_bytes: tuple[bytes, ...]
    stop_token_ids: tuple[int, ...]
    digest: str

    @property
    def num_words(self) -> int:
        """int32 words of a mask row."""
        return -(-len(self.token_bytes) // 32)


# --- engines -------------------------------------------------------------------------------------


class Grammar(ABC):
    """Where one answer stands. Used by one thread at a time; several answers of one grammar, by several threads."""

    @abstractmethod
    def accept(self, token_ids: Sequence[int]) -> bool:
        """The answer goes on with these tokens. False: they do not fit, and nothing has changed."""

    @abstractmethod
    def validate(self, token_ids: Sequence[int]) -> int:
        """How many of these tokens, from the first on, ``accept`` would take one after the other; nothing changes."""

    @abstractmethod
    def rollback(self, num_tokens: int) -> None:
        """Takes back the last tokens; at most ``MAX_ROLLBACK`` of those that were accepted."""

    @abstractmethod
    def fork(self) -> Grammar:
        """Another answer that stands where this one does; neither notices the other."""

    @abstractmethod
    def fill_mask(self, row: NDArray[np.int32]) -> None:
        """Writes which tokens ``accept`` would take now.

        Args:
            row: int32 [``TokenVocabulary.num_words``], contiguous: bit i % 32 of word i // 32, lowest first, is token
                i. Every word is written; bits of stop tokens, of tokens without bytes and beyond the vocabulary are 0.
        """

    @abstractmethod
    def can_end(self) -> bool:
        """Whether the text so far is whole."""

    @abstractmethod
    def must_end(self) -> bool:
        """Whether no further token fits: the mask is empty."""

    def forced(self) -> bytes:
        """Bytes that every continuation begins with, as far as the engine knows them cheaply; none where it can end.

        Asked after every token. Core gives such a text in the tokenizer's own tokens, and spends one step on all of it.
        """
        return b""


class CompiledGrammar(ABC):
    """Rules, ready to be used by many answers at once. Safe to use from several threads."""

    @property
    @abstractmethod
    def num_bytes(self) -> int:
        """Memory that it takes, about: caches are bounded by it."""

    @abstractmethod
    def start(self) -> Grammar:
        """A new answer."""


class GrammarEngine(ABC):
    """One vocabulary's engine: in helper processes for ``compile``, where requests run for ``load``.

    Safe to use from several threads. A failure of any method ends the request that it is called for, no other.
    """

    def __init__(self, settings: Settings, vocabulary: TokenVocabulary) -> None:
        self.settings = settings
        self.vocabulary = vocabulary

    @abstractmethod
    def compile(self, rules: GrammarRules) -> bytes:
        """Does what takes long. The process is killed at a deadline and at a limit of memory.

        Raises:
            ValueError: why it cannot, in words for whoever wrote the constraint.
        """

    @abstractmethod
    def load(self, compiled: bytes) -> CompiledGrammar:
        """Makes what ``compile`` returned in another process of the same versions ready, quickly."""


@dataclass(frozen=True, kw_only=True)
class GrammarEngineOffer(Offer):
    """An engine. ``target`` is a ``GrammarEngine`` class.

    It enforces every ``GrammarRules`` within these bounds, exactly, or its ``compile`` raises.

    Attributes:
        recursion: Rules may refer to themselves, in any way that ``GrammarRules`` allows.
        max_repeat: Largest finite bound of a ``Repeat``; None: any that core lets through.
        max_expressions: Most expressions of all rules together; None: as many as core lets through.
    """

    recursion: bool = True
    max_repeat: int | None = None
    max_expressions: int | None = None


MAX_ROLLBACK: Final = 64
"""Tokens that ``Grammar.rollback`` can take back: the longest draft that is verified in a step, and more."""
