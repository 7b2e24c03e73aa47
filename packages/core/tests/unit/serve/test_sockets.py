from __future__ import annotations

import socket

import pytest

from kernelet.errors import ConfigError
from kernelet.serve.options import ServeOptions
from kernelet.serve.sockets import bind, why_not_bound


def test_a_free_port():
    listener = bind(ServeOptions(port=0))
    number = listener.socket.getsockname()[1]
    assert number > 0
    assert listener.address == f"http://127.0.0.1:{number}"
    with socket.socket() as client, pytest.raises(ConnectionRefusedError):
        client.connect(("127.0.0.1", number))  # bound, and nobody listens yet
    listener.socket.listen()
    with socket.socket() as client:
        client.connect(("127.0.0.1", number))
    listener.close()
    listener.close()


def test_a_port_in_use():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port {port} of 127.0.0.1 is in use: .*--port"):
            bind(ServeOptions(port=port))


@pytest.mark.parametrize(
    "host, message", [("192.0.2.1", "no address of this machine"), ("no such host.invalid", "no such address")]
)
def test_a_wrong_host(host, message):
    with pytest.raises(ConfigError, match=message):
        bind(ServeOptions(host=host, port=0))


def test_privileges():
    assert "from 1024 on" in why_not_bound("127.0.0.1", 80, PermissionError(13, "Permission denied"))


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
def test_version_6():
    listener = bind(ServeOptions(host="::1", port=0))
    assert listener.address.startswith("http://[::1]:")
    listener.close()


def test_a_unix_socket(tmp_path):
    path = tmp_path / "s"
    listener = bind(ServeOptions(uds=str(path)))
    assert listener.address == f"unix:{path}"
    listener.socket.listen()
    with pytest.raises(ConfigError, match="is in use"):
        bind(ServeOptions(uds=str(path)))
    listener.close()
    assert not path.exists()
    listener.close()


def test_what_a_dead_server_left_is_replaced(tmp_path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()
    listener = bind(ServeOptions(uds=str(path)))
    listener.socket.listen()
    listener.close()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda path: path.write_text("mine"), "exists and is no socket"),
        (lambda path: path.mkdir(), "exists and is no socket"),
    ],
)
def test_something_else_is_kept(tmp_path, make, message):
    path = tmp_path / "s"
    make(path)
    with pytest.raises(ConfigError, match=message):
        bind(ServeOptions(uds=str(path)))
    assert path.exists()


@pytest.mark.parametrize(
    "name, message", [("none/s", "its folder does not exist"), ("x" * 200, "cannot be bound: .*too long")]
)
def test_a_path_that_cannot_be(tmp_path, name, message):
    with pytest.raises(ConfigError, match=message):
        bind(ServeOptions(uds=str(tmp_path / name)))
