"""Adds delta to the green tokens of each row that wants it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from acme_watermark.scheme import Scheme
from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import LogitsProcessor, LogitsRow
from kernelet.errors import ParameterError

MAX_CONTEXT = 16
DEFAULTS = Scheme(key=0, vocab_size=2)


@dataclass(frozen=True)
class Wanted:
    """What one request asks for."""

    scheme: Scheme
    delta: float


class Watermark(LogitsProcessor):
    """Arguments of a request: ``delta`` (strength; 0: none), ``gamma`` (share of green tokens), ``context`` (tokens
    that are hashed). A row's green list is a function of its own tokens: the same in any batch, and after a preemption.
    """

    def __init__(self, settings: Settings, vocab_size: int) -> None:
        super().__init__(settings, vocab_size)
        self.key = int(settings["key"] or 0)
        self.delta = float(settings["delta"] or 0.0)
        self.wanted: dict[str, Wanted] = {}

    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        if unknown := sorted(arguments.keys() - {"delta", "gamma", "context"}):
            raise ParameterError(unknown[0], "is no argument of acme-watermark; it takes: delta, gamma, context")
        delta, gamma, context = arguments.get("delta", 0.0), arguments.get("gamma", 0.5), arguments.get("context", 1)
        if not number(delta) or not 0 <= delta <= 100:
            raise ParameterError("delta", f"got {delta!r}, expected a number from 0 to 100")
        if not number(gamma) or not 0 < gamma < 1:
            raise ParameterError("gamma", f"got {gamma!r}, expected a number between 0 and 1")
        if not isinstance(context, int) or isinstance(context, bool) or not 1 <= context <= MAX_CONTEXT:
            raise ParameterError("context", f"got {context!r}, expected a whole number from 1 to {MAX_CONTEXT}")

    def add_request(self, request_id: str, arguments: Mapping[str, Any], prompt_token_ids: Sequence[int]) -> bool:
        delta = float(arguments.get("delta", self.delta))
        if delta == 0 or self.vocab_size < 2:
            return False
        scheme = Scheme(
            key=self.key,
            vocab_size=self.vocab_size,
            gamma=float(arguments.get("gamma", DEFAULTS.gamma)),
            context=int(arguments.get("context", DEFAULTS.context)),
        )
        self.wanted[request_id] = Wanted(scheme, delta)
        return True

    def remove_request(self, request_id: str) -> None:
        self.wanted.pop(request_id, None)

    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        for row in rows:
            wanted = self.wanted[row.request_id]
            green = torch.from_numpy(wanted.scheme.green(last(row, wanted.scheme.context)))
            logits[row.index, green.to(logits.device)] += wanted.delta
        return logits


def last(row: LogitsRow, count: int) -> list[int]:
    """The last tokens of prompt and output together."""
    output = list(row.output_token_ids[-count:])
    missing = count - len(output)
    return [*row.prompt_token_ids[-missing:], *output] if missing else output


def number(value: object) -> bool:
    """A finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
