from __future__ import annotations

from kernelet_kv_lmcache import plugin


def test_offer():
    (offer,) = plugin.kernelet_kv_connectors()
    assert offer.aliases == ("LMCacheMPConnector", "LMCacheConnectorV1")
    assert offer.max_groups == 1
    assert offer.default_role == "both"
    assert set(offer.extra_config.values()) <= set(plugin.kernelet_options().schema)


def test_telemetry_is_off():
    assert plugin.kernelet_options().schema["telemetry"].default is False
