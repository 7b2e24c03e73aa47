"""Messages of chats, checked before a chat template sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from kernelet.request.values import shown
from kernelet_server_openai.protocol import reading
from kernelet_server_openai.protocol.places import a_list, a_text, an_object, wrong

TEXTS = ("name", "reasoning", "reasoning_content", "tool_call_id")
"""Fields of a message that are texts, if they are there."""


def checked_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages as templates know them: arguments of calls are objects. What else they hold, the template decides.

    Raises:
        ApiError: 400, naming the place.
    """
    calls = [call for message in messages if isinstance(found := message.get("tool_calls"), list) for call in found]
    check_size([call["function"] for call in calls if isinstance(call, dict) and "function" in call], "messages")
    return [checked_message(message, f"messages[{place}]") for place, message in enumerate(messages)]


def check_size(functions: Iterable[object], field: str) -> None:
    """Arguments are JSON inside of texts: how much there is in them is known before anything is made of it.

    Args:
        functions: Objects with ``arguments``; others have none.
        field: That holds them.

    Raises:
        ApiError: 400: it is too much.
    """
    given = (one.get("arguments") for one in functions if isinstance(one, dict))
    texts = ",".join(text for text in given if isinstance(text, str))
    if reading.members(texts.encode("utf-8", "surrogatepass"), reading.MAX_VALUES) > reading.MAX_VALUES:
        raise wrong(field, f"arguments of calls have {reading.MAX_VALUES} members together at most")


def checked_message(message: Mapping[str, Any], where: str) -> dict[str, Any]:
    """One of them."""
    made = {name: value for name, value in message.items() if value is not None}
    if not made.get("role"):
        raise wrong(f"{where}.role", f"got {shown(message.get('role'))}, expected a text such as 'user'")
    for name in ("role", *TEXTS):
        if name in made:
            a_text(made[name], f"{where}.{name}")
    if "content" in made:
        check_content(made["content"], f"{where}.content")
    calls = made.pop("tool_calls", [])
    if calls:
        place = f"{where}.tool_calls"
        made["tool_calls"] = [checked_call(call, f"{place}[{n}]") for n, call in enumerate(a_list(calls, place))]
    elif "content" not in made and (made["role"] != "assistant" or len(made) == 1):
        raise wrong(f"{where}.content", "is missing: give a text or a list of text parts")
    return made


def check_content(content: object, where: str) -> None:
    """A text, or a list of parts.

    Raises:
        ApiError: 400: it is something else.
    """
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise wrong(where, f"got {shown(content)}, expected a text or a list of text parts")
    for place, part in enumerate(content):
        at = f"{where}[{place}]"
        found = an_object(part, at)
        if found.get("type") != "text":
            raise wrong(f"{at}.type", f"got {shown(found.get('type'))}: this model takes parts of type 'text'")
        a_text(found.get("text"), f"{at}.text")


def checked_call(call: object, where: str) -> dict[str, Any]:
    """A call that an assistant has made.

    Raises:
        ApiError: 400, naming the place.
    """
    given = an_object(call, where)
    if given.get("type", "function") != "function":
        raise wrong(f"{where}.type", f"got {shown(given['type'])}, expected 'function'")
    if given.get("id") is not None:
        a_text(given["id"], f"{where}.id")
    function = an_object(given.get("function"), f"{where}.function")
    made = {
        "name": a_text(function.get("name"), f"{where}.function.name"),
        "arguments": arguments(function.get("arguments"), f"{where}.function.arguments"),
    }
    kept = {} if given.get("id") is None else {"id": given["id"]}
    return {**kept, "type": "function", "function": made}


def arguments(given: object, where: str) -> dict[str, Any]:
    """Arguments as an object: clients send them as JSON in a text, templates write them themselves.

    Raises:
        ApiError: 400: they are neither.
    """
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        found = decoded(given)
        if found is None:
            raise wrong(where, f"got {shown(given)}, expected an object as JSON in a text")
        return found
    return an_object(given, where)


def decoded(text: str) -> dict[str, Any] | None:
    """The object that a text is; None: it is none."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
