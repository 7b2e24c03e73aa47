from __future__ import annotations

import pytest

from kernelet.config import EngineConfig, ModelConfig
from kernelet.contracts.lifecycle import ConfigChange
from kernelet.errors import ConfigError, PluginError
from kernelet.kernel.configure import Changes

CONFIG = EngineConfig(
    model=ModelConfig(
        model="m",
        path="/m",
        architecture="A",
        hf_config={},
        dtype="float32",
        vocab_size=10,
        max_model_len=100,
        num_layers=1,
    )
)


def change(path, value):
    return ConfigChange(path=path, value=value, reason="because")


def test_changes_are_applied_and_recorded():
    changes = Changes(CONFIG)
    changes.apply("p", (change("cache.block_size", 32), change("model.dtype", "bfloat16")))
    assert changes.config.cache.block_size == 32
    assert changes.config.model.dtype == "bfloat16"
    assert CONFIG.cache.block_size == 16
    assert [(r.author, r.change.path, r.before) for r in changes.recorded] == [
        ("p", "cache.block_size", 16),
        ("p", "model.dtype", "float32"),
    ]
    assert str(changes.recorded[0]) == "cache.block_size: 16 -> 32 by p: because"


def test_two_may_want_the_same():
    changes = Changes(CONFIG)
    changes.apply("p", (change("cache.block_size", 32),))
    changes.apply("q", (change("cache.block_size", 32),))
    assert [r.author for r in changes.recorded] == ["p"]


def test_wanting_what_is_there_already_is_a_claim():
    changes = Changes(CONFIG)
    changes.apply("p", (change("cache.block_size", 16),))
    with pytest.raises(ConfigError, match="16 by p"):
        changes.apply("q", (change("cache.block_size", 32),))


def test_two_that_want_different_values_are_both_named():
    changes = Changes(CONFIG)
    changes.apply("p", (change("cache.block_size", 32),))
    with pytest.raises(ConfigError, match=r"cache.block_size is set to 32 by p \(because\) and to 64 by q \(because\)"):
        changes.apply("q", (change("scheduler.depth", 2), change("cache.block_size", 64)))
    assert changes.config.cache.block_size == 32
    assert changes.config.scheduler.depth == 1, "all of an author's changes or none"


@pytest.mark.parametrize(
    "path, value, message",
    [
        ("cache.blocksize", 1, r"'cache.blocksize', which does not exist \(did you mean block_size"),
        ("cash.block_size", 1, r"does not exist \(did you mean cache"),
        ("cache.block_size.x", 1, "does not exist"),
        ("", 1, "does not exist"),
        ("cache", {}, "a section"),
        ("plugins.platform", "x", "chosen before plugins are asked"),
        ("cache.block_size", "32", "cache.block_size to '32': Expected `int`"),
        ("cache.block_size", None, "Expected `int`"),
        ("cache.enable_prefix_caching", 1, "Expected `bool`"),
    ],
)
def test_wrong_changes(path, value, message):
    with pytest.raises(PluginError, match=message) as caught:
        Changes(CONFIG).apply("p", (change(path, value),))
    assert str(caught.value).startswith("p asks to")


@pytest.mark.parametrize("returned", [None, "x", {"cache.block_size": 1}, ("x",), change("cache.block_size", 1)])
def test_wrong_answers(returned):
    with pytest.raises(PluginError, match="ConfigChange"):
        Changes(CONFIG).apply("p", returned)


def test_optional_values_may_be_unset():
    changes = Changes(CONFIG)
    changes.apply("p", (change("cache.num_blocks", 7), change("scheduler.policy", None)))
    assert changes.config.cache.num_blocks == 7
