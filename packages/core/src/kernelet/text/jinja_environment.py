"""The Jinja environment that chat templates are written for: that of `transformers`, in a sandbox."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Never

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from jinja2.parser import Parser


class GenerationTag(Extension):
    """``{% generation %} ... {% endgeneration %}`` marks the assistant's text for training; here it changes nothing."""

    tags = {"generation"}  # noqa: RUF012 (the base class declares it)

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class TemplateRaisedError(TemplateError):
    """A template called ``raise_exception``."""


def make_environment(now: Callable[[], datetime]) -> ImmutableSandboxedEnvironment:
    """A new environment.

    Args:
        now: The local time that ``strftime_now`` formats.
    """
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[GenerationTag, loopcontrols],
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda form: now().strftime(form)
    return environment


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as the model saw it in training: Jinja's own filter escapes HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> Never:
    raise TemplateRaisedError(message)
