"""The only reader of environment variables. Every flag has one: ``--max-num-seqs`` is KERNELET_MAX_NUM_SEQS."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

PREFIX = "KERNELET_"


def get(name: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Value of ``KERNELET_<name>``; None when it is not set."""
    return (os.environ if environ is None else environ).get(PREFIX + name)


def variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Names of all variables that begin with ``KERNELET_``, sorted."""
    return sorted(name for name in (os.environ if environ is None else environ) if name.startswith(PREFIX))


def all_variables() -> dict[str, str]:
    """A copy of the environment, to see later what somebody changed."""
    return dict(os.environ)


def names(text: str | None) -> tuple[str, ...] | None:
    """Splits a comma-separated list; None stays None, an empty text is an empty list."""
    if text is None:
        return None
    return tuple(part.strip() for part in text.split(",") if part.strip())


def of_system(name: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Value of a variable that is not ours, as drivers read them; None when it is not set."""
    return (os.environ if environ is None else environ).get(name)


def cache_dir() -> Path:
    """Folder of what is kept: KERNELET_CACHE_DIR, else $XDG_CACHE_HOME/kernelet, else ~/.cache/kernelet."""
    if own := get("CACHE_DIR"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kernelet"


def package_index() -> str | None:
    """Address of the configured package index (simple API), without a slash at its end; None: not configured."""
    address = os.environ.get("PIP_INDEX_URL") or os.environ.get("UV_DEFAULT_INDEX")
    return address.rstrip("/") if address else None
