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
    "data",
    [
        b"\xef\xbb\xbfkey1\r\nkey2 \r\n",
        b"\xef\xbb\xbf# ours\r\n\r\n  # not one\nkey1\r\tkey2\t",
        b"key1\nkey2\nkey1",
    ],
)
def test_files_of_any_editor(tmp_path, data):
    path = tmp_path / "keys"
    path.write_bytes(data)
    assert read(api_key_file=str(path)).api_keys == ("key1", "key2")


@pytest.mark.parametrize(
    "data, place",
    [
        ("one\n\nhush\u00e9\n".encode(), ", line 3:"),
        ("\ufeff\ufeffhush".encode(), ", line 1:"),
        (b"# ours\nhush\0\n", ", line 2:"),
        ("hush\u00a0\n".encode(), ", line 1:"),
        ("hush\u2028hush".encode(), ", line 1:"),
        ("hush".encode("utf-16"), "UTF-8"),
        ("hush".encode("utf-16-le"), ", line 1:"),
        ("hush\u00e9".encode("latin-1"), "UTF-8"),
    ],
)
def test_a_key_that_no_header_carries(tmp_path, data, place):
    path = tmp_path / "keys"
    path.write_bytes(data)
    for key in ("api_key_file", "admin_key_file"):
        with pytest.raises(ConfigError) as caught:
            read(**{key: str(path)})
        assert str(caught.value).startswith(f"--{key.replace('_', '-')}: {path}")
        assert place in str(caught.value)
        assert "hush" not in str(caught.value)


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
        ({"api_key": "a,\u00e9"}, "--api-key: key 2"),
        ({"admin_key": "a\nb"}, "--admin-key: key 1"),
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
