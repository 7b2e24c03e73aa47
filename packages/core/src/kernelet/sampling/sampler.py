"""Chooses one token a row.

Order: penalties, custom processors, bias and restrictions, mask rows; the best token for temperature 0, else a draw
(``kernelet.sampling.draw``). Log-probabilities are those of the raw logits. Arithmetic is in float32, or float64 for
float64 logits. Rows beyond the tokenizer's vocabulary are not masked. The mask rows of a step are applied at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.sampling import LogitsRow, SamplerParams, TokenLogprobs
from kernelet.sampling.custom import CustomProcessors, NamedProcessor
from kernelet.sampling.logprobs import NOT_FINITE, rows_logprobs
from kernelet.sampling.ops import SamplingOps
from kernelet.sampling.penalties import apply_penalties
from kernelet.sampling.restrictions import read_mask
from kernelet.sampling.rows import wide
from kernelet.sampling.settings import DrawSettings
from kernelet.sampling.state import SamplingState
from kernelet.sampling.uniform import uniform

NOTHING_LEFT = "no token may be chosen: bias, allowed tokens, bad words and grammar together exclude all of them"


@dataclass(slots=True)
class Outcome:
    """What became of one row: a token, or the reason why the request ends, and by which of its fields, if by one."""

    request_id: str
    token: int = -1
    logprobs: TokenLogprobs | None = None
    error: str | None = None
    error_parameter: str | None = None


class Sampler:
    """Samples rows of logits and remembers what each request needs for its next token.

    Args:
        vocab_size: Width of a row.
        device: Where logits live.
        processors: Custom logits processors, in order.
        ops: The ops of sampling; None: their decompositions.
    """

    def __init__(
        self,
        vocab_size: int,
        device: torch.device,
        processors: Sequence[NamedProcessor] = (),
        ops: SamplingOps | None = None,
    ) -> None:
        self._vocab_size = vocab_size
        self._device = device
        self._custom = CustomProcessors(processors)
        self._states: dict[str, SamplingState] = {}
        self._settings = DrawSettings()
        self._ops = ops or SamplingOps()

    def add(self, request_id: str, params: SamplerParams, prompt: Sequence[int], generated: Sequence[int] = ()) -> None:
        """Takes up a request, new or resumed.

        Raises:
            ValueError: if a parameter holds a token id outside the vocabulary.
            Exception: whatever a custom processor raises.
        """
        self._states[request_id] = SamplingState(params, prompt, generated, self._vocab_size, self._device)
        self._custom.add(request_id, params.extra_args, prompt)
        if self._custom.members(request_id):
            self._states[request_id].plain = False

    def remove(self, request_id: str) -> None:
        """Forgets a request; one that is not known is no error."""
        if self._states.pop(request_id, None) is not None:
            self._custom.remove(request_id)

    def sample(
        self, logits: Tensor, request_ids: Sequence[str], masks: Mapping[str, bytes] | None = None
    ) -> list[Outcome]:
        """Chooses a token for each row and adds it to its request's history.

        Args:
            logits: [rows, vocab]; may be overwritten.
            request_ids: The request of each row.
            masks: Mask rows by request id.

        Returns:
            One outcome a row, in order. A request that fails has an error; the others do not notice.
        """
        masks = masks or {}
        states = [self._states[name] for name in request_ids]
        batch = _Batch(logits, [Outcome(name) for name in request_ids])
        changed = [
            index
            for index, (name, state) in enumerate(zip(request_ids, states, strict=True))
            if (not state.plain or name in masks) and self._changes(name, masks)
        ]
        raw = self._keep_raw(batch, states, changed)
        if changed:
            self._process(batch, changed, masks)
        self._choose(batch, states, changed)
        if raw:
            self._report(batch, raw)
        for outcome, state in zip(batch.outcomes, states, strict=True):
            if outcome.error is None:
                state.append(outcome.token)
        return batch.outcomes

    def _computes(self, request_id: str) -> bool:
        """Whether a row gets other numbers than it had; to take tokens away it can stay as narrow as it is."""
        state = self._states[request_id]
        restricted = state.restrictions.active(len(state.generated))
        return restricted or state.counts is not None or self._custom.members(request_id)

    def _changes(self, request_id: str, masks: Mapping[str, bytes]) -> bool:
        return request_id in masks or self._computes(request_id)

    def _keep_raw(self, batch: _Batch, states: Sequence[SamplingState], changed: Sequence[int]) -> dict[int, Tensor]:
        """Raw logits of rows that want log-probabilities; copied where processing would change them."""
        wanted = [index for index, state in enumerate(states) if state.params.logprobs is not None]
        return {index: batch.rows[index].clone() if index in changed else batch.rows[index] for index in wanted}

    def _process(self, batch: _Batch, changed: Sequence[int], masks: Mapping[str, bytes]) -> None:
        if any(self._computes(batch.outcomes[index].request_id) for index in changed):
            batch.rows = wide(batch.rows)
        maxima = self._ops.sample(batch.rows, None)[1].tolist()
        for index in changed:
            if not math.isfinite(maxima[index]):
                batch.outcomes[index].error = NOT_FINITE
        for index in changed:
            state = self._states[batch.outcomes[index].request_id]
            if state.counts is not None:
                batch.guard(index, apply_penalties, batch.rows[index], state.params, state.counts)
        self._process_custom(batch, [i for i in changed if batch.outcomes[i].error is None])
        found = {index: masks[name] for index in changed if (name := batch.outcomes[index].request_id) in masks}
        rows = {index: self._read_mask(batch, index, mask) for index, mask in found.items()}
        for index in changed:
            self._restrict(batch, index, rows.get(index))
        self._apply_masks(batch, {index: row for index, row in rows.items() if row is not None})

    def _process_custom(self, batch: _Batch, changed: Sequence[int]) -> None:
        rows = []
        for index in changed:
            name = batch.outcomes[index].request_id
            if self._custom.members(name):
                state = self._states[name]
                rows.append(
                    LogitsRow(
                        index=index,
                        request_id=name,
                        prompt_token_ids=state.prompt,
                        output_token_ids=state.generated,
                    )
                )
        if rows:
            batch.rows, errors = self._custom.apply(batch.rows, rows)
            for outcome in batch.outcomes:
                outcome.error = outcome.error or errors.get(outcome.request_id)

    def _read_mask(self, batch: _Batch, index: int, mask: bytes) -> NDArray[np.int32] | None:
        """The mask row of a request; None: it does not fit, and the request ends."""
        try:
            return read_mask(mask, self._vocab_size)
        except ValueError as error:
            batch.fail(index, error)
            return None

    def _restrict(self, batch: _Batch, index: int, mask: NDArray[np.int32] | None) -> None:
        state = self._states[batch.outcomes[index].request_id]
        if state.restrictions.active(len(state.generated)):
            batch.guard(index, state.restrictions.apply, batch.rows[index], state.generated, mask)

    def _apply_masks(self, batch: _Batch, masks: Mapping[int, NDArray[np.int32]]) -> None:
        live = {index: mask for index, mask in masks.items() if batch.outcomes[index].error is None}
        if live:
            rows = torch.tensor(list(live), dtype=torch.int64)
            batch.rows = self._ops.apply_token_mask(batch.rows, torch.from_numpy(np.stack([*live.values()])), rows)

    def _choose(self, batch: _Batch, states: Sequence[SamplingState], changed: Sequence[int]) -> None:
        numbers = [self._number(batch, index, state) for index, state in enumerate(states)]
        tokens, maxima = self._ops.sample(batch.rows, self._settings.draws(states, numbers))
        for index, (token, maximum) in enumerate(zip(tokens.tolist(), maxima.tolist(), strict=True)):
            outcome = batch.outcomes[index]
            if math.isfinite(maximum):
                outcome.token = token
            elif outcome.error is None and maximum == -math.inf and index in changed:
                outcome.error = NOTHING_LEFT
                outcome.error_parameter = excluding_field(states[index].params)
            elif outcome.error is None:
                outcome.error = NOT_FINITE

    def _number(self, batch: _Batch, index: int, state: SamplingState) -> float:
        """The random number of a row; 0 where none is needed."""
        if state.params.temperature == 0.0:
            return 0.0
        try:
            return uniform(state.params.seed, state.position)
        except ValueError as error:
            batch.fail(index, error)
            return 0.0

    def _report(self, batch: _Batch, raw: Mapping[int, Tensor]) -> None:
        indices = [index for index in raw if batch.outcomes[index].error is None]
        if not indices:
            return
        counts = [self._states[batch.outcomes[index].request_id].params.logprobs or 0 for index in indices]
        tokens = [batch.outcomes[index].token for index in indices]
        found = rows_logprobs(wide(torch.stack([raw[index] for index in indices])), tokens, counts)
        for index, logprobs in zip(indices, found, strict=True):
            batch.outcomes[index].logprobs = logprobs


def excluding_field(params: SamplerParams) -> str | None:
    """The field of a request that takes tokens away; None: it has none."""
    if params.allowed_token_ids is not None:
        return "allowed_token_ids"
    return "bad_words" if params.bad_words_token_ids else None


class _Batch:
    """Rows of a step and what became of them so far."""

    def __init__(self, rows: Tensor, outcomes: list[Outcome]) -> None:
        self.rows = rows
        self.outcomes = outcomes

    def fail(self, index: int, error: Exception) -> None:
        """Ends a request."""
        self.outcomes[index].error = self.outcomes[index].error or f"sampling failed: {error}"

    def guard(self, index: int, function: Callable[..., None], *arguments: object) -> None:
        """Calls a function for one row whose request lives; what it raises ends that request."""
        if self.outcomes[index].error is None:
            try:
                function(*arguments)
            except Exception as error:  # noqa: BLE001 - one request can only hurt itself
                self.fail(index, error)
