from __future__ import annotations

import pytest

from kernelet.engine.core_client import CoreClient


def test_a_client_must_have_every_call():
    with pytest.raises(TypeError, match="abort"):
        type("Half", (CoreClient,), {"add": lambda self, requests, sink: None})()


def test_the_interface_is_small():
    assert len(CoreClient.__abstractmethods__) <= 12
