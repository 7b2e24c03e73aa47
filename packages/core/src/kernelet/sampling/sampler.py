"""Chooses one token a row.

Order: penalties, custom processors, bias and restrictions, mask rows; the best token for temperature 0, else a draw
(``kernelet.sampling.draw``). Log-probabilities are those of the raw logits. Arithmetic is in float32, or float64 for
float64 logits. Rows beyond the tokenizer's vocabulary are not masked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kernelet.contracts.sampling import LogitsRow, SamplerParams, TokenLogprobs
from kernelet.sampling.custom import CustomProcessors, NamedProcessor
from kernelet.sampling.draw import draw_filtered, draw_from_all, is_filtered, scale_rows
from kernelet.sampling.logprobs import NOT_FINITE, rows_logprobs
from kernelet.sampling.penalties import apply_penalties
from kernelet.sampling.restrictions import unpack_mask
from kernelet.sampling.rows import first_maximum, wide
from kernelet.sampling.state import SamplingState
from kernelet.sampling.uniform import uniform

NOTHING_LEFT = "no token may be chosen: bias, allowed tokens, bad words and grammar together exclude all of them"


@dataclass
class Outcome:
    """What became of one row: a token, or the reason why the request ends."""

    request_id: str
    token: int = -1
    logprobs: TokenLogprobs | None = None
    error: str | None = None


class Sampler:
    """Samples rows of logits and remembers what each request needs for its next token.

    Args:
        vocab_size: Width of a row.
        device: Where logits live.
        processors: Custom logits processors, in order.
    """

    def __init__(self, vocab_size: int, device: torch.device, processors: Sequence[NamedProcessor] = ()) -> None:
        self._vocab_size = vocab_size
        self._device = device
        self._custom = CustomProcessors(processors)
        self._states: dict[str, SamplingState] = {}

    def add(self, request_id: str, params: SamplerParams, prompt: Sequence[int], generated: Sequence[int] = ()) -> None:
        """Takes up a request, new or resumed.

        Raises:
            ValueError: if a parameter holds a token id outside the vocabulary.
            Exception: whatever a custom processor raises.
        """
        self._states[request_id] = SamplingState(params, prompt, generated, self._vocab_size, self._device)
        self._custom.add(request_id, params.extra_args, prompt)

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
        batch = _Batch(wide(logits), [Outcome(name) for name in request_ids])
        batch.check(range(len(batch.outcomes)), NOT_FINITE)
        raw = self._keep_raw(batch, masks or {})
        self._process(batch, masks or {})
        self._choose(batch)
        self._report(batch, raw)
        for outcome in batch.outcomes:
            if outcome.error is None:
                self._states[outcome.request_id].append(outcome.token)
        return batch.outcomes

    def _changes(self, request_id: str, masks: Mapping[str, bytes]) -> bool:
        state = self._states[request_id]
        restricted = state.restrictions.active(len(state.generated))
        return restricted or state.counts is not None or request_id in masks or self._custom.members(request_id)

    def _keep_raw(self, batch: _Batch, masks: Mapping[str, bytes]) -> dict[int, Tensor]:
        """Raw logits of rows that want log-probabilities; copied where processing would change them."""
        raw = {}
        for index in batch.alive():
            name = batch.outcomes[index].request_id
            if self._states[name].params.logprobs is not None:
                # a draw overwrites only copies, so an unprocessed row keeps its values
                raw[index] = batch.rows[index].clone() if self._changes(name, masks) else batch.rows[index]
        return raw

    def _process(self, batch: _Batch, masks: Mapping[str, bytes]) -> None:
        changed = [i for i in batch.alive() if self._changes(batch.outcomes[i].request_id, masks)]
        if not changed:
            return
        for index in changed:
            state = self._states[batch.outcomes[index].request_id]
            if state.counts is not None:
                batch.guard(index, apply_penalties, batch.rows[index], state.params, state.counts)
        self._process_custom(batch, [i for i in changed if batch.outcomes[i].error is None])
        for index in changed:
            self._restrict(batch, index, masks.get(batch.outcomes[index].request_id))
        batch.refresh_maxima(changed)
        batch.check(changed, NOTHING_LEFT)

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

    def _restrict(self, batch: _Batch, index: int, mask: bytes | None) -> None:
        state = self._states[batch.outcomes[index].request_id]

        def restrict() -> None:
            allowed = None if mask is None else unpack_mask(mask, self._vocab_size)
            if allowed is not None or state.restrictions.active(len(state.generated)):
                state.restrictions.apply(batch.rows[index], state.generated, allowed)

        batch.guard(index, restrict)

    def _choose(self, batch: _Batch) -> None:
        greedy: list[int] = []
        free: list[int] = []
        filtered: list[int] = []
        numbers: dict[int, float] = {}
        for index in batch.alive():
            params = self._states[batch.outcomes[index].request_id].params
            if params.temperature == 0.0:
                greedy.append(index)
            elif batch.guard(index, self._draw_number, batch, index, numbers):
                (filtered if is_filtered(params, self._vocab_size) else free).append(index)
        if greedy:
            batch.set_tokens(greedy, first_maximum(batch.select(greedy)))
        if free:
            batch.set_tokens(free, draw_from_all(self._scaled(batch, free), [numbers[index] for index in free]))
        if filtered:
            host = self._scaled(batch, filtered).cpu().numpy()
            params_of = [self._states[batch.outcomes[index].request_id].params for index in filtered]
            tokens = [
                draw_filtered(row, params, numbers[index])
                for row, params, index in zip(host, params_of, filtered, strict=True)
            ]
            batch.set_tokens(filtered, tokens)

    def _draw_number(self, batch: _Batch, index: int, numbers: dict[int, float]) -> None:
        state = self._states[batch.outcomes[index].request_id]
        numbers[index] = uniform(state.params.seed, state.position)

    def _scaled(self, batch: _Batch, indices: Sequence[int]) -> Tensor:
        temperatures = [self._states[batch.outcomes[index].request_id].params.temperature for index in indices]
        maxima = batch.maxima[list(indices)]
        return scale_rows(batch.copy(indices), maxima, temperatures)

    def _report(self, batch: _Batch, raw: Mapping[int, Tensor]) -> None:
        indices = [index for index in raw if batch.outcomes[index].error is None]
        if not indices:
            return
        counts = [self._states[batch.outcomes[index].request_id].params.logprobs or 0 for index in indices]
        tokens = [batch.outcomes[index].token for index in indices]
        found = rows_logprobs(torch.stack([raw[index] for index in indices]), tokens, counts)
        for index, logprobs in zip(indices, found, strict=True):
            batch.outcomes[index].logprobs = logprobs


class _Batch:
    """Rows of a step, their largest elements, and what became of them so far."""

    def __init__(self, rows: Tensor, outcomes: list[Outcome]) -> None:
        self.rows = rows
        self.outcomes = outcomes
        self.maxima = rows.amax(-1, keepdim=True)

    def alive(self) -> list[int]:
        return [index for index, outcome in enumerate(self.outcomes) if outcome.error is None]

    def select(self, indices: Sequence[int]) -> Tensor:
        """Rows by index, without a copy where these are all."""
        return self.rows if len(indices) == len(self.outcomes) else self.rows[list(indices)]

    def copy(self, indices: Sequence[int]) -> Tensor:
        return self.rows.clone() if len(indices) == len(self.outcomes) else self.rows[list(indices)]

    def set_tokens(self, indices: Sequence[int], tokens: Sequence[int]) -> None:
        for index, token in zip(indices, tokens, strict=True):
            self.outcomes[index].token = token

    def refresh_maxima(self, indices: Sequence[int]) -> None:
        self.maxima[list(indices)] = self.select(indices).amax(-1, keepdim=True)

    def check(self, indices: Sequence[int], empty: str) -> None:
        """Fails rows with NaN or infinity (their maximum shows it), and rows that are all -infinity."""
        maxima = self.maxima.flatten().tolist()
        for index in indices:
            if self.outcomes[index].error is None and not math.isfinite(maxima[index]):
                self.outcomes[index].error = empty if maxima[index] == -math.inf else NOT_FINITE

    def guard(self, index: int, function: Callable[..., None], *arguments: object) -> bool:
        """Calls a function for one row; what it raises ends that request. True if the request lives."""
        if self.outcomes[index].error is not None:
            return False
        try:
            function(*arguments)
        except Exception as error:  # noqa: BLE001 - one request can only hurt itself
            self.outcomes[index].error = f"sampling failed: {error}"
            return False
        return True
