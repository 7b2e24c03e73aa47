from __future__ import annotations

import socket

import pytest

from kernelet.errors import ConfigError
from kernelet_router_prefix.serve import bind


def test_an_address_that_is_taken():
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"--host 127.0.0.1 --port {port}: .*choose another address"):
            bind("127.0.0.1", port)


def test_both_families():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with bind("::1", 0) as bound:
        assert bound.family == socket.AF_INET6
