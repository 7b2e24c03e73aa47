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
    """Messages as templates know them: arguments of calls are objects, as far as the model wrote such. What else they
    hold, the template decides.

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
    # each for itself: one that was cut inside of a text must not hide the next
    counts = (
        reading.members(unwrapped(one).encode("utf-8", "surrogatepass"), 0) for one in given if isinstance(one, str)
    )
    if sum(counts) > reading.MAX_VALUES:
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
    if made["role"] == "tool" and not made.get("tool_call_id"):
        raise wrong(f"{where}.tool_call_id", "is missing: give the id of the call that this answers")
    place = f"{where}.tool_calls"
    calls = a_list(made.pop("tool_calls", []), place)
    if calls and made["role"] != "assistant":
        raise wrong(place, f"got calls of {shown(made['role'])}: only the assistant makes calls")
    if calls:
        made["tool_calls"] = [checked_call(call, f"{place}[{n}]") for n, call in enumerate(calls)]
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
        "name": call_name(function.get("name"), f"{where}.function.name"),
        "arguments": arguments(function.get("arguments"), f"{where}.function.arguments"),
    }
    kept = {} if given.get("id") is None else {"id": given["id"]}
    return {**kept, "type": "function", "function": made}


def call_name(given: object, where: str) -> str:
    """The name of a function that was called. Models call what there is not, so any will do.

    Raises:
        ApiError: 400: it is empty, or no text.
    """
    name = a_text(given, where)
    if not name.strip():
        raise wrong(where, f"got {shown(name)}, expected the name of the function that was called")
    return name


def arguments(given: object, where: str) -> dict[str, Any] | str:
    """Arguments as an object: clients send them as JSON in a text, templates write them themselves.

    What a model wrote that is no object stays the text that it is: clients send back what they got.

    Raises:
        ApiError: 400: they are neither.
    """
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        found = decoded(unwrapped(given))
        return given if found is None else found
    return an_object(given, where)


def unwrapped(text: str) -> str:
    """The text inside of a text that is a JSON string; models encode arguments twice. Any other stays as it is."""
    if not text.lstrip().startswith('"'):
        return text
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.DecodeError, UnicodeError):
        return text


def decoded(text: str) -> dict[str, Any] | None:
    """The object that a text is; None: it is none."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
