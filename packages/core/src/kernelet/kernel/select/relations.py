"""Checks ``requires`` and ``conflicts`` of everything that was selected, together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kernelet.contracts.plugins import Owned
from kernelet.errors import SelectionError


def check_relations(selected: Mapping[str, Owned[Any]], available: Collection[str] = ()) -> None:
    """Holds selected offers to each other.

    Args:
        selected: Offers that run, by ``"domain:name"``.
        available: Further ``"domain:name"`` that a model or a layer picks by itself; they satisfy a requirement.

    Raises:
        SelectionError: listing every requirement that is not met and every conflict.
    """
    complaints = []
    for key, owned in sorted(selected.items()):
        complaints += [
            f"{key} (plugin {owned.plugin}) requires {wanted}, which was not selected"
            for wanted in owned.offer.requires
            if wanted not in selected and wanted not in available
        ]
        complaints += [
            f"{key} (plugin {owned.plugin}) does not work together with {other}"
            for other in owned.offer.conflicts
            if other in selected
        ]
    if complaints:
        raise SelectionError(
            "The selected offers do not fit together: " + "; ".join(complaints) + ". Name others by their flags."
        )
