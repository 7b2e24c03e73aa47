from __future__ import annotations

from kernelet_kv_mooncake import plugin


def test_offers():
    pair, store = plugin.kernelet_kv_connectors()
    assert (pair.name, pair.aliases) == ("kv-mooncake", ("MooncakeConnector",))
    assert (store.name, store.aliases) == ("kv-mooncake-store", ("MooncakeStoreConnector",))
    assert "do_remote_prefill" in pair.params and not store.params, "they can be composed"
    schema = plugin.kernelet_options().schema
    assert set(pair.extra_config.values()) <= set(schema)
    assert {"protocol", "device", "master", "chunk", "host", "lease"} <= set(schema)
