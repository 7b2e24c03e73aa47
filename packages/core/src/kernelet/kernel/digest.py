"""SHA-256 over plain data, the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import msgspec

from kernelet.contracts.offer import Offer
from kernelet.errors import PluginError


def digest(value: Any) -> str:
    """Of numbers, texts, and collections and types of them."""
    return hashlib.sha256(msgspec.json.encode(value, enc_hook=_plain, order="deterministic")).hexdigest()


def offer_digest(offer: Offer) -> str:
    """Of an offer's class and fields.

    Raises:
        PluginError: it holds something else than plain data.
    """
    values = {field.name: getattr(offer, field.name) for field in fields(offer)}
    return digest({"type": type(offer).__qualname__, **values})


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    raise PluginError(f"an offer holds a {type(value).__name__}; offers are plain data")
