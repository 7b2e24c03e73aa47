"""Fixtures for authors of plugins; pytest finds them where ``kernelet-core[testing]`` is installed.

Importing this imports neither torch nor hypothesis: it is loaded by every pytest of the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kernelet.testing.plugin_errors import is_of_suite, sentence_about
from kernelet.testing.verdict import ConformanceError

if TYPE_CHECKING:
    from kernelet.engine.llm import LLM
    from kernelet.kernel import Kernel
    from kernelet.testing.platform.recording import RecordingDevice

CORE = "core"
"""A name in the allow-list, so that of all that is installed nothing else runs."""


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """An exception of the plugin that leaves a test of a suite is put into a sentence; its traceback stays above."""
    __tracebackhide__ = True
    try:
        return (yield)
    except Exception as error:
        offered = pyfuncitem.funcargs.get("offered")
        if offered is None or not is_of_suite(pyfuncitem.cls):
            raise
        sentence = sentence_about(error, pyfuncitem.function, getattr(offered, "target", None))
        if sentence is None:
            raise
        raise ConformanceError(sentence) from error


@pytest.fixture(scope="session")
def kernelet_null_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder for the null platform: config.json, a tokenizer of bytes, a chat template."""
    from kernelet.testing.null import write_model

    return write_model(tmp_path_factory.mktemp("kernelet") / "null-model")


@pytest.fixture
def kernelet_llm(kernelet_null_model: Path) -> Iterator[Callable[..., LLM]]:
    """Starts an ``LLM`` on the null platform and shuts it down when the test ends.

    ``kernelet_llm(*plugins, model=None, **options)``: plugins are names of installed ones, import strings, modules or
    objects; no other plugin runs. Options are those of ``LLM``. ``model`` replaces the folder of the null model.
    """
    from kernelet.engine.llm import LLM
    from kernelet.testing.null import NullPlugin

    with ExitStack() as stack:

        def start(*plugins: object, model: Path | str | None = None, **options: Any) -> LLM:
            options = {"platform": "null", "plugins": [CORE, NullPlugin(), *plugins], **options}
            return stack.enter_context(LLM(str(model or kernelet_null_model), **options))

        yield start


@pytest.fixture
def kernelet_kernel() -> Callable[..., Kernel]:
    """Boots a kernel with the core and the given plugins, and nothing else that is installed.

    ``kernelet_kernel(*plugins, **config)``: plugins as for ``kernelet_llm``; ``config`` are fields of ``PluginsConfig``
    (``settings={"acme-thing": {"level": 3}}``, ``platform="acme"``).
    """
    from kernelet.config import PluginsConfig
    from kernelet.kernel import Kernel

    def boot(*plugins: object, **config: Any) -> Kernel:
        names = [one for one in plugins if isinstance(one, str) and ":" not in one]
        handed = [one for one in plugins if one not in names]
        return Kernel.boot(PluginsConfig(allow=(CORE, *names), **config), plugins=handed)

    return boot


@pytest.fixture
def kernelet_recording_device() -> RecordingDevice:
    """A device on the host that remembers every call in ``calls``; it is made, and not taken yet."""
    from kernelet.contracts.offer import Settings
    from kernelet.testing.platform.recording import RecordingDevice

    return RecordingDevice(Settings(plugin="recording"), 0)
