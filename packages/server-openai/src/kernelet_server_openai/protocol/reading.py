"""JSON of strangers: how much there is in it is known before anything is made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kernelet.request.values import exact_number, once_each
from kernelet_server_openai.protocol.errors import ApiError

MAX_VALUES: Final = 32_768
"""Members of all lists and objects of a body, texts and token ids to be worked on aside: each takes time and memory."""

MAX_IDS: Final = 2**20
"""Token ids of one list at most, unless a context holds more."""

CONSTRAINTS: Final = frozenset({"response_format", "structured_outputs", "text", "tools"})
"""Fields that hold schemas, which are enforced."""

NAME_SHOWN: Final = 100

MAX_QUOTES: Final = 8 * MAX_VALUES
"""Of a body, those in texts aside: its names and texts have two each, the same name again and again too."""

LIST = re.compile(rb"\s*+(\[[^\[\]]*+\])\s*+(?:,|\Z)")
"""A list without lists in it, in a list."""
RENAMED: Final[Mapping[str, str]] = {
    "guided_json": "structured_outputs.json",
    "guided_regex": "structured_outputs.regex",
    "guided_choice": "structured_outputs.choice",
    "guided_grammar": "structured_outputs.grammar",
    "guided_decoding_backend": "structured_outputs.backend",
    "guided_whitespace_pattern": "structured_outputs.disable_any_whitespace",
}
"""Older names of other servers."""
UNKNOWN = "Object contains unknown field `"


def split(fields: type[msgspec.Struct], body: bytes) -> dict[str, bytes]:
    """The JSON of each field that was given. Nothing is made of it, however much it is.

    Args:
        fields: A structure that ``skeleton`` made.
        body: Of a request.

    Raises:
        ApiError: 400: it is no object, or has a field that is not among them.
    """
    if body.count(b'"') - body.count(rb"\"") > MAX_QUOTES:
        raise ApiError(400, f"the body has more than {MAX_QUOTES // 2} names and texts")
    try:
        found = msgspec.json.decode(body, type=fields)
    except RecursionError as error:
        raise too_deep() from error
    except msgspec.ValidationError as error:
        if not str(error).startswith(UNKNOWN):
            raise ApiError(400, f"the body should be a JSON object: {lower(str(error))}") from error
        name = str(error).removeprefix(UNKNOWN)[:-1][:NAME_SHOWN]
        raise unknown_field(name) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise invalid_json(error) from error
    given = ((name, getattr(found, name)) for name in fields.__struct_fields__)
    return {name: bytes(raw).strip() for name, raw in given if raw is not msgspec.UNSET}


def skeleton(names: Mapping[str, Any]) -> type[msgspec.Struct]:
    """A structure of fields that are not looked into."""
    fields = [(name, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for name in names]
    return msgspec.defstruct("Body", fields, forbid_unknown_fields=True)


def values(raws: Mapping[str, bytes], listed: frozenset[str], max_ids: int) -> dict[str, Any]:
    """What the fields hold.

    Args:
        raws: Their JSON.
        listed: Fields of texts and token ids, of which there may be many.
        max_ids: Token ids of one list at most.

    Raises:
        ApiError: 400: it is no JSON, or too much.
    """
    found, left = {}, MAX_VALUES
    for name, raw in raws.items():
        try:
            if name in listed and raw.startswith(b"["):
                found[name] = texts_or_ids(name, raw, max_ids)
                continue
            left -= members(raw, left)
            if left < 0:
                raise ApiError(
                    400, f"{name}: lists and objects of a body have {MAX_VALUES} members together at most", param=name
                )
            found[name] = msgspec.json.decode(raw)
            if name in CONSTRAINTS:
                exact = _constraint(name, raw)
                found[name] = found[name] if name == "tools" else exact  # chat templates write tools
        except RecursionError as error:
            raise too_deep() from error
        except msgspec.ValidationError as error:
            raise ApiError(400, f"{name}: {lower(str(error))}", param=name) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise invalid_json(error) from error
    return found


def _constraint(name: str, raw: bytes) -> Any:
    """What holds texts, with numbers as they are written. Which of two equal names would count is a guess.

    Raises:
        ApiError: 400: an object has a name twice, or a number is out of range.
    """
    try:
        return json.loads(raw, object_pairs_hook=once_each, parse_float=exact_number)
    except ValueError as error:
        raise ApiError(400, f"{name}: {error}", param=name) from error


def members(raw: bytes, limit: int) -> int:
    """Members of all lists and objects; commas and brackets of texts count too, unless there were too many of them."""
    most = sum(raw.count(mark) for mark in (b",", b"[", b"{"))
    if most <= limit:
        return most
    plain = raw.replace(rb"\\", b"").replace(rb"\"", b"")  # a quote that is left begins or ends a text
    outside = b"".join(plain.split(b'"')[::2])
    return sum(outside.count(mark) for mark in (b",", b"[", b"{"))


def texts_or_ids(name: str, raw: bytes, max_ids: int) -> Any:
    """A list of texts, of token ids, or of lists of ids, decoded list by list.

    Raises:
        ApiError: 400: there is too much of it, or it is nothing of this.
    """
    lists = raw.count(b"[") - 1
    if b'"' in raw or lists > MAX_VALUES:
        if members(raw, MAX_VALUES) > MAX_VALUES:
            raise ApiError(400, f"{name}: the list has more than {MAX_VALUES} members", param=name)
        return msgspec.json.decode(raw)
    if lists < 1:
        return ids(name, raw, max_ids)
    inner, place, found = raw[1:-1], 0, []
    while place < len(inner):
        one = LIST.match(inner, place)
        if one is None:
            raise ApiError(400, f"{name}: expected a text, token ids, or a list of either", param=name)
        found.append(ids(name, one[1], max_ids))
        place = one.end()
    return found


def ids(name: str, raw: bytes, most: int) -> list[int]:
    """Token ids, counted before they are read."""
    count = raw.count(b",") + 1
    if count > most:
        raise ApiError(400, f"{name}: got {count} token ids, {most} at most are taken", param=name)
    return msgspec.json.decode(raw, type=list[int])


def unknown_field(name: str) -> ApiError:
    """A 400 for a field that nothing takes."""
    now = RENAMED.get(name)
    advice = f"it is {now} now" if now else "leave it out"
    return ApiError(400, f"{name}: nothing takes this field here: {advice}", param=name, code="unknown_field")


def lower(text: str) -> str:
    """A sentence as the rest of another; names in capital letters stay."""
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def invalid_json(error: Exception) -> ApiError:
    """A 400 for what is no JSON."""
    return ApiError(400, f"the body is no valid JSON: {lower(str(error))}", code="invalid_json")


def too_deep() -> ApiError:
    """A 400 for what cannot be read without end."""
    return ApiError(400, "the body is nested too deeply")
