"""Checks ``requires`` and ``conflicts`` of everything that was selected, together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kernelet.contracts.plugins import Owned
from kernelet.errors import SelectionError


def check_relations(selected: Mapping[str, Owned[Any]], running: Collection[str] = ()) -> None:
    """Holds selected offers to each other.

    Args:
        selected: Offers by ``"domain:name"``.
        running: Further ``"domain:name"`` that run without being selected.

    Raises:
        SelectionError: listing every requirement that is not met and every conflict.
    """
    present = {*selected, *running}
    complaints = []
    for key, owned in sorted(selected.items()):
        complaints += [
            f"{key} (plugin {owned.plugin}) requires {wanted}, which was not selected"
            for wanted in owned.offer.requires
            if wanted not in present
        ]
        complaints += [
            f"{key} (plugin {owned.plugin}) does not work together with {other}"
            for other in owned.offer.conflicts
            if other in present
        ]
    if complaints:
        raise SelectionError(
            "The selected offers do not fit together: " + "; ".join(complaints) + ". Name others by their flags."
        )
