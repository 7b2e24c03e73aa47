"""A chat template's source to something that renders, with errors that say what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jinja2 import Template, TemplateError, TemplateSyntaxError

from kernelet.errors import ChatTemplateError
from kernelet.text.jinja_environment import TemplateRaisedError, make_environment
from kernelet.text.template_source import TemplateFacts

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime


@dataclass(frozen=True)
class CompiledTemplate:
    """A template that is ready.

    Attributes:
        template: Jinja's.
        facts: What its source tells.
    """

    template: Template
    facts: TemplateFacts

    def render(self, variables: dict[str, Any]) -> str:
        """The text.

        Raises:
            ChatTemplateError: the template failed, or refused the messages.
        """
        try:
            return self.template.render(variables)
        except TemplateRaisedError as error:
            raise ChatTemplateError(f"the chat template refused the messages: {error.message}") from error
        except TemplateError as error:
            raise ChatTemplateError(f"the chat template failed: {error.message}") from error
        except MemoryError:
            raise
        except Exception as error:  # a template is code of somebody else: it may raise anything
            raise ChatTemplateError(f"the chat template failed: {type(error).__name__}: {error}") from error


class Compiler:
    """Compiles in one environment.

    Args:
        now: The local time, for templates that write the date.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._environment = make_environment(now)

    def compile(self, source: str) -> CompiledTemplate:
        """A template of some source.

        Raises:
            ChatTemplateError: it is not valid.
        """
        try:
            tree = self._environment.parse(source)
            return CompiledTemplate(self._environment.from_string(source), TemplateFacts.of(tree))
        except TemplateSyntaxError as error:
            raise ChatTemplateError(
                f"the chat template is not valid Jinja (line {error.lineno}): {error.message}: "
                "correct it, or name another template"
            ) from error
        except MemoryError:
            raise
        except Exception as error:  # too deep for Jinja or for Python's compiler
            raise ChatTemplateError(f"the chat template does not compile: {type(error).__name__}: {error}") from error
