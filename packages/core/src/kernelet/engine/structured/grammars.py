"""Grammars of the engine's requests: compiled beside the steps, once for all that ask the same, and kept."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Final, NamedTuple

from kernelet.config import StructuredConfig
from kernelet.contracts.structured import CompiledGrammar, Grammar
from kernelet.engine.sandbox.helper import Watch
from kernelet.engine.sandbox.pool import Stop
from kernelet.engine.structured.answer import GuardedGrammar
from kernelet.engine.structured.cache import SizedCache
from kernelet.engine.structured.compiler import GrammarCompiler
from kernelet.engine.structured.forced import ForcedText
from kernelet.engine.structured.lanes import PATIENCE, Job, Lanes
from kernelet.engine.structured.prepare import NAME
from kernelet.engine.structured.start import Starter
from kernelet.errors import (
    KerneletError,
    ParameterError,
    RequestFailedError,
    SandboxBusyError,
    SandboxMemoryError,
    SandboxTimeoutError,
    UnenforcedConstraintError,
)
from kernelet.request.structured import RulesState, StructuredRequest, is_one_text

logger = logging.getLogger(__name__)

LEAST: Final = 0.25
"""Of the deadline, for an engine that is tried where others have taken all of it."""

MAX_FAILURES: Final = 1024
"""Constraints with an engine that could not compile them, to remember."""

Key = tuple[str, str]
"""(engine, digest of rules): one engine core has one vocabulary."""

LARGER: Final = {
    SandboxTimeoutError: "--structured-compile-timeout",
    SandboxMemoryError: "--structured-compile-memory",
}
"""What the operator may do."""

CONSTRAINT_ERRORS: Final = (UnenforcedConstraintError, *LARGER)
"""What is wrong with a constraint, not with an engine."""

VOCABULARY: Final[Key] = ("", "")
"""What programs wait for beside their grammars: the tokens, and their index."""


class Made(NamedTuple):
    """What became of a request's constraint: a grammar, or an error."""

    request_id: str
    grammar: Grammar | None = None
    error: Exception | None = None


@dataclass
class Wanted:
    """A request that waits for grammars.

    Attributes:
        grammars: Those that there are, by digest.
        missing: Those that are being compiled.
        failed: Engines that failed, with what they raised.
        engines: Those that made the grammars.
    """

    structured: StructuredRequest
    grammars: dict[str, CompiledGrammar] = field(default_factory=dict)
    missing: set[Key] = field(default_factory=set)
    failed: dict[str, Exception] = field(default_factory=dict)
    engines: set[str] = field(default_factory=set)


@dataclass
class Flight:
    """A compilation and who waits for it.

    Attributes:
        rules: Encoded.
        seconds: What engines before this one have left of the deadline.
        job: What it runs as; None: it was never begun.
        stop: Ends it while it runs; None: it goes on.
        gave_way: Whether it was stopped for others, to be run again.
    """

    key: Key
    rules: bytes = b""
    seconds: float = 0.0
    job: Job | None = None
    stop: Stop | None = None
    gave_way: bool = False
    request_ids: set[str] = field(default_factory=set)


