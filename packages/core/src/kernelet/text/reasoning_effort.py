"""``reasoning_effort`` as variables of a chat template: some have levels, some a switch, most neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kernelet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NONE: Final = "none"
"""The effort of a model that is not to think."""

_LEVEL: Final = "reasoning_effort"
_SWITCHES: Final = ("enable_thinking", "thinking")


def effort_variables(effort: str, known: AbstractSet[str]) -> dict[str, Any]:
    """What the template is given.

    Args:
        effort: ``"none"``: no thinking, which every template without it has anyway; else a level's name, which for a
            template with a switch means that it is on.
        known: Variables that the template reads.

    Raises:
        ParameterError: The template knows neither levels nor a switch.
    """
    switch = next((name for name in _SWITCHES if name in known), None)
    if _LEVEL in known and not (effort == NONE and switch):
        return {_LEVEL: effort}
    if switch:
        return {switch: effort != NONE}
    if effort == NONE:
        return {}
    names = ", ".join((_LEVEL, *_SWITCHES))
    raise ParameterError(_LEVEL, f"this chat template has no variable for it ({names}): leave it out")
