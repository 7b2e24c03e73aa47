"""A logits processor that changes nothing and keeps every row it sees: our logits, taken through a public contract."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kernelet import hookimpl
from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import LogitsProcessor, LogitsProcessorOffer, LogitsRow

ROWS: dict[tuple[int, ...], list[torch.Tensor]] = defaultdict(list)
"""Rows by prompt, in the order of the generated tokens."""


class Recorder(LogitsProcessor):
    def __init__(self, settings: Settings, vocab_size: int) -> None:
        super().__init__(settings, vocab_size)

    def add_request(self, request_id: str, arguments: Mapping[str, Any], prompt_token_ids: Sequence[int]) -> bool:
        return True

    def apply(self, logits: torch.Tensor, rows: Sequence[LogitsRow]) -> torch.Tensor:
        for row in rows:
            ROWS[tuple(row.prompt_token_ids)].append(logits[row.index].clone())
        return logits


class RecorderPlugin:
    """Given to ``LLM(plugins=[...])``."""

    name = "recorder"

    @hookimpl
    def kernelet_logits_processors(self) -> Sequence[LogitsProcessorOffer]:
        return [LogitsProcessorOffer(name="recorder", target="logit_recorder:Recorder")]
