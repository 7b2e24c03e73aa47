"""Random functions, calls of them, and text around the calls."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from kernelet.request.message import ParsedMessage, ToolCall
from kernelet.testing.parsing.sample import Calls

WORDS = ("sun", "Zürich", "two words", "雨", "🙂", "naïve café", "x", "", "0", "a b c")
TROUBLE = (
    '"',
    "'",
    "\\",
    "\n",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    ":",
    "(",
    ")",
    "=",
    "&amp;",
    "\\n",
    '{"a": 1}',
    "</",
    "|",
    "\u2028",
)
TYPES = ("string", "string", "integer", "number", "boolean", "array", "object")
SAFE = ("sun", "Zürich", "two words", "naïve café")
"""Strings that no reader takes for a value of another type."""


def anything(text: str) -> bool:
    """JSON carries every string."""
    return isinstance(text, str)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What random calls look like.

    Attributes:
        markers: Texts that strings contain, whole and in part.
        content_markers: Texts that end content.
        carries: Whether the format can carry a string.
        typed: Values come as text and are read by their schemas.
        max_calls: In one answer.
    """

    markers: tuple[str, ...] = ()
    content_markers: tuple[str, ...] = ()
    carries: Callable[[str], bool] = anything
    typed: bool = False
    max_calls: int = 3


@dataclass(frozen=True, kw_only=True)
class Case:
    """Functions, and calls of them.

    Attributes:
        tools: The functions.
        calls: Names and arguments.
        texts: Before, between and after the calls: plain words, and beginnings of markers.
        apart: Text stands between the calls as well.
    """

    tools: tuple[Mapping[str, Any], ...]
    calls: Calls
    texts: tuple[str, ...]
    apart: bool = False


def message_of(calls: Calls, content: str = "", reasoning: str = "") -> ParsedMessage:
    """A message for ``render``."""
    made = [
        ToolCall(id=f"call_{number}", name=name, arguments=plain_text(arguments))
        for number, (name, arguments) in enumerate(calls)
    ]
    return ParsedMessage(reasoning=reasoning, content=content, tool_calls=made)


def plain_text(arguments: Mapping[str, Any] | str) -> str:
    """Arguments as JSON, in their order."""
    return arguments if isinstance(arguments, str) else dumps(arguments)


def cases(shape: Shape) -> st.SearchStrategy[Case]:
    """Strategy over ``make_case``; shrinks to few calls and small values."""
    return st.builds(
        make_case, st.just(shape), st.integers(1, shape.max_calls), st.integers(0, 3), st.integers(0, 2**32)
    )


def make_case(shape: Shape, num_calls: int, size: int, seed: int) -> Case:
    """Calls of so many functions, whose values have about a size."""
    draw = Draw(shape, random.Random(seed), size)
    tools = tuple(draw.tool(number) for number in range(1 + size))
    calls = tuple(draw.call(draw.random.choice(tools)) for _ in range(num_calls))
    return Case(tools=tools, calls=calls, texts=tuple(draw.text() for _ in range(num_calls + 1)), apart=seed % 2 == 1)


class Draw:
    """Makes random values."""

    def __init__(self, shape: Shape, generator: random.Random, size: int) -> None:
        self.shape = shape
        self.random = generator
        self.size = size

    def tool(self, number: int) -> dict[str, Any]:
        """A function."""
        names = self.random.sample(["city", "n", "text", "name", "arguments", "days_2", "größe", "Q"], self.size)
        properties = {name: self.schema(2) for name in names}
        parameters = {"type": "object", "properties": properties, "required": names[:1]}
        name = self.random.choice(["get_weather", "f", "search_2", "Run", "name"]) + str(number)
        return {"name": name, "description": "Does something.", "parameters": parameters}

    def schema(self, depth: int) -> dict[str, Any]:
        """Of a value that is nested so deeply at most."""
        kind = self.random.choice(TYPES if depth else TYPES[:5])
        if kind == "array":
            return {"type": "array", "items": self.schema(depth - 1)}
        if kind == "object":
            return {"type": "object", "properties": {name: self.schema(depth - 1) for name in ("a", "b c")}}
        if self.random.random() < 0.2:
            return {"type": [kind, "null"]}
        if self.random.random() < 0.1:
            return {"anyOf": [{"type": "null"}, {"type": kind}]}
        return {"type": kind}

    def call(self, tool: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Of a function, with some of its parameters."""
        properties = tool["parameters"]["properties"]
        names = [name for name in properties if self.random.random() < 0.8]
        return tool["name"], {name: self.value(properties[name]) for name in names}

    def value(self, schema: Mapping[str, Any], *, nested: bool = False) -> Any:
        """Of a schema."""
        kinds = schema.get("type") or [part["type"] for part in schema["anyOf"]]
        free = nested or not self.shape.typed or isinstance(kinds, str)
        kind = kinds if isinstance(kinds, str) else self.random.choice(kinds)
        if kind == "array":
            return [self.value(schema["items"], nested=True) for _ in range(self.random.randint(0, self.size))]
        if kind == "object":
            items = schema["properties"].items()
            return {name: self.value(part, nested=True) for name, part in items if self.random.random() < 0.7}
        if kind == "string":
            return self.string() if free else self.random.choice(SAFE)
        return self._scalar(kind)

    def _scalar(self, kind: str) -> Any:
        if kind == "integer":
            return self.random.choice([0, -1, 7, self.random.randint(-(10**18), 10**18)])
        if kind == "number":
            return self.random.choice([0.5, -1.25, 1e-7, 3, self.random.uniform(-1e9, 1e9)])
        return self.random.random() < 0.5 if kind == "boolean" else None

    def string(self) -> str:
        """One that the format can carry."""
        for _ in range(20):
            parts = [self._fragment() for _ in range(self.random.randint(0, 1 + self.size))]
            if self.shape.carries("".join(parts)):
                return "".join(parts)
        return self.random.choice(SAFE)

    def _fragment(self) -> str:
        if self.shape.markers and self.random.random() < 0.25:
            marker = self.random.choice(self.shape.markers)
            return marker[: self.random.choice([len(marker), self.random.randint(1, len(marker))])]
        return self.random.choice(self.random.choice([WORDS, TROUBLE]))

    def text(self) -> str:
        """Words, and beginnings of markers, between them; it begins and ends with a word."""
        words = ["So"]
        for _ in range(self.random.randint(0, self.size)):
            words.append(self.random.choice(["we", "überlegen", "that", "雨", "3 < 4", "a, b"]))
            if self.shape.content_markers and self.random.random() < 0.5:
                marker = self.random.choice(self.shape.content_markers)
                words.append(marker[: self.random.randint(1, len(marker)) - 1] + "-")
        text = " ".join([*words, "then."])
        return "So then." if any(marker in text for marker in self.shape.content_markers) else text


def dumps(value: object) -> str:
    """JSON as templates write it."""
    return json.dumps(value, ensure_ascii=False)


def squeezed(texts: Sequence[str]) -> str:
    """Texts without whitespace: templates and parsers may differ in it where text meets markup."""
    return "".join("".join(texts).split())
