from __future__ import annotations

import pytest
from kv_world import IDENTITY, Side

from kernelet.cache.eviction import LRUPolicy
from kernelet.config import KVTransferConfig
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.contracts.offer import Settings
from kernelet.contracts.plugins import Choice, Owned
from kernelet.engine.kv.making import eviction_policies, make_connectors
from kernelet.errors import ConfigError, PluginError

START = KVStart(identity=IDENTITY, engine_id="e")
RANKS = (KVStarted(layouts=(), handshakes={"a": b"x"}), KVStarted(layouts=()))


class Made(Side):
    ended: tuple[str, ...] = ()

    def __init__(self, settings, context):
        super().__init__()
        self.settings, self.context = settings, context

    def shutdown(self):
        Made.ended += (self.settings.plugin,)


class Refuses(Made):
    def __init__(self, settings, context):
        raise ConfigError("no folder")


class Breaks(Made):
    def __init__(self, settings, context):
        raise ZeroDivisionError("no")


class Plugins:
    """Offers by name: their class."""

    def __init__(self, **classes):
        self.classes = classes

    def select(self, kind, name):
        offer = KVConnectorOffer(
            name=name, target="m:A", worker="m:B", default_role="consumer", requires_kv_delivery=True
        )
        return Choice(chosen=Owned(offer=offer, plugin=f"plugin-{name}"), reason="named")

    def load(self, owned):
        return self.classes[owned.offer.name]

    def settings(self, plugin):
        return Settings(plugin=plugin)


def make(config, **classes):
    return make_connectors(config, Plugins(**classes), START, RANKS, 64)


def test_each_is_made_in_order_with_what_the_ranks_said():
    made = make(KVTransferConfig(connectors=("b", "a"), load_timeout=3.0), a=Made, b=Made)
    assert [one.name for one in made.setup.connectors] == ["b", "a"]
    assert [plugin for plugin, _ in made.sides] == ["plugin-b", "plugin-a"]
    assert (made.setup.num_ranks, made.setup.identity) == (2, IDENTITY)
    assert all(one.requires_delivery for one in made.setup.connectors)
    context = made.setup.connectors[1].side.context
    assert (context.role, context.engine_id, context.load_timeout, context.max_model_len) == ("consumer", "e", 3.0, 64)
    assert (context.handshakes, context.layouts) == ((b"x", None), ((), ()))


def test_the_operators_role_is_everybodys():
    made = make(KVTransferConfig(connectors=("a",), role="producer"), a=Made)
    assert made.setup.connectors[0].side.context.role == "producer"


@pytest.mark.parametrize(
    "kind, error, said",
    [
        (Refuses, ConfigError, "no folder"),
        (Breaks, PluginError, "KV connector 'b' of plugin 'plugin-b' cannot be made: ZeroDivisionError: no"),
        (int, PluginError, "plugin-b: m:A of offer 'b' is no SchedulerSide"),
    ],
)
def test_who_was_made_ends_where_another_cannot_be(kind, error, said):
    Made.ended = ()
    with pytest.raises(error, match=said):
        make(KVTransferConfig(connectors=("a", "b")), a=Made, b=kind)
    assert Made.ended == ("plugin-a",)


def test_policies_by_name():
    policy = eviction_policies(Plugins(lru=LRUPolicy))("lru", 7)
    assert (type(policy), policy.num_blocks, policy.settings.plugin) == (LRUPolicy, 7, "plugin-lru")
