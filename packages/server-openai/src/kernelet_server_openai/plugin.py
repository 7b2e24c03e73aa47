"""Offers ``--server openai``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.serving import ServerOffer
from kernelet.hookspecs import hookimpl

FLAGS = (
    "api-key",
    "api-key-file",
    "admin-key",
    "admin-key-file",
    "allowed-origins",
    "allowed-methods",
    "allowed-headers",
    "allow-credentials",
    "ssl-certfile",
    "ssl-keyfile",
    "ssl-keyfile-password",
    "ssl-ca-certs",
    "max-request-bytes",
    "max-concurrent-requests",
    "requests-per-minute",
    "max-logprobs",
    "access-log",
    "client-timeout",
    "response-store-bytes",
)


def text(help: str, default: str | None = "") -> Option:  # noqa: A002  the word that Option uses
    return Option(type=str, default=default, help=help)


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "api_key": text("keys of clients, separated by commas; default: none, anybody may ask", None),
            "api_key_file": text("a file with keys of clients, one a line; # begins a comment line"),
            "admin_key": text("keys of the admin routes, separated by commas; default: none, no such routes", None),
            "admin_key_file": text("a file with keys of the admin routes, one a line; # begins a comment line"),
            "allowed_origins": text("origins whose pages may ask, separated by commas; *: any"),
            "allowed_methods": text("methods for pages of other origins, separated by commas", "GET,POST"),
            "allowed_headers": text("headers for pages of other origins, separated by commas; *: any", "*"),
            "allow_credentials": Option(type=bool, default=False, help="pages of other origins may send cookies"),
            "ssl_certfile": text("certificate in PEM: the server speaks HTTPS"),
            "ssl_keyfile": text("the certificate's private key in PEM"),
            "ssl_keyfile_password": text("password of the private key"),
            "ssl_ca_certs": text("certificates in PEM; a client must show one that they signed"),
            "max_request_bytes": Option(type=int, default=16 * 1024 * 1024, help="bytes of a request's body at most"),
            "max_concurrent_requests": Option(
                type=int, default=4096, help="requests that one frontend works on at once; 0: any number"
            ),
            "requests_per_minute": Option(
                type=int, default=0, help="requests a minute of each API key to one frontend; 0: any number"
            ),
            "max_logprobs": Option(type=int, default=20, help="log-probabilities a token at most; -1: any number"),
            "access_log": text("where a line of JSON goes for each request: stdout, off, or a file", "stdout"),
            "client_timeout": Option(
                type=float, default=300.0, help="seconds that a client may leave its answer unread; 0: for ever"
            ),
            "response_store_bytes": Option(
                type=int,
                default=64 * 1024 * 1024,
                help="bytes of responses kept for previous_response_id; 0: none; with several frontends none are",
            ),
        }
    )


@hookimpl
def kernelet_servers() -> Sequence[ServerOffer]:
    return (
        ServerOffer(
            name="openai",
            target="kernelet_server_openai.server:OpenAIServer",
            flags={flag: flag.replace("-", "_") for flag in FLAGS},
            paths=(
                "v1",
                "pooling",
                "tokenize",
                "detokenize",
                "health",
                "live",
                "ready",
                "metrics",
                "version",
                "plugins",
                "kv_event_sources",
                "sleep",
                "wake_up",
                "is_sleeping",
                "reset_prefix_cache",
                "drain",
                "openapi.json",
            ),
            summary="OpenAI's API: chat, completions, embeddings",
        ),
    )
