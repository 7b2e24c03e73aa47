"""Fields that other packages will take. Values that ask for nothing pass."""

from __future__ import annotations

from typing import Any

from kernelet_server_openai.protocol.base import Fields
from kernelet_server_openai.protocol.errors import ApiError

PARSERS = "install a kernelet-parsers-* package"
STRUCTURED = "install a kernelet-structured-* package"


class StructuredFields(Fields):
    """Output that is held to a form."""

    response_format: Any = None
    structured_outputs: Any = None

    def check_refused(self) -> None:
        """Refuses what no package here does.

        Raises:
            ApiError: 400, naming the field.
        """
        refuse("response_format", self.response_format, STRUCTURED, (None, {"type": "text"}))
        refuse("structured_outputs", self.structured_outputs, STRUCTURED, (None, {}))


class ParserFields(StructuredFields):
    """Tool calls and reasoning."""

    tools: Any = None
    tool_choice: Any = None
    parallel_tool_calls: Any = None
    functions: Any = None
    function_call: Any = None
    reasoning_effort: Any = None
    service_tier: Any = None
    store: Any = None
    modalities: Any = None
    verbosity: Any = None
    audio: Any = None
    prediction: Any = None
    web_search_options: Any = None
    prompt_cache_retention: Any = None

    def check_refused(self) -> None:
        super().check_refused()
        refuse("tools", self.tools, PARSERS, (None, []))
        refuse("tool_choice", self.tool_choice, PARSERS, (None, "none"))
        refuse("parallel_tool_calls", self.parallel_tool_calls, PARSERS, (None, True))
        refuse("functions", self.functions, PARSERS, (None, []))
        refuse("function_call", self.function_call, PARSERS, (None, "none"))
        refuse("reasoning_effort", self.reasoning_effort, PARSERS, (None, "none"))
        refuse("service_tier", self.service_tier, "leave it out: there is one tier", (None, "auto", "default"))
        refuse("store", self.store, "leave it out: answers are not kept", (None, False))
        refuse("modalities", self.modalities, "leave it out: there is text alone", (None, ["text"]))
        refuse("verbosity", self.verbosity, "leave it out", (None, "medium"))
        for field in ("audio", "prediction", "web_search_options", "prompt_cache_retention"):
            refuse(field, getattr(self, field), "leave it out", (None,))


def refuse(field: str, value: object, advice: str, harmless: tuple[object, ...]) -> None:
    """Raises ApiError unless the value asks for nothing."""
    if not any(value == one and type(value) is type(one) for one in harmless):
        raise ApiError(400, f"{field}: nothing here takes it: {advice}", param=field, code="unsupported_field")
