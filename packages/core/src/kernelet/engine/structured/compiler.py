"""Rules to compiled grammars: in a helper that may be killed, then loaded here. For one model's vocabulary."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from kernelet.config import StructuredConfig
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.structured import (
    ROOT,
    CompiledGrammar,
    GrammarEngine,
    GrammarEngineOffer,
    GrammarRules,
    Text,
    TokenVocabulary,
)
from kernelet.engine.sandbox.messages import Setup
from kernelet.engine.sandbox.pool import Sandbox, Stop
from kernelet.engine.structured.prepare import NAME
from kernelet.engine.structured.targets import COMPILE, make_engine, setup_of
from kernelet.errors import (
    KerneletError,
    ManifestMismatchError,
    RequestFailedError,
    SandboxTargetError,
    UnenforcedConstraintError,
)
from kernelet.structured import rules as over

logger = logging.getLogger(__name__)

SMALLEST: Final = GrammarRules({ROOT: Text("a")})

MAX_COMPILED_BYTES: Final = 256 << 20
"""Of one grammar, on its way from the helper."""


class GrammarCompiler:
    """Compiles, one call a thread. Safe to use from several threads.

    Args:
        plugins: Engines.
        config: Deadline.
        load_vocabulary: Makes the vocabulary, which takes a while; called once, when it is needed first.
        sandbox: Its helpers load the plugins.
    """

    def __init__(
        self,
        plugins: PluginView,
        config: StructuredConfig,
        load_vocabulary: Callable[[], TokenVocabulary],
        sandbox: Sandbox,
    ) -> None:
        self._plugins = plugins
        self._config = config
        self._load_vocabulary = load_vocabulary
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._vocabulary: TokenVocabulary | None = None
        self._engines: dict[str, Future[GrammarEngine]] = {}
        self._setups: dict[str, Setup] = {}

    @property
    def vocabulary(self) -> TokenVocabulary:
        """The tokens; waits until they are known."""
        with self._lock:
            return self._known_vocabulary()

    def compile(
        self, name: str, rules: bytes, stop: Stop | None = None, seconds: float | None = None
    ) -> CompiledGrammar:
        """What an engine makes of rules. Blocks.

        Args:
            name: Of the engine.
            rules: Encoded.
            stop: Ends it early, with a SandboxError.
            seconds: What is left of the deadline; None: all.

        Raises:
            UnenforcedConstraintError: the engine does not take them.
            RequestFailedError: the engine failed.
            SandboxError: it took too long or too much memory, or crashed.
        """
        making, setup = self._begin(name)
        what = f"compiling the constraint with {name}"
        try:
            compiled = self._sandbox.call_sync(
                COMPILE,
                rules,
                self._config.compile_timeout if seconds is None else seconds,
                what=what,
                needs_plugins=True,
                setup=setup,
                max_result_bytes=MAX_COMPILED_BYTES,
                stop=stop,
            )
        except SandboxTargetError as error:
            if error.error == "ValueError":
                message = f"the grammar engine {name!r} does not take this constraint: {error.text}"
                raise UnenforcedConstraintError(NAME, [message]) from None
            logger.warning("the grammar engine %r failed: %s", name, error)
            if error.error == ManifestMismatchError.__name__:
                raise RequestFailedError(f"{what} failed: packages have changed since the start: start anew") from None
            raise failed(name, error.error) from None
        engine = self._made(name, making)
        try:
            return engine.load(compiled)
        except Exception as error:
            logger.exception("the grammar engine %r failed", name)
            raise failed(name, type(error).__name__) from error

    def warm(self, name: str) -> None:
        """Brings an engine up, here and in a helper, before a constraint needs it; what fails then fails again."""
        try:
            self.compile(name, over.encode(SMALLEST))
        except KerneletError as error:
            logger.info("the grammar engine %r was not brought up: %s", name, error)

    def close(self) -> None:
        """Ends the helpers; what is being compiled fails."""
        self._sandbox.close()

    def _begin(self, name: str) -> tuple[Future[GrammarEngine], Setup]:
        """Makes an engine here while a helper makes its own: importing what it needs may take seconds."""
        self._plugins.select(GrammarEngineOffer, name)
        with self._lock:
            vocabulary = self._known_vocabulary()
            if name not in self._engines:
                making = self._engines[name] = Future[GrammarEngine]()
                self._setups[name] = setup_of(name, vocabulary)
                threading.Thread(
                    target=self._make, args=(name, vocabulary, making), name="kernelet-grammar-engine", daemon=True
                ).start()
            return self._engines[name], self._setups[name]

    def _make(self, name: str, vocabulary: TokenVocabulary, making: Future[GrammarEngine]) -> None:
        try:
            making.set_result(make_engine(self._plugins, name, vocabulary))
        except Exception as error:  # noqa: BLE001  it belongs to the requests that wait
            making.set_exception(error)

    def _made(self, name: str, making: Future[GrammarEngine]) -> GrammarEngine:
        try:
            return making.result()
        except Exception as error:
            with self._lock:
                if self._engines.get(name) is making:
                    del self._engines[name]  # the next request tries again
            if isinstance(error, KerneletError):
                raise
            logger.exception("the grammar engine %r cannot be made", name)
            raise failed(name, type(error).__name__) from error

    def _known_vocabulary(self) -> TokenVocabulary:
        if self._vocabulary is None:
            self._vocabulary = self._load_vocabulary()
        return self._vocabulary


def failed(name: str, error: str) -> RequestFailedError:
    """What a request is told of an engine's failure: what the engine itself says is for the log."""
    return RequestFailedError(f"the grammar engine {name!r} failed ({error})")
