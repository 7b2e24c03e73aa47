"""Jobs over plugins that are written into a folder of ``sys.path``."""

from __future__ import annotations

import importlib
import sys

import pytest

from kernelet.config import PluginsConfig
from kernelet.kernel.doctor.messages import Job

HEADER = """
from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.hookspecs import hookimpl

"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module, and forgets at the end what was imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def write(name, source):
        (tmp_path / f"{name}.py").write_text(HEADER + source)
        importlib.invalidate_caches()
        return name

    yield write
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def job(module):
    """A job over the core and one plugin, an object ``plugin`` of the module with this source."""

    def make(task, source, *, config=None, **fields):
        name = module("doctors_patient", source + "\n\nimport sys\nplugin = sys.modules[__name__]\n")
        text = f"{name}:plugin"
        chosen = config or PluginsConfig(allow=("core",))
        return Job(
            task=task,
            config=chosen,
            path=list(sys.path),
            imports=(text,),
            plugin=text,
            entry_point=text,
            **fields,
        )

    return make


OFFER = """
@hookimpl
def kernelet_schedulers():
    return (SchedulerOffer(name="x", target="{target}", priority=-100, {more}),)


class Policy:
    pass
"""


@pytest.fixture
def scheduler(job):
    """A job over a plugin with one scheduling policy."""
    return lambda task, target="doctors_patient:Policy", more="", **fields: job(
        task, OFFER.format(target=target, more=more), **fields
    )
