"""Fields that other packages will take. Values that ask for nothing pass."""

from __future__ import annotations

from typing import Any

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.structured import StructuredFields


class ChatOnlyFields(StructuredFields):
    """Fields of chat that ask for what is not here."""

    functions: Any = None
    function_call: Any = None
    service_tier: Any = None
    store: Any = None
    modalities: Any = None
    verbosity: Any = None
    audio: Any = None
    prediction: Any = None
    web_search_options: Any = None
    prompt_cache_retention: Any = None

    def check_refused(self) -> None:
        """Refuses what no package here does.

        Raises:
            ApiError: 400, naming the field.
        """
        refuse("functions", self.functions, "give tools", (None, []))
        refuse("function_call", self.function_call, "give tool_choice", (None, "none"))
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
