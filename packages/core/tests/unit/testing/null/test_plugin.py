from __future__ import annotations

import importlib

import pluggy

from kernelet.hookspecs import PROJECT, lifecycle, model, platform
from kernelet.testing.null.plugin import NullPlugin, plugin


def resolve(target):
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def test_hooks_are_known_and_answer_alike():
    manager = pluggy.PluginManager(PROJECT)
    for module in (lifecycle, model, platform):
        manager.add_hookspecs(module)
    manager.register(NullPlugin())
    manager.check_pending()
    assert manager.hook.kernelet_platforms() == manager.hook.kernelet_platforms() == [plugin.kernelet_platforms()]


def test_targets_exist():
    (offer,) = plugin.kernelet_platforms()
    (architecture,) = plugin.kernelet_model_architectures()
    for target in (offer.target, offer.probe, offer.config, offer.worker, architecture.target, architecture.describe):
        assert callable(resolve(target))


def test_options_have_defaults():
    schema = plugin.kernelet_options().schema
    assert all(isinstance(option.default, option.type) for option in schema.values())
