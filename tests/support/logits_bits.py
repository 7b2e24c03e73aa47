"""A logits processor that changes nothing and keeps the bits of every row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kernelet import hookimpl
from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import LogitsProcessor, LogitsProcessorOffer, LogitsRow

Tokens = tuple[int, ...]
LOGITS: dict[tuple[Tokens, Tokens], set[bytes]] = defaultdict(set)
"""All rows that were seen, by prompt and what was generated before."""


class Recorder(LogitsProcessor):
    """Keeps every row and changes nothing."""

    def __init__(self, settings: Settings, vocab_size: int) -> None:
        super().__init__(settings, vocab_size)

    def add_request(self, request_id: str, arguments: Mapping[str, Any], prompt_token_ids: Sequence[int]) -> bool:
        return True

    def apply(self, logits: torch.Tensor, rows: Sequence[LogitsRow]) -> torch.Tensor:
        for row in rows:
            bits = logits[row.index].contiguous().view(torch.uint8).numpy().tobytes()
            LOGITS[tuple(row.prompt_token_ids), tuple(row.output_token_ids)].add(bits)
        return logits


class RecorderPlugin:
    """Given to the engine."""

    name = "bits"

    @hookimpl
    def kernelet_logits_processors(self) -> Sequence[LogitsProcessorOffer]:
        return [LogitsProcessorOffer(name="bits", target="logits_bits:Recorder")]
