"""What the engines for scripts have in common: how they start, and that they stop when nobody holds them."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, Self

from kernelet.config import EngineConfig
from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.serving import ParsersInfo
from kernelet.engine.bootstrap import configure_engine, start, start_engine
from kernelet.engine.frontend import Frontend
from kernelet.engine.option_sources import ResolvedOptions
from kernelet.text.tokenizer import Tokenizer


class StartedEngine:
    """An engine in this process, started from options."""

    def __init__(self, model: str, **options: Any) -> None:
        self._attach(start_engine(model, options))

    @classmethod
    def from_options(cls, model: str, resolved: ResolvedOptions) -> Self:
        """A model with options that were read before, as the command line does.

        Raises:
            KerneletError: the engine cannot start, and why.
        """
        engine = cls.__new__(cls)
        engine._attach(start(configure_engine(model, resolved)))  # noqa: SLF001  it is one of us
        return engine

    @classmethod
    def of(cls, frontend: Frontend) -> Self:
        """An engine that was started otherwise."""
        engine = cls.__new__(cls)
        engine._attach(frontend)  # noqa: SLF001  it is one of us
        return engine

    @property
    def frontend(self) -> Frontend:
        """Tokenizer, chat template and checks of the model."""
        return self._frontend

    @property
    def config(self) -> EngineConfig:
        """The engine's configuration."""
        return self._frontend.config

    @property
    def plan(self) -> EnginePlan:
        """How every layer is computed."""
        return self._frontend.client.plan

    @property
    def parsers(self) -> ParsersInfo:
        """What parses the answers to chats."""
        return self._frontend.parsers.info

    def get_tokenizer(self) -> Tokenizer | None:
        """The model's tokenizer: ``encode``, ``decode``, ``eos_token_ids``; None where the model has none."""
        return self._frontend.tokenizer

    def _attach(self, frontend: Frontend) -> None:
        self._frontend = frontend
        self._ids = itertools.count()
        self._finalizer = weakref.finalize(self, frontend.close)

    def _new_id(self) -> str:
        """A name that no other request of the engine has."""
        return f"{self._frontend.client.id_prefix}{next(self._ids)}"
