"""Input items of ``/v1/responses`` as chat messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.refused import PARSERS

Messages = list[dict[str, Any]]
ROLES = ("user", "assistant", "system", "developer")
ITEM_FIELDS = frozenset({"type", "role", "content", "id", "status", "phase"})
TEXT_PARTS = ("input_text", "output_text", "text")


def input_messages(given: str | Sequence[Mapping[str, Any]]) -> Messages:
    """What the chat template gets.

    Raises:
        ApiError: 400, naming the item that is no message of text.
    """
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return [message(item, f"input[{place}]") for place, item in enumerate(given)]


def message(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    """One item. Models know no developers: what they say is the system's."""
    kind, role = item.get("type", "message"), item.get("role")
    if kind != "message":
        advice = PARSERS if isinstance(kind, str) and "call" in kind else "give messages of text"
        raise wrong(f"{where}.type", f"nothing here takes {str(kind)[:100]!r}: {advice}")
    if role not in ROLES:
        raise wrong(f"{where}.role", f"got {str(role)[:100]!r}, expected {', '.join(ROLES)}")
    if unknown := sorted(item.keys() - ITEM_FIELDS):
        raise wrong(f"{where}.{unknown[0][:100]}", "nothing takes this field here: leave it out")
    return {"role": "system" if role == "developer" else role, "content": text(item.get("content"), f"{where}.content")}


def text(content: object, where: str) -> str:
    """The text of an item."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise wrong(where, "expected a text or a list of parts")
    return "\n".join(part(one, f"{where}[{place}]") for place, one in enumerate(content))


def part(given: object, where: str) -> str:
    """The text of a part."""
    if not isinstance(given, dict) or given.get("type") not in TEXT_PARTS:
        kind = given.get("type") if isinstance(given, dict) else given
        raise wrong(where, f"got {str(kind)[:100]!r}, this model takes parts of type 'input_text'")
    if not isinstance(given.get("text"), str):
        raise wrong(f"{where}.text", "expected a text")
    found: str = given["text"]
    return found


def wrong(where: str, message: str) -> ApiError:
    """A 400 that names the place."""
    return ApiError(400, f"{where}: {message}", param=where)
