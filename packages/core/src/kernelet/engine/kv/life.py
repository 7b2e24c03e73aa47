"""KV connectors come with an engine, go when it sleeps, and come again when it is woken up."""

from __future__ import annotations

import uuid

from kernelet.config import EngineConfig
from kernelet.contracts.executor import EnginePlan, Executor
from kernelet.contracts.kv_start import KVStart
from kernelet.contracts.plugins import PluginView
from kernelet.engine.core import EngineCore
from kernelet.engine.kv.identity import kv_identity
from kernelet.engine.kv.making import make_connectors


class KVConnection:
    """Between a core and its executor; on the engine's thread. Without connectors it only passes calls on."""

    def __init__(
        self, config: EngineConfig, plan: EnginePlan, plugins: PluginView, executor: Executor, core: EngineCore
    ) -> None:
        """Brings up the connectors that the configuration names.

        Args:
            config: Of the engine.
            plan: What the executor's start returned.
            plugins: Have the connectors.
            executor: Started.
            core: Has no requests.

        Raises:
            KerneletError: one of them cannot be made, or does not serve this engine.
        """
        self._config = config.kv_transfer
        self._max_model_len = plan.max_model_len
        self._plugins = plugins
        self._executor = executor
        self._core = core
        self._start: KVStart | None = None
        self._level = 1
        if self._config.connectors:
            name = self._config.engine_id or uuid.uuid4().hex
            self._start = KVStart(identity=kv_identity(plan, config), engine_id=name)
        self._connect()

    def sleep(self, level: int) -> None:
        """Workers end their sides of connectors and give up memory, then the engine's sides end."""
        self._level = level
        self._executor.sleep(level)
        self._core.disconnect()

    def wake_up(self) -> None:
        """Workers take their memory back, then connectors are made anew. Where one cannot be made, all sleep on.

        Raises:
            KerneletError: as at the start.
        """
        self._executor.wake_up()
        try:
            self._connect()
        except BaseException:
            self._executor.sleep(self._level)
            raise

    def _connect(self) -> None:
        if self._start is None:
            return
        started = self._executor.start_kv_transfer(self._start)
        self._core.connect(make_connectors(self._config, self._plugins, self._start, started, self._max_model_len))
