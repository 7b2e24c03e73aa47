from __future__ import annotations

from kernelet_stats_prometheus import plugin


def test_the_offer_and_its_flag():
    (offer,) = plugin.kernelet_stat_loggers()
    schema = plugin.kernelet_options().schema
    assert offer.name == "prometheus"
    assert dict(offer.flags) == {"metrics-names": "names"}
    assert set(offer.flags.values()) == set(schema)
    assert schema["names"].choices == ("kernelet", "vllm")
