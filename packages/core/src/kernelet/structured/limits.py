"""What a constraint may ask for, held before anything reads its meaning."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from kernelet.config.structured import ConstraintLimits
from kernelet.structured.refusal import InvalidConstraintError

COUNTS: Final = frozenset({"maxItems", "minItems", "maxLength", "minLength", "maxProperties", "minProperties"})
"""Keywords whose number becomes a repetition."""

DATA: Final = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose value is no schema."""

Path = tuple["Path", str | int] | None
"""A place in a value, from its parent's."""


def check_text(kind: str, text: str, limits: ConstraintLimits) -> None:
    """Holds a constraint's text to its size.

    Raises:
        InvalidConstraintError: it is larger, or no Unicode.
    """
    if len(text) > limits.max_bytes:
        raise too_large(kind, f"{len(text)} characters", f"{limits.max_bytes} bytes", "max-bytes")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidConstraintError("holds a lone surrogate, which is no character", kind) from None
    if size > limits.max_bytes:
        raise too_large(kind, f"{size} bytes", f"{limits.max_bytes}", "max-bytes")


def check_value(kind: str, value: object, limits: ConstraintLimits) -> None:
    """Holds a schema, or other JSON, to its limits, without recursion.

    Raises:
        InvalidConstraintError: one is exceeded; names it, the place and the option.
    """
    left: list[tuple[object, int, Path, bool]] = [(value, 1, None, False)]
    count = 0
    while left:
        one, depth, path, is_data = left.pop()
        count += 1
        if count > limits.max_nodes:
            raise too_large(kind, "more values", f"{limits.max_nodes} in all", "max-nodes")
        if depth > limits.max_depth:
            raise too_large(f"{kind}: {pointer(path)}", f"{depth} levels", f"{limits.max_depth} levels", "max-depth")
        if isinstance(one, dict):
            if len(one) > limits.max_nodes:
                raise too_large(kind, "more values", f"{limits.max_nodes} in all", "max-nodes")
            for key, member in one.items():
                if not is_data:
                    _check_keyword(kind, key, member, (path, str(key)), limits)
                left.append((member, depth + 1, (path, str(key)), is_data or key in DATA))
        elif isinstance(one, list | tuple):
            if len(one) > limits.max_nodes:
                raise too_large(kind, "more values", f"{limits.max_nodes} in all", "max-nodes")
            left.extend((member, depth + 1, (path, index), is_data) for index, member in enumerate(one))


def _check_keyword(kind: str, key: object, value: object, path: Path, limits: ConstraintLimits) -> None:
    if key in COUNTS and isinstance(value, int | float | Decimal) and value > limits.max_repeat:
        raise too_large(f"{kind}: {pointer(path)}", f"{value}", f"{limits.max_repeat}", "max-repeat")
    if key == "enum" and isinstance(value, list) and len(value) > limits.max_enum:
        raise too_large(f"{kind}: {pointer(path)}", f"{len(value)} values", f"{limits.max_enum}", "max-enum")


def check_choice(texts: int, limits: ConstraintLimits) -> None:
    """Holds a choice to its number of texts.

    Raises:
        InvalidConstraintError: there are more.
    """
    if texts > limits.max_enum:
        raise too_large("choice", f"{texts} texts", f"{limits.max_enum}", "max-enum")


def too_large(where: str, got: str, allowed: str, option: str) -> InvalidConstraintError:
    """What is said of a limit."""
    return InvalidConstraintError(
        f"got {got}, at most {allowed} are allowed (the operator's --structured-{option})", where
    )


def pointer(path: Path) -> str:
    """A place as a JSON pointer; long ones are cut in the middle."""
    parts: list[str] = []
    while path is not None:
        path, part = path
        parts.append(str(part).replace("~", "~0").replace("/", "~1"))
    parts.reverse()
    if len(parts) > 8:
        parts = [*parts[:4], "...", *parts[-3:]]
    return "".join(f"/{part}" for part in parts)
