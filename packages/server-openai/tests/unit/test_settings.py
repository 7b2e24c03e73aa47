from __future__ import annotations

import pytest
from null_server import plugin_settings

from kernelet.errors import ConfigError
from kernelet_server_openai.settings import ServerSettings, names


def read(**changed):
    return ServerSettings.read(plugin_settings(**changed))


def test_defaults_open_a_plain_server():
    found = read()
    assert (found.api_keys, found.admin_keys, found.tls, found.cors) == ((), (), None, None)
    assert found.max_request_bytes == 16 * 1024 * 1024


def test_lists_are_separated_by_commas():
    assert names(" a, b ,,c") == ("a", "b", "c")
    assert read(api_key="a,b").api_keys == ("a", "b")


def test_keys_of_a_file_come_after_those_of_the_option(tmp_path):
    path = tmp_path / "keys"
    path.write_text("# ours\nb\n\n  c  \na\n", encoding="utf-8")
    assert read(api_key="a", api_key_file=str(path)).api_keys == ("a", "b", "c")
    assert read(admin_key_file=str(path)).admin_keys == ("b", "c", "a")


def test_a_file_without_keys(tmp_path):
    path = tmp_path / "keys"
    with pytest.raises(ConfigError, match="--api-key-file"):
        read(api_key_file=str(path))
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="holds no key"):
        read(api_key_file=str(path))


@pytest.mark.parametrize(
    "changed, flag",
    [
        ({"max_request_bytes": 0}, "--max-request-bytes"),
        ({"max_concurrent_requests": -1}, "--max-concurrent-requests"),
        ({"max_logprobs": -2}, "--max-logprobs"),
        ({"client_timeout": float("nan")}, "--client-timeout"),
        ({"requests_per_minute": 5}, "--api-key"),
        ({"api_key": "a", "admin_key": "a"}, "--admin-key"),
        ({"api_key": " , "}, "--api-key"),
        ({"api_key": ""}, "--api-key"),
        ({"admin_key": ""}, "--admin-key"),
        ({"ssl_keyfile": "x"}, "--ssl-certfile"),
        ({"ssl_certfile": "/no/such/file"}, "--ssl-certfile"),
    ],
)
def test_what_cannot_work(changed, flag):
    with pytest.raises(ConfigError, match=flag):
        read(**changed)


def test_a_certificate_that_is_none(tmp_path):
    path = tmp_path / "cert.pem"
    path.write_text("nothing", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be used"):
        read(ssl_certfile=str(path))


def test_what_pages_may_do():
    found = read(allowed_origins="*", allow_credentials=True).cors
    assert (found.origins, found.methods, found.headers, found.credentials) == (("*",), ("GET", "POST"), ("*",), True)
