"""KV connectors: the suite, a connector with a script, and pages without an engine."""

from __future__ import annotations

from kernelet.testing.kv_connector.fake import fake_offer
from kernelet.testing.kv_connector.pages import PlainPages, plain_layout, same
from kernelet.testing.kv_connector.scene import KVConnectorCapabilities
from kernelet.testing.kv_connector.script import EndScript, LoadScript, Store, World
from kernelet.testing.kv_connector.suite import KVConnectorSuite

__all__ = [
    "EndScript",
    "KVConnectorCapabilities",
    "KVConnectorSuite",
    "LoadScript",
    "PlainPages",
    "Store",
    "World",
    "fake_offer",
    "plain_layout",
    "same",
]
