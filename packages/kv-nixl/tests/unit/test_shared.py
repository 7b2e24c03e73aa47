from __future__ import annotations

import kernelet_kv_transfer.options
import kernelet_kv_transfer.params
from kernelet_kv_nixl import shared


def test_it_is_the_protocols():
    assert shared.KEYS == kernelet_kv_transfer.params.KEYS
    assert shared.options() == kernelet_kv_transfer.options.options()
