from __future__ import annotations

from kernelet_kv_transfer import plugin
from kernelet_kv_transfer.params import KEYS


def test_offer():
    (offer,) = plugin.kernelet_kv_connectors()
    assert offer.name == "kv-transfer" and offer.params == KEYS and offer.default_role == "both"
    assert set(plugin.kernelet_options().schema) == {"host", "port", "lease", "buffers", "buffer_mib", "after_part"}