class Grammars:
    """For the engine's thread, but for what is said otherwise.

    Args:
        compiler: Of the model's vocabulary.
        config: Bounds.
        start: Makes an answer's grammar.
        forced: Of the model's vocabulary; None: nobody asks how text is written that must come.

    Attributes:
        forced_text: ``forced``.
    """

    def __init__(
        self,
        compiler: GrammarCompiler,
        config: StructuredConfig,
        start: Starter | None = None,
        forced: ForcedText | None = None,
    ) -> None:
        self.forced_text = forced
        self._compiler = compiler
        self._inline = config.compile_inline
        self._seconds = config.compile_timeout
        self._start = start or Starter()
        self._cache = SizedCache[CompiledGrammar](config.cache_bytes)
        self._wanted: dict[str, Wanted] = {}
        self._flights: dict[Key, Flight] = {}
        self._made: list[Made] = []
        self._failures = SizedCache[bool](MAX_FAILURES)
        self._arrived: SimpleQueue[tuple[Flight, CompiledGrammar | Exception | None]] = SimpleQueue()
        self._indexed = False
        self._wake: Callable[[], None] = lambda: None
        self._lanes = Lanes()

    def warm(self, name: str) -> None:
        """Brings an engine up beside the steps, which may take seconds, before a request needs it."""
        self._lanes.add(Job(partial(self._warm, name), lambda _: None))

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
            flight = Flight(VOCABULARY)
            self._fly(flight, request_id, wanted, partial(self._index, flight))
        self._finish_if_whole(request_id)
        if self._inline:
            while request_id in self._wanted:
                self._land(*self._arrived.get())

    def forget(self, request_ids: Iterable[str]) -> None:
        """Requests have ended; what nobody waits for any more is not begun, and ends where it is compiled."""
        for request_id in request_ids:
            wanted = self._wanted.pop(request_id, None)
            for key in () if wanted is None else wanted.missing:
                flight = self._flights.get(key)
                if flight is None:
                    continue  # it has just landed
                flight.request_ids.discard(request_id)
                if flight.request_ids:
                    continue
                if flight.job is not None and not self._lanes.remove(flight.job):
                    if flight.stop is None:
                        continue
                    flight.stop()
                del self._flights[key]

    def take(self) -> list[Made]:
        """What became of constraints, since the last call; each request comes once."""
        while not self._arrived.empty():
            self._land(*self._arrived.get())
        made, self._made = self._made, []
        return made

    def close(self) -> None:
        """Ends what is being compiled. May be called twice."""
        self._lanes.close()
        self._compiler.close()
        self._lanes.close()

    # --- inside ----------------------------------------------------------------------------------

    def _want_rules(self, request_id: str, wanted: Wanted, state: RulesState) -> None:
        for name in engines_of(wanted.structured):
            found = self._cache.get((name, state.digest))
            if found is not None:
                wanted.grammars[state.digest] = found
                wanted.engines.add(name)
                return
            if self._failures.get((name, state.digest)) is None:
                break
        flight = Flight((wanted.structured.engine, state.digest), state.rules, self._seconds)
        self._compile_in(flight, request_id, wanted)

    def _compile_in(self, flight: Flight, request_id: str, wanted: Wanted) -> None:
        flight.stop = Stop(Watch(PATIENCE, partial(self._may_go_on, flight)))
        self._fly(flight, request_id, wanted, partial(self._compile, flight))

    def _fly(self, flight: Flight, request_id: str, wanted: Wanted, job: Callable[[], bool]) -> None:
        """Does what nobody does yet, and lets the request wait for it."""
        key = flight.key
        if key not in self._flights:
            self._flights[key] = flight
            flight.job = Job(job, partial(self._arrive, flight))
            try:
                self._lanes.add(flight.job)
            except SandboxBusyError as error:
                self._arrive(flight, error)
        self._flights[key].request_ids.add(request_id)
        wanted.missing.add(key)

    def _land(self, flight: Flight, found: CompiledGrammar | Exception | None) -> None:
        """A job has ended; it has a grammar, or there is an index now."""
        key = flight.key
        if found is None:
            self._indexed = True
        elif not isinstance(found, Exception):
            self._cache.put(key, found, found.num_bytes)
        if self._flights.get(key) is not flight:
            return  # it was stopped
        del self._flights[key]
        if isinstance(found, Exception) and key != VOCABULARY and not isinstance(found, SandboxBusyError):
            self._failures.put(key, True, 1)
        for request_id in sorted(flight.request_ids):
            wanted = self._wanted.get(request_id)
            if wanted is None:
                continue
            wanted.missing.discard(key)
            if isinstance(found, Exception):
                self._try_next(request_id, wanted, flight, found)
                continue
            if found is not None:
                wanted.grammars[key[1]] = found
                wanted.engines.add(key[0])
            self._finish_if_whole(request_id)

    def _finish_if_whole(self, request_id: str) -> None:
        wanted = self._wanted[request_id]
        if wanted.missing:
            return
        del self._wanted[request_id]
        engine = " or ".join(sorted(wanted.engines)) or wanted.structured.engine
        try:
            grammar = self._start(wanted.structured, wanted.grammars, self._compiler.vocabulary)
        except Exception as error:
            logger.exception("the grammar engine %r failed", engine)
            self._made.append(Made(request_id, error=described({engine: error})))
        else:
            self._made.append(Made(request_id, GuardedGrammar(grammar, engine, self._compiler.vocabulary.token_bytes)))

    def _try_next(self, request_id: str, wanted: Wanted, flight: Flight, error: Exception) -> None:
        """An engine failed: the next one compiles; a request whose engines have all failed does so too."""
        name, digest = flight.key
        wanted.failed[name] = error
        engines = engines_of(wanted.structured)
        if flight.key != VOCABULARY and not concerns_all(error) and name != engines[-1]:
            following = engines[engines.index(name) + 1]
            logger.warning("the grammar engine %r failed, %r is tried next: %s", name, following, error)
            found = self._cache.get((following, digest))
            if found is None:
                return self._compile_in(Flight((following, digest), flight.rules, flight.seconds), request_id, wanted)
            wanted.grammars[digest] = found
            wanted.engines.add(following)
            return self._finish_if_whole(request_id)
        failures = {name: error} if flight.key == VOCABULARY or concerns_all(error) else wanted.failed
        self.forget((request_id,))
        self._made.append(Made(request_id, error=described(failures)))
        return None

    # --- on a thread -----------------------------------------------------------------------------

    def _arrive(self, flight: Flight, found: CompiledGrammar | Exception | None) -> None:
        self._arrived.put((flight, found))
        self._wake()

    def _warm(self, name: str) -> bool:
        self._compiler.warm(name)
        return False

    def _may_go_on(self, flight: Flight) -> bool:
        assert flight.job is not None
        flight.gave_way = not self._lanes.may_go_on(flight.job)
        return not flight.gave_way

    def _index(self, flight: Flight) -> bool:
        try:
            self._start.warm(self._compiler.vocabulary)
            found: Exception | None = None
        except Exception as error:  # noqa: BLE001  it belongs to the requests that wait
            found = error
        self._arrive(flight, found)
        return False

    def _compile(self, flight: Flight) -> bool:
        """Whether it gave way."""
        flight.gave_way, began = False, time.monotonic()
        try:
            found: CompiledGrammar | Exception = self._compiler.compile(
                flight.key[0], flight.rules, flight.stop, flight.seconds
            )
        except Exception as error:  # noqa: BLE001  it belongs to the requests that wait
            if flight.gave_way:
                return True
            found = error
            flight.seconds = max(self._seconds * LEAST, flight.seconds - (time.monotonic() - began))
        self._arrive(flight, found)
        return False


