from __future__ import annotations

from kernelet_kv_nixl import plugin


def test_offer():
    (offer,) = plugin.kernelet_kv_connectors()
    assert (offer.name, offer.aliases) == ("kv-nixl", ("NixlConnector", "NixlPullConnector"))
    assert {"do_remote_prefill", "do_remote_decode", "remote_engine_id"} <= set(offer.params)
    schema = plugin.kernelet_options().schema
    assert schema["backend"].default == "UCX" and {"host", "port", "lease"} <= set(schema)
