from __future__ import annotations

from types import SimpleNamespace

import pytest

from kernelet.contracts.inspection import Inspect, Inspection
from kernelet.contracts.platform import PlatformOffer
from kernelet.engine.inspection import inspect
from kernelet.errors import ConfigError
from kernelet.testing.plugin_view import FixedPlugins

FOUND = Inspection(weights=(), activation_bytes=3, token_bytes=4)


class Plain:
    closed = 0

    def __init__(self, context):
        self.context = context

    def shutdown(self):
        type(self).closed += 1


class Telling(Plain, Inspect):
    def inspect(self):
        assert (self.context.config, self.context.rank) == ("config", 0)
        return FOUND


def configured(worker):
    offer = PlatformOffer(name="plain", target="d", probe="p", config="c", worker="worker", communicator="x")
    plugins = FixedPlugins([offer], {"worker": worker})
    return SimpleNamespace(kernel=plugins, platform=SimpleNamespace(name="plain"), config="config")


def test_the_worker_is_asked_and_closed():
    Telling.closed = 0
    assert inspect(configured(Telling)) is FOUND
    assert Telling.closed == 1


def test_a_worker_that_cannot_tell():
    Plain.closed = 0
    with pytest.raises(ConfigError, match="the worker of platform 'plain' cannot tell"):
        inspect(configured(Plain))
    assert Plain.closed == 1
