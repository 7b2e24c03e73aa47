from __future__ import annotations

import pytest

from kernelet.contracts.kv import KVWorkerContext
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.kv_connector.pages import PlainPages, plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet_kv_transfer.connector import TcpWorker
from kernelet_kv_transfer.options import options


def test_an_address_of_another_machine_stops_the_start():
    values = {key: option.default for key, option in options().items()}
    context = KVWorkerContext(identity=IDENTITY, role="both", engine_id="e", pages=PlainPages([plain_layout()]))
    with pytest.raises(ConfigError, match="no address of this machine"):
        TcpWorker(Settings(plugin="kv-transfer", values={**values, "host": "192.0.2.1"}), context)
