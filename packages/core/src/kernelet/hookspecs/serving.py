"""Hooks that offer servers and endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.serving import EndpointOffer, ServerOffer


@hookspec
def kernelet_servers() -> Sequence[ServerOffer]:
    """Offers servers.

    When: process start, while registries are filled.
    Process: all; one is made in each frontend.
    Returns: offers; duplicates of a name are an error.
    Order: one is selected: the one named by --server, else the highest priority.
    Since: serving 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_endpoints() -> Sequence[EndpointOffer]:
    """Offers applications beside the server.

    When: process start, while registries are filled.
    Process: all; those that are named are made in each frontend.
    Returns: offers; duplicates of a name or a prefix are an error.
    Order: every one named by --endpoint runs, each under its own prefix.
    Since: serving 1.0.
    """
    raise NotImplementedError
