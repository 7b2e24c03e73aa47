"""Parameters of a search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernelet.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class BeamSearchParams:
    """How a search is made. Names are those of vLLM and transformers.

    Attributes:
        beam_width: Sequences that are followed at once, and that come out.
        max_tokens: Tokens to generate at most.
        length_penalty: A sequence's score is its log-probability over its length to this power: above 0 prefers long
            ones.
        early_stopping: When a search with ``beam_width`` finished sequences ends. True: at once. False: when its best
            beam, at its present length, is no better than they are. "never": when it cannot become better, at the
            length that the penalty favours.
        ignore_eos: The end-of-sequence token does not end a sequence.
        stop_token_ids: Further ids that end one.
    """

    beam_width: int
    max_tokens: int
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False
    ignore_eos: bool = False
    stop_token_ids: Sequence[int] = ()

    def __post_init__(self) -> None:
        """Checks.

        Raises:
            ParameterError: naming the field.
        """
        for name in ("beam_width", "max_tokens"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(name, f"got {value!r}, expected an integer of at least 1")
        penalty: object = self.length_penalty
        if not isinstance(penalty, int | float) or not math.isfinite(penalty):
            raise ParameterError("length_penalty", f"got {penalty!r}, expected a finite number")
        stopping: object = self.early_stopping
        if not isinstance(stopping, bool) and stopping != "never":
            raise ParameterError("early_stopping", f"got {stopping!r}, expected True, False or 'never'")
        ids: Sequence[object] = self.stop_token_ids
        if isinstance(ids, str) or not all(isinstance(one, int) and one >= 0 for one in ids):
            raise ParameterError("stop_token_ids", f"got {ids!r}, expected token ids")
