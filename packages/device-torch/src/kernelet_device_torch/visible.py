"""Which devices a variable lets a process see, as drivers read it; management libraries do not look at it."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = re.compile(r"[+-]?\d+")


def visible(value: str | None, uuids: Sequence[str]) -> tuple[int, ...]:
    """Positions of the devices that a process sees, in its order.

    A list names devices by position or by the beginning of a UUID. The first entry that names none ends it, and one
    that names a device again makes it empty, as the driver has it.

    Args:
        value: Of the variable; None: it is not set, and all are seen. Empty: none is.
        uuids: Of the machine's devices, in the order in which the driver counts them.
    """
    if value is None:
        return tuple(range(len(uuids)))
    seen: list[int] = []
    for entry in value.split(","):
        position = _position(entry.strip(), uuids)
        if position is None:
            break
        if position in seen:
            return ()
        seen.append(position)
    return tuple(seen)


def _position(entry: str, uuids: Sequence[str]) -> int | None:
    number = NUMBER.match(entry)  # what stands behind it is not read
    if number is not None:
        position = int(number[0])
        return position if 0 <= position < len(uuids) else None
    found = [index for index, uuid in enumerate(uuids) if entry and uuid.lower().startswith(entry.lower())]
    return found[0] if len(found) == 1 else None