def needs_index(structured: StructuredRequest) -> bool:
    """Whether an answer is more than the text of one grammar."""
    return structured.reasoning is not None or not is_one_text(structured.states)


def engines_of(structured: StructuredRequest) -> tuple[str, ...]:
    """Who may compile, in their order."""
    return (structured.engine, *structured.others)


def concerns_all(error: Exception) -> bool:
    """Whether every other engine would fail by it too."""
    if isinstance(error, SandboxBusyError):
        return True
    return isinstance(error, ParameterError) and not isinstance(error, UnenforcedConstraintError)


def described(failures: Mapping[str, Exception]) -> Exception:
    """What a request is told: that its constraint is too much for the engines, else that they failed.

    Args:
        failures: By engine, in the order in which they were tried.
    """
    errors = list(failures.values())
    if len(errors) == 1 and concerns_all(errors[0]):
        return errors[0]
    reasons = [reason_of(name, error) for name, error in failures.items()]
    if not any(isinstance(error, CONSTRAINT_ERRORS) for error in errors):
        return RequestFailedError("; ".join(reasons))
    ways = ["simplify it", *(["name another backend"] if len(errors) == 1 else [])]
    for kind, option in LARGER.items():
        if any(isinstance(error, kind) for error in errors):
            ways.append(f"start with a larger {option}")
    reasons[-1] = f"{reasons[-1]}: {', or '.join(ways)}"
    return UnenforcedConstraintError(NAME, reasons)


def reason_of(name: str, error: Exception) -> str:
    """Why an engine has no grammar."""
    if isinstance(error, UnenforcedConstraintError):
        return "; ".join(error.reasons)
    if isinstance(error, KerneletError):
        return str(error)
    return f"the grammar engine {name!r} failed ({type(error).__name__})"
