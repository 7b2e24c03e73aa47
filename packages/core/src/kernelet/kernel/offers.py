"""Checks what an offer hook returned before any of it is registered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelet.config import PluginsConfig
from kernelet.contracts.offer import Offer
from kernelet.contracts.versions import API_VERSIONS, ApiVersion
from kernelet.errors import IncompatiblePluginError, PluginError
from kernelet.kernel.compat import version_mismatch
from kernelet.kernel.imports import is_import_string
from kernelet.kernel.kinds import Kind
from kernelet.kernel.report import OPT_IN

IMPORT_STRINGS = ("target", "probe", "config", "worker", "communicator", "kernel_bench", "describe", "self_check")
"""Fields of offers that hold import strings; an empty one means that there is none."""


def checked(kind: Kind, returned: Any, api: Mapping[str, ApiVersion] = API_VERSIONS) -> tuple[Offer, ...]:
    """The offers that a hook returned.

    Raises:
        PluginError: not a sequence of offers of the kind, or a malformed one.
        IncompatiblePluginError: an offer's contract version is not served.
    """
    if not isinstance(returned, Sequence) or isinstance(returned, str):
        raise PluginError(
            f"the hook for {kind.plural} returned {type(returned).__name__}, not a tuple of {kind.offer.__name__}"
        )
    for offer in returned:
        if not isinstance(offer, kind.offer):
            raise PluginError(f"the hook for {kind.plural} returned {offer!r}, which is no {kind.offer.__name__}")
        _check(kind, offer, api)
    return tuple(returned)


def _check(kind: Kind, offer: Offer, api: Mapping[str, ApiVersion]) -> None:
    name: object = offer.name
    if not isinstance(name, str) or not name.strip() or "," in name:
        raise PluginError(f"a {kind.label} has the name {offer.name!r}; names are texts without a comma")
    for field in IMPORT_STRINGS:
        value = getattr(offer, field, "")
        if (field == "target" or value) and not is_import_string(value):
            raise PluginError(f"{kind.label} {offer.name!r}: {field} {value!r} is not of the form package.module:Class")
    try:
        wanted = ApiVersion.parse(offer.api)
    except (ValueError, AttributeError):
        raise PluginError(f"{kind.label} {offer.name!r}: api {offer.api!r} is not of the form 1.0") from None
    if mismatch := version_mismatch(kind.domain, wanted.major, wanted.minor, api[kind.domain]):
        raise IncompatiblePluginError(f"{kind.label} {offer.name!r} {mismatch}")


def why_inactive(kind: Kind, offer: Offer, plugin: str, config: PluginsConfig, *, named: bool) -> str:
    """Why an opt-in offer does not run; empty if it does."""
    if not kind.opt_in or named or offer.name in kind.named(config):
        return ""
    ways = [f"KERNELET_PLUGINS=+{plugin}"]
    if kind.flag:
        ways.insert(0, f"{kind.flag} {offer.name}")
    return f"{OPT_IN} ({kind.opt_in}): name it with {' or '.join(ways)}"
