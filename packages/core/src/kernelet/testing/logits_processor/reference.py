"""A logits processor that is easy to understand: what it does to a row is a function of the row's tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import LogitsProcessor, LogitsRow
from kernelet.errors import ParameterError


class CountPenalty(LogitsProcessor):
    """Subtracts ``strength`` for each time that a token was generated."""

    def __init__(self, settings: Settings, vocab_size: int) -> None:
        super().__init__(settings, vocab_size)
        self.strengths: dict[str, float] = {}

    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        for name in arguments:
            if name != "strength":
                raise ParameterError(name, "is no argument; there is: strength")
        strength = arguments.get("strength", 0.0)
        if isinstance(strength, bool) or not isinstance(strength, int | float) or not 0 <= strength <= 100:
            raise ParameterError("strength", f"got {strength!r}, expected a number from 0 to 100")

    def add_request(self, request_id: str, arguments: Mapping[str, Any], prompt_token_ids: Sequence[int]) -> bool:
        strength = arguments.get("strength", 0.0)
        if strength:
            self.strengths[request_id] = strength
        return bool(strength)

    def remove_request(self, request_id: str) -> None:
        self.strengths.pop(request_id, None)

    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        for row in rows:
            for token in row.output_token_ids:
                if not math.isinf(float(logits[row.index, token])):
                    logits[row.index, token] -= self.strengths[row.request_id]
        return logits
