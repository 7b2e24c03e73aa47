"""Checks what a chat template gets, and makes plain JSON of it: a template must not reach into Python objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kernelet.errors import ChatTemplateError

MAX_DEPTH: Final = 64
"""How deep objects and lists may be nested in each other."""

# Names under which reasoning is passed; templates read any of them. The first is the usual one.
_REASONING_FIELDS: Final = ("reasoning_content", "thinking", "reasoning")


def plain_messages(messages: object) -> list[dict[str, Any]]:
    """The messages as new, plain dictionaries.

    Keys whose value is None are left out (templates print "None" otherwise) and reasoning is found under each of its
    usual names, both as `transformers` does. An assistant that only calls tools says the empty text, as in vLLM:
    templates add something to it.

    Raises:
        ChatTemplateError: Their shape is wrong; the message says where.
    """
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
        raise ChatTemplateError(f"messages should be a list of messages, not {type(messages).__name__}")
    if not messages:
        raise ChatTemplateError("messages is empty: give at least one message")
    return [_plain_message(message, f"messages[{place}]") for place, message in enumerate(messages)]


def plain_list_of_objects(value: object, name: str) -> list[dict[str, Any]] | None:
    """Tools or documents as new, plain dictionaries; None stays None.

    Raises:
        ChatTemplateError: It is something else.
    """
    if value is None:
        return None
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise ChatTemplateError(f"{name} should be a list of objects, not {type(value).__name__}")
    for place, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise ChatTemplateError(f"{name}[{place}] should be a JSON object, not {type(item).__name__}")
    return [plain(item, f"{name}[{place}]") for place, item in enumerate(value)]


def plain(value: object, where: str, depth: int = 0) -> Any:
    """`value` rebuilt of dict, list, str, int, float, bool and None.

    Raises:
        ChatTemplateError: Something in it has no such form, or it is nested too deep; `where` names it.
    """
    if depth > MAX_DEPTH:
        raise ChatTemplateError(f"{where[:100]} is nested in more than {MAX_DEPTH} objects and lists: flatten it")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # subclasses (enumerations) become what they are made of
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {plain(key, where): plain(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{place}]", depth + 1) for place, item in enumerate(value)]
    raise ChatTemplateError(f"{where} is a {type(value).__name__}: only what JSON has can be given to a chat template")


def join_text_parts(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make one string of contents that are lists, the parts on lines of their own as in vLLM."""
    return [
        {**message, "content": "\n".join(part["text"] for part in message["content"])}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def _plain_message(message: object, where: str) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise ChatTemplateError(f"{where} should be an object with role and content, not {type(message).__name__}")
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise ChatTemplateError(f"{where}.role should be a string such as 'user', not {role!r}")
    fields: dict[str, Any] = plain({key: value for key, value in message.items() if value is not None}, where)
    content = fields.get("content")
    if isinstance(content, list):
        for place, part in enumerate(content):
            _check_part(part, f"{where}.content[{place}]")
    elif content is None:
        if role == "assistant":
            fields["content"] = ""
        elif len(fields) == 1:
            raise ChatTemplateError(f"{where} has no content: give a string or a list of text parts")
    elif not isinstance(content, str):
        raise ChatTemplateError(
            f"{where}.content should be a string or a list of text parts, not {type(content).__name__}"
        )
    reasoning = next((fields[name] for name in _REASONING_FIELDS if name in fields), None)
    if reasoning is not None:
        fields = {"thinking": reasoning, **fields, "reasoning_content": reasoning}
    return fields


def _check_part(part: object, where: str) -> None:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise ChatTemplateError(f"{where} should be an object such as {{'type': 'text', 'text': ...}}")
    if part["type"] != "text":
        raise ChatTemplateError(f"{where} is of type {part['type']!r}: this model takes parts of type 'text'")
    if not isinstance(part.get("text"), str):
        raise ChatTemplateError(f"{where}.text should be a string, not {type(part.get('text')).__name__}")
