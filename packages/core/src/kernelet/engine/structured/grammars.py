"""Grammars of the engine's requests: compiled beside the steps, once for all that ask the same, and kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Final, NamedTuple

from kernelet.config import StructuredConfig
from kernelet.contracts.structured import CompiledGrammar, Grammar
from kernelet.engine.structured.answer import GuardedGrammar
from kernelet.engine.structured.cache import SizedCache
from kernelet.engine.structured.compiler import GrammarCompiler
from kernelet.engine.structured.start import Starter
from kernelet.errors import KerneletError
from kernelet.request.structured import RulesState, StructuredRequest

logger = logging.getLogger(__name__)

COMPILING: Final = 2
"""Grammars that are compiled at a time."""

Key = tuple[str, str]
"""(engine, digest of rules): one engine core has one vocabulary."""

VOCABULARY: Final[Key] = ("", "")
"""What programs wait for beside their grammars: the tokens, and their index."""


class Made(NamedTuple):
    """What became of a request's constraint: a grammar, or an error."""

    request_id: str
    grammar: Grammar | None = None
    error: str = ""


@dataclass
class Wanted:
    """A request that waits for grammars.

    Attributes:
        grammars: Those that there are, by digest.
        missing: Those that are being compiled.
    """

    structured: StructuredRequest
    grammars: dict[str, CompiledGrammar] = field(default_factory=dict)
    missing: set[Key] = field(default_factory=set)


@dataclass
class Flight:
    """A compilation and who waits for it."""

    job: Future[None]
    request_ids: set[str] = field(default_factory=set)


class Grammars:
    """For the engine's thread, but for what is said otherwise.

    Args:
        compiler: Of the model's vocabulary.
        config: Bounds.
        start: Makes an answer's grammar.
    """

    def __init__(self, compiler: GrammarCompiler, config: StructuredConfig, start: Starter | None = None) -> None:
        self._compiler = compiler
        self._inline = config.compile_inline
        self._start = start or Starter()
        self._cache = SizedCache[CompiledGrammar](config.cache_bytes)
        self._wanted: dict[str, Wanted] = {}
        self._flights: dict[Key, Flight] = {}
        self._made: list[Made] = []
        self._arrived: SimpleQueue[tuple[Key, CompiledGrammar | Exception | None]] = SimpleQueue()
        self._indexed = False
        self._wake: Callable[[], None] = lambda: None
        self._threads = ThreadPoolExecutor(COMPILING, thread_name_prefix="kernelet-grammar")

    def on_news(self, wake: Callable[[], None]) -> None:
        """From now on ``wake`` is called, on some thread, when ``take`` will have something."""
        self._wake = wake

    @property
    def has_news(self) -> bool:
        """Whether ``take`` has something."""
        return bool(self._made) or not self._arrived.empty()

    def want(self, request_id: str, structured: StructuredRequest) -> None:
        """A request needs its grammar; ``take`` will have it, at once where everything is there."""
        wanted = self._wanted[request_id] = Wanted(structured)
        for state in structured.states:
            if isinstance(state, RulesState):
                self._want_rules(request_id, wanted, state)
        if not self._indexed and needs_index(structured):
            self._fly(VOCABULARY, request_id, wanted, self._index)
        self._finish_if_whole(request_id)
        if self._inline:
            while request_id in self._wanted:
                self._land(*self._arrived.get())

    def forget(self, request_ids: Iterable[str]) -> None:
        """Requests have ended; what nobody waits for any more is not begun."""
        for request_id in request_ids:
            wanted = self._wanted.pop(request_id, None)
            for key in () if wanted is None else wanted.missing:
                flight = self._flights.get(key)
                if flight is None:
                    continue  # it has just landed
                flight.request_ids.discard(request_id)
                if not flight.request_ids and flight.job.cancel():
                    del self._flights[key]

    def take(self) -> list[Made]:
        """What became of constraints, since the last call; each request comes once."""
        while not self._arrived.empty():
            self._land(*self._arrived.get())
        made, self._made = self._made, []
        return made

    def close(self) -> None:
        """Ends what is being compiled. May be called twice."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._compiler.close()
        self._threads.shutdown()

    # --- inside ----------------------------------------------------------------------------------

    def _want_rules(self, request_id: str, wanted: Wanted, state: RulesState) -> None:
        key = (wanted.structured.engine, state.digest)
        found = self._cache.get(key)
        if found is not None:
            wanted.grammars[state.digest] = found
            return
        self._fly(key, request_id, wanted, partial(self._compile, key, state.rules))

    def _fly(self, key: Key, request_id: str, wanted: Wanted, job: Callable[[], None]) -> None:
        """Does what nobody does yet, and lets the request wait for it."""
        if key not in self._flights:
            self._flights[key] = Flight(self._threads.submit(job))
        self._flights[key].request_ids.add(request_id)
        wanted.missing.add(key)

    def _land(self, key: Key, found: CompiledGrammar | Exception | None) -> None:
        """A job has ended; it has a grammar, or there is an index now."""
        flight = self._flights.pop(key)
        if found is None:
            self._indexed = True
        elif not isinstance(found, Exception):
            self._cache.put(key, found, found.num_bytes)
        for request_id in sorted(flight.request_ids):
            wanted = self._wanted.get(request_id)
            if wanted is None:
                continue
            if isinstance(found, Exception):
                self._fail(request_id, found)
                continue
            if found is not None:
                wanted.grammars[key[1]] = found
            wanted.missing.discard(key)
            self._finish_if_whole(request_id)

    def _finish_if_whole(self, request_id: str) -> None:
        wanted = self._wanted[request_id]
        if wanted.missing:
            return
        del self._wanted[request_id]
        engine = wanted.structured.engine
        try:
            grammar = self._start(wanted.structured, wanted.grammars, self._compiler.vocabulary)
        except Exception as error:
            logger.exception("the grammar engine %r failed", engine)
            self._made.append(Made(request_id, error=described(engine, error)))
        else:
            self._made.append(Made(request_id, GuardedGrammar(grammar, engine)))

    def _fail(self, request_id: str, error: Exception) -> None:
        wanted = self._wanted[request_id]
        self.forget((request_id,))
        self._made.append(Made(request_id, error=described(wanted.structured.engine, error)))

    # --- on a thread -----------------------------------------------------------------------------

    def _index(self) -> None:
        try:
            self._start.warm(self._compiler.vocabulary)
            found: Exception | None = None
        except Exception as error:  # noqa: BLE001  it belongs to the requests that wait
            found = error
        self._arrived.put((VOCABULARY, found))
        self._wake()

    def _compile(self, key: Key, rules: bytes) -> None:
        try:
            found: CompiledGrammar | Exception = self._compiler.compile(key[0], rules)
        except Exception as error:  # noqa: BLE001  it belongs to the requests that wait
            found = error
        self._arrived.put((key, found))
        self._wake()


def needs_index(structured: StructuredRequest) -> bool:
    """Whether an answer is more than the text of one grammar."""
    first = structured.states[0]
    return structured.reasoning is not None or not (isinstance(first, RulesState) and first.next is None)


def described(engine: str, error: Exception) -> str:
    """What a request is told."""
    if isinstance(error, KerneletError):
        return str(error)
    return f"the grammar engine {engine!r} failed ({type(error).__name__})"
