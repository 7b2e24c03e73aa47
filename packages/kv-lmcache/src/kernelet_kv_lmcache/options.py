"""Whether the options make sense, before anything is started."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlsplit

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_kv_lmcache.wire import IDS

SCHEMES = ("tcp", "grpc")


def address(settings: Settings) -> str:
    """Of a server that runs: ``url``, with ``port`` where it has none of its own."""
    url, port = str(settings["url"] or ""), int(settings["port"] or 0)
    scheme, _, host = url.rpartition("://")
    return f"{scheme or 'tcp'}://{host}" + (f":{port}" if ":" not in host else "")


def check(settings: Settings) -> None:
    """Whether the settings say one server, and numbers with which there can be one.

    Raises:
        ConfigError: they do not; names the option.
    """
    if bool(settings["spawn"]) == bool(settings["url"]):
        raise ConfigError(
            "kv-lmcache needs one server: --set kv-lmcache.spawn=true starts one, "
            "--set kv-lmcache.url=tcp://HOST:PORT uses one that runs with --supported-transfer-mode engine_driven"
        )
    if settings["path"] and not settings["spawn"]:
        raise ConfigError("kv-lmcache.path is for a server that this engine starts: --set kv-lmcache.spawn=true")
    if settings["url"]:
        _check_address(settings)
    chunk = int(settings["chunk_size"] or 0)
    if chunk < IDS or chunk % IDS:
        raise ConfigError(f"kv-lmcache.chunk_size must be a multiple of {IDS}, not {chunk}")
    for key in ("memory_gb", "timeout", "start_timeout"):
        if not float(settings[key] or 0) > 0:
            raise ConfigError(f"kv-lmcache.{key} must be more than 0, not {settings[key]}")
    if float(settings["memory_gb"] or 0) > total_gb():
        raise ConfigError(
            f"kv-lmcache.memory_gb must be less than this machine's {total_gb():.1f}, not {settings['memory_gb']}"
        )
    if int(settings["buffer_mb"] or 0) < 0:
        raise ConfigError(f"kv-lmcache.buffer_mb must be 0 or more, not {settings['buffer_mb']}")
    if settings["python"] and shutil.which(str(settings["python"])) is None:
        raise ConfigError(f"kv-lmcache.python: {settings['python']} is no program that can be run")


def check_chunk(chunk: int, max_model_len: int, *, own: bool) -> None:
    """Whether a request can fill a chunk.

    Args:
        chunk: Tokens; 0: not known yet.
        max_model_len: Largest number of tokens of a request.
        own: Of a server that this engine starts.

    Raises:
        ConfigError: it cannot, and nothing would ever be stored.
    """
    if chunk > max_model_len:
        option = "kv-lmcache.chunk_size" if own else "the --chunk-size of the server that kv-lmcache.url names"
        raise ConfigError(f"{option} must be {max_model_len} tokens, a request's most, or fewer, not {chunk}")


def total_gb() -> float:
    """Memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)


def folder_of(settings: Settings) -> Path | None:
    """Of the file tier of a started server, which is made; None: it has none.

    Raises:
        ConfigError: there can be no files in it.
    """
    if not settings["path"]:
        return None
    folder = Path(str(settings["path"])).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise ConfigError(f"kv-lmcache.path: no file can be made in {folder}: {error}") from error


def _check_address(settings: Settings) -> None:
    said = address(settings)
    found = urlsplit(said)
    try:
        whole = found.scheme in SCHEMES and found.hostname and (found.port or 0) > 0
    except ValueError:  # of a port
        whole = False
    if not whole:
        raise ConfigError(
            f"kv-lmcache.url must be tcp://HOST:PORT or grpc://HOST:PORT, or have kv-lmcache.port, not {said}"
        )
