from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import socket
import ssl

import httpx
import pytest
from null_server import LiveServer, plugin_settings, server_context
from scripted_engine import DONE, ScriptedEngine, choice, output

from kernelet.errors import ConfigError
from kernelet_server_openai.server import OpenAIServer, tls_options
from kernelet_server_openai.settings import Tls

CHAT = {"messages": [{"role": "user", "content": "x"}]}


def test_settings_are_checked_before_the_model_loads():
    with pytest.raises(ConfigError):
        OpenAIServer.check_settings(plugin_settings(max_request_bytes=0))


def test_it_serves_until_it_is_stopped_and_closes_the_socket():
    live = LiveServer(ScriptedEngine())
    with live, httpx.Client(base_url=live.url) as client:
        assert client.get("/live").status_code == 200
        live.server.stop()
        live._thread.join(30)
        assert not live.running
        assert live.socket.fileno() == -1


def test_a_stop_finishes_what_runs():
    go = asyncio.Event()
    with LiveServer(ScriptedEngine(output(choice("h")), go, DONE)) as live:
        with httpx.stream(
            "POST", f"{live.url}/v1/chat/completions", json={**CHAT, "stream": True}, timeout=30
        ) as reply:
            lines = reply.iter_lines()
            next(lines)
            live.server.stop()
            live.loop.call_soon_threadsafe(go.set)
            assert [line for line in lines if line][-1] == "data: [DONE]"
        live._thread.join(30)
        assert not live.running


@pytest.mark.parametrize("reads", [True, False])
def test_a_second_stop_closes_every_connection(reads):
    engine = ScriptedEngine(output(choice("h")), asyncio.Event())
    with LiveServer(engine) as live:
        with live.connect() as connection:
            body = b'{"messages":[{"role":"user","content":"x"}],"stream":true}'
            head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
            connection.sendall(head + body)
            if reads:
                assert connection.recv(10)
            else:
                assert engine.begun.wait(30)
            live.server.stop()
            live.server.stop_now()
            live._thread.join(30)
            assert not live.running
        assert engine.running == 0
    live.server.stop_now()


def test_a_stop_before_it_runs():
    server = OpenAIServer(plugin_settings(), server_context(ScriptedEngine()))
    server.stop()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        asyncio.run(asyncio.wait_for(server.run([listening]), 30))


def write_certificate(folder):
    """A certificate for this machine, signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - dt.timedelta(days=1))
    certificate = builder.not_valid_after(now + dt.timedelta(days=1)).add_extension(address, critical=False)
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(certificate.sign(key, hashes.SHA256()).public_bytes(pem))
    password = serialization.BestAvailableEncryption(b"hush")
    (folder / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, password))
    return str(folder / "cert.pem"), str(folder / "key.pem")


def test_https(tmp_path):
    certificate, key = write_certificate(tmp_path)
    settings = {"ssl_certfile": certificate, "ssl_keyfile": key, "ssl_keyfile_password": "hush"}
    with LiveServer(ScriptedEngine(), **settings) as live:
        trusting = ssl.create_default_context(cafile=certificate)
        assert httpx.get(f"{live.url}/live", verify=trusting).json() == {"status": "live"}
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{live.url}/live")
    with pytest.raises(ConfigError, match="cannot be used"):
        OpenAIServer.check_settings(plugin_settings(**settings | {"ssl_keyfile_password": "wrong"}))


def test_a_client_must_show_a_certificate_where_one_is_asked_for():
    tls = Tls(certfile="c", keyfile="", password="", ca_certs="a")
    assert tls_options(tls)["ssl_cert_reqs"] is ssl.CERT_REQUIRED
    assert tls_options(None) == {}
