"""The plugin's options, read and checked."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Tls:
    """Files of a certificate."""

    certfile: str
    keyfile: str
    password: str
    ca_certs: str


@dataclass(frozen=True, kw_only=True)
class Cors:
    """What pages of other origins may do."""

    origins: tuple[str, ...]
    methods: tuple[str, ...]
    headers: tuple[str, ...]
    credentials: bool


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Everything an operator decides.

    Attributes:
        api_keys: None at all: whoever reaches the port may ask.
        admin_keys: None at all: there are no admin routes.
        tls: None: plain HTTP.
        cors: None: no page of another origin.
        max_request_bytes: Of a body.
        max_concurrent_requests: At once, in this frontend; 0: any number.
        requests_per_minute: For each API key, in this frontend; 0: any number.
        max_logprobs: For a token; -1: as many as the vocabulary has.
        access_log: "stdout", "off", or a file.
        client_timeout: Seconds that a client may leave an answer unread; 0: for ever.
        response_store_bytes: Of what ``/v1/responses`` keeps; 0: nothing.
    """

    api_keys: tuple[str, ...]
    admin_keys: tuple[str, ...]
    tls: Tls | None
    cors: Cors | None
    max_request_bytes: int
    max_concurrent_requests: int
    requests_per_minute: int
    max_logprobs: int
    access_log: str
    client_timeout: float
    response_store_bytes: int

    @classmethod
    def read(cls, settings: Settings) -> ServerSettings:
        """From the plugin's options.

        Raises:
            ConfigError: two do not go together, or a file cannot be read.
        """
        values: Mapping[str, Any] = settings.values
        found = cls(
            api_keys=keys(values, "api_key"),
            admin_keys=keys(values, "admin_key"),
            tls=tls(values),
            cors=cors(values),
            max_request_bytes=at_least(values, "max_request_bytes", 1),
            max_concurrent_requests=at_least(values, "max_concurrent_requests", 0),
            requests_per_minute=at_least(values, "requests_per_minute", 0),
            max_logprobs=at_least(values, "max_logprobs", -1),
            access_log=values["access_log"],
            client_timeout=at_least(values, "client_timeout", 0),
            response_store_bytes=at_least(values, "response_store_bytes", 0),
        )
        if found.requests_per_minute and not found.api_keys:
            raise ConfigError("--requests-per-minute counts by API key, and there is none: add --api-key")
        if set(found.api_keys) & set(found.admin_keys):
            raise ConfigError("--admin-key: an API key must not open the admin routes: choose another")
        return found


def flag(key: str) -> str:
    """``--api-key``."""
    return "--" + key.replace("_", "-")


def at_least(values: Mapping[str, Any], key: str, least: int) -> Any:
    """A number that is not below ``least``.

    Raises:
        ConfigError: it is.
    """
    if not values[key] >= least:
        raise ConfigError(f"{flag(key)}: got {values[key]}, expected {least} or more")
    return values[key]


def names(text: str) -> tuple[str, ...]:
    """The entries of a list that is separated by commas."""
    return tuple(entry for part in text.split(",") if (entry := part.strip()))


def keys(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Keys from the option and from the file. Errors name the place of a key, never the key.

    Raises:
        ConfigError: the file cannot be read or holds none, or one has what no header carries.
    """
    given, path = names(values[key] or ""), values[f"{key}_file"]
    if values[key] is not None and not given:
        raise ConfigError(f"{flag(key)}: got {values[key]!r}, which holds no key")
    for place, one in enumerate(given, 1):
        check_key(one, f"{flag(key)}: key {place}")
    return tuple(dict.fromkeys((*given, *keys_of_file(Path(path), flag(f"{key}_file"))))) if path else given


def keys_of_file(path: Path, option: str) -> list[str]:
    """A key a line; empty lines and those that begin with ``#`` are none. Editors may put a byte order mark first.

    Raises:
        ConfigError: the file cannot be read or holds none, or one has what no header carries.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise ConfigError(f"{option}: {path} cannot be read: {error}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"{option}: {path} is no UTF-8: save it as UTF-8 or ASCII") from None  # it holds the keys
    found = []
    for number, line in enumerate(lines, 1):
        one = line.strip(" \t")
        if one and not one.startswith("#"):
            check_key(one, f"{option}: {path}, line {number}")
            found.append(one)
    if not found:
        raise ConfigError(f"{option}: {path} holds no key: write one a line")
    return found


def check_key(key: str, where: str) -> None:
    """A key is sent in a header.

    Raises:
        ConfigError: it has other characters than headers carry everywhere.
    """
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{where}: a key has printable ASCII characters only, and this one has others")


def tls(values: Mapping[str, Any]) -> Tls | None:
    """The certificate, if there is one.

    Raises:
        ConfigError: a file is missing.
    """
    if not values["ssl_certfile"]:
        if alone := [key for key in ("ssl_keyfile", "ssl_keyfile_password", "ssl_ca_certs") if values[key]]:
            raise ConfigError(f"{flag(alone[0])}: there is no certificate: add --ssl-certfile")
        return None
    for key in ("ssl_certfile", "ssl_keyfile", "ssl_ca_certs"):
        if values[key] and not Path(values[key]).is_file():
            raise ConfigError(f"{flag(key)}: {values[key]} is no file")
    found = Tls(
        certfile=values["ssl_certfile"],
        keyfile=values["ssl_keyfile"],
        password=values["ssl_keyfile_password"],
        ca_certs=values["ssl_ca_certs"],
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(found.certfile, found.keyfile or None, found.password)
        if found.ca_certs:
            context.load_verify_locations(found.ca_certs)
    except OSError as error:
        raise ConfigError(f"--ssl-certfile: the certificate or its key cannot be used: {error}") from error
    return found


def cors(values: Mapping[str, Any]) -> Cors | None:
    """What browsers are told, if anything."""
    origins = names(values["allowed_origins"])
    if not origins:
        return None
    return Cors(
        origins=origins,
        methods=names(values["allowed_methods"]),
        headers=names(values["allowed_headers"]),
        credentials=values["allow_credentials"],
    )
