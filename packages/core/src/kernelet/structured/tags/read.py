"""Structural tags as requests have them: OpenAI's and vLLM's list of structures, and the newer tree of formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelet.contracts.structured import GrammarRules
from kernelet.request.structured import Marker, State
from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError
from kernelet.structured.schema.options import JsonOptions
from kernelet.structured.tags.outline import (
    Anything,
    Choice,
    Many,
    Node,
    Ruled,
    Series,
    Token,
    Triggered,
    Words,
    behind,
    series_of,
)
from kernelet.structured.tags.states import states_of

KIND = "structural_tag"

Lower = Callable[[object, JsonOptions], GrammarRules]
"""``kernelet.structured.schema.lower.lower_schema``, and what stands for it in tests."""


def structural_tag_states(
    tag: object, options: JsonOptions, tokens: Mapping[str, int] | None = None, lower: Lower | None = None
) -> tuple[State, ...]:
    """What a structural tag allows.

    Args:
        tag: A JSON value.
        options: Of the schemas in it.
        tokens: Texts that are one token of the vocabulary, and count only as that.
        lower: Writes a schema as rules; None: core's.

    Raises:
        UnenforcedError: parts of it are not supported, or cannot be enforced.
        InvalidConstraintError: it means nothing.
    """
    reader = _Reader(options, tokens or {}, lower)
    return states_of(reader.read(tag), KIND)


def texts_of(tag: object) -> list[str]:
    """All texts of a structural tag in which tokens may stand."""
    if isinstance(tag, str):
        return [tag]
    items = tag.values() if isinstance(tag, dict) else tag if isinstance(tag, list) else ()
    return [text for item in items for text in texts_of(item)]


def lower_at(path: str, schema: object, options: JsonOptions, lower: Lower | None = None) -> Ruled:
    """The rules of a schema; what is refused of it stands behind the path.

    Raises:
        UnenforcedError: it cannot be enforced.
        InvalidConstraintError: it means nothing.
    """
    from kernelet.structured.schema.lower import lower_schema

    write = lower or lower_schema
    return _at(path, lambda: Ruled(write(schema, options)))


class _Reader:
    """Reads one tag; a path is a JSON pointer to what is read."""

    def __init__(self, options: JsonOptions, tokens: Mapping[str, int], lower: Lower | None) -> None:
        self._options = options
        self._tokens = tokens
        self._lower = lower
        self._formats: Mapping[str, Callable[[dict[str, Any], str], Node]] = {
            "const_string": self._const_string,
            "json_schema": self._json_schema,
            "any_text": self._any_text,
            "sequence": self._sequence,
            "or": self._or,
            "tag": self._tag,
            "triggered_tags": self._triggered_tags,
            "tags_with_separator": self._tags_with_separator,
            "regex": self._regex,
            "grammar": self._grammar,
        }

    def read(self, tag: object) -> Node:
        """The whole tag."""
        known = _object(tag, "")
        if known.get("type") != KIND:
            raise InvalidConstraintError(f"{KIND}: /type must be {KIND!r}")
        if "format" in known:
            _keys(known, "", ("type", "format"))
            return self._format(known["format"], "/format")
        _keys(known, "", ("type", "format", "structures", "triggers"))
        if "structures" not in known:
            raise InvalidConstraintError(f'{KIND}: expected "format", or "structures" and "triggers"')
        structures = _list(known, "structures", "")
        items = tuple(self._structure(one, f"/structures/{place}") for place, one in enumerate(structures))
        return self._triggered(_texts(known, "triggers", ""), items, "", required=False, once=False)

    def _structure(self, structure: object, path: str) -> Series:
        known = _object(structure, path)
        _keys(known, path, ("begin", "schema", "end"))
        content = self._schema(known.get("schema", {}), f"{path}/schema")
        return Series((self._text(known, "begin", path), content, self._text(known, "end", path)))

    def _format(self, value: object, path: str) -> Node:
        known = _object(value, path)
        kind = known.get("type")
        if not isinstance(kind, str):
            raise InvalidConstraintError(f"{KIND}: {path}/type must be a text")
        if kind not in self._formats:
            raise UnenforcedError([Refusal(f"{path}/type", f"{kind!r} is not supported")])
        return self._formats[kind](known, path)

    def _const_string(self, value: dict[str, Any], path: str) -> Node:
        _keys(value, path, ("type", "value"))
        return self._text(value, "value", path)

    def _json_schema(self, value: dict[str, Any], path: str) -> Node:
        _keys(value, path, ("type", "json_schema", "style"))
        if value.get("style", "json") != "json":
            raise UnenforcedError([Refusal(f"{path}/style", f"{value['style']!r} is not supported")])
        if "json_schema" not in value:
            raise InvalidConstraintError(f"{KIND}: {path}/json_schema is missing")
        return self._schema(value["json_schema"], f"{path}/json_schema")

    def _any_text(self, value: dict[str, Any], path: str) -> Node:
        _keys(value, path, ("type", "excludes"))
        return Anything(self._excludes(value, path))

    def _sequence(self, value: dict[str, Any], path: str) -> Node:
        _keys(value, path, ("type", "elements"))
        return Series(self._elements(value, path))

    def _or(self, value: dict[str, Any], path: str) -> Node:
        _keys(value, path, ("type", "elements"))
        elements = self._elements(value, path)
        if not elements:
            raise InvalidConstraintError(f"{KIND}: {path}/elements is empty")
        return Choice(elements)

    def _elements(self, value: dict[str, Any], path: str) -> tuple[Node, ...]:
        elements = _list(value, "elements", path)
        return tuple(self._format(one, f"{path}/elements/{place}") for place, one in enumerate(elements))

    def _tag(self, value: dict[str, Any], path: str) -> Series:
        _keys(value, path, ("type", "begin", "content", "end"))
        content = self._format(value.get("content"), f"{path}/content")
        end: Node = Series(())
        if isinstance(value.get("end"), list):
            ends = _texts(value, "end", path)
            end = Choice(tuple(series_of(text, self._tokens) for text in ends))
        else:
            end = self._text(value, "end", path)
        return Series((self._text(value, "begin", path), content, end))

    def _tags(self, value: dict[str, Any], path: str) -> tuple[Series, ...]:
        tags = _list(value, "tags", path)
        if not tags:
            raise InvalidConstraintError(f"{KIND}: {path}/tags is empty")
        return tuple(
            self._tag(_object(one, f"{path}/tags/{place}"), f"{path}/tags/{place}") for place, one in enumerate(tags)
        )

    def _triggered_tags(self, value: dict[str, Any], path: str) -> Node:
        _keys(value, path, ("type", "triggers", "tags", "at_least_one", "stop_after_first", "excludes"))
        return self._triggered(
            _texts(value, "triggers", path),
            self._tags(value, path),
            path,
            required=_flag(value, "at_least_one", path),
            once=_flag(value, "stop_after_first", path),
            excludes=self._excludes(value, path),
        )

    def _triggered(
        self,
        triggers: Sequence[str],
        items: tuple[Series, ...],
        path: str,
        *,
        required: bool,
        once: bool,
        excludes: tuple[Marker, ...] = (),
    ) -> Triggered:
        heads: list[Words | Token] = []
        for place, trigger in enumerate(triggers):
            parts = series_of(trigger, self._tokens).items
            if len(parts) != 1 or not isinstance(parts[0], Words | Token):
                reason = "a trigger is one text without special tokens in it, or one token"
                raise UnenforcedError([Refusal(f"{path}/triggers/{place}", reason)])
            heads.append(parts[0])
        for place, item in enumerate(items):
            if all(behind(head, item) is None for head in heads):
                raise InvalidConstraintError(f"{KIND}: {path}: structure {place} begins with none of the triggers")
        return Triggered(tuple(heads), items, required=required, once=once, excludes=excludes)

    def _tags_with_separator(self, value: dict[str, Any], path: str) -> Node:
        _keys(value, path, ("type", "tags", "separator", "at_least_one", "stop_after_first"))
        item = Choice(self._tags(value, path))
        optional = not _flag(value, "at_least_one", path)
        if _flag(value, "stop_after_first", path):
            return Choice((item, Series(()))) if optional else item
        return Many(item, self._text(value, "separator", path), optional=optional)

    def _regex(self, value: dict[str, Any], path: str) -> Node:
        from kernelet.structured.automata.parse import parse_regex
        from kernelet.structured.automata.write import rules_of_regex

        _keys(value, path, ("type", "pattern"))
        pattern = _text(value, "pattern", path)
        return _at(f"{path}/pattern", lambda: Ruled(rules_of_regex(parse_regex(pattern))))

    def _grammar(self, value: dict[str, Any], path: str) -> Node:
        from kernelet.structured.ebnf import parse_grammar

        _keys(value, path, ("type", "grammar"))
        grammar = _text(value, "grammar", path)
        return _at(f"{path}/grammar", lambda: Ruled(parse_grammar(grammar)))

    def _schema(self, schema: object, path: str) -> Ruled:
        return lower_at(path, schema, self._options, self._lower)

    def _text(self, value: dict[str, Any], key: str, path: str) -> Series:
        return series_of(_text(value, key, path), self._tokens)

    def _excludes(self, value: dict[str, Any], path: str) -> tuple[Marker, ...]:
        texts = _texts(value, "excludes", path) if "excludes" in value else []
        return tuple(Marker(text=text, token_id=self._tokens.get(text)) for text in texts)


def _at(path: str, make: Callable[[], Ruled]) -> Ruled:
    """What is made; what is refused of it stands behind the path."""
    try:
        return make()
    except UnenforcedError as error:
        raise UnenforcedError([Refusal(f"{path}{_below(one.path)}", one.reason) for one in error.refusals]) from None
    except InvalidConstraintError as error:
        raise InvalidConstraintError(error.reason, f"{KIND}: {path}{_below(error.path)}") from None


def _below(path: str) -> str:
    return path if path.startswith("/") or not path else f" ({path})"


def _object(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidConstraintError(f"{KIND}: {path or '/'} must be an object")
    return value


def _keys(value: dict[str, Any], path: str, known: Sequence[str]) -> None:
    reason = f"it is not supported: there are {', '.join(known)}"
    unknown = [Refusal(f"{path}/{key}", reason) for key in value if key not in known]
    if unknown:
        raise UnenforcedError(unknown)


def _text(value: dict[str, Any], key: str, path: str) -> str:
    text = value.get(key)
    if not isinstance(text, str):
        raise InvalidConstraintError(f"{KIND}: {path}/{key} must be a text")
    return text


def _list(value: dict[str, Any], key: str, path: str) -> list[Any]:
    items = value.get(key)
    if not isinstance(items, list):
        raise InvalidConstraintError(f"{KIND}: {path}/{key} must be a list")
    return items


def _texts(value: dict[str, Any], key: str, path: str) -> list[str]:
    items = _list(value, key, path)
    if not items or not all(isinstance(item, str) and item for item in items):
        raise InvalidConstraintError(f"{KIND}: {path}/{key} must be a list of texts, none of them empty")
    return items


def _flag(value: dict[str, Any], key: str, path: str) -> bool:
    flag = value.get(key, False)
    if not isinstance(flag, bool):
        raise InvalidConstraintError(f"{KIND}: {path}/{key} must be true or false")
    return flag
