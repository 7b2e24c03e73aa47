"""Wrong logits processors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import LogitsProcessorOffer, LogitsRow
from kernelet.testing.faults import Fault
from kernelet.testing.logits_processor.reference import CountPenalty
from kernelet.testing.logits_processor.suite import LogitsProcessorCapabilities, LogitsProcessorSuite
from kernelet.testing.offered import Offered

PROMISES = LogitsProcessorCapabilities(
    accepts=({"strength": 1.5}, {"strength": 4}),
    refuses=(("strength", {"strength": -1}), ("strength", {"strength": "much"}), ("strenght", {"strenght": 1})),
    ignores=({}, {"strength": 0}),
)


def suite_of(processor: type[Any]) -> type[LogitsProcessorSuite]:
    """The suite as the author of that processor writes it."""

    class Faulty(LogitsProcessorSuite):
        capabilities = PROMISES

        @pytest.fixture
        def offered(self) -> Offered[LogitsProcessorOffer]:
            target = f"{processor.__module__}:{processor.__qualname__}"
            offer = LogitsProcessorOffer(name="faulty", target=target, supports_speculation=True)
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=processor)

    return Faulty


class NotAProcessor:
    def __init__(self, settings: Settings, vocab_size: int) -> None:
        """Takes what a processor takes."""

    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        CountPenalty.validate_params(arguments)


class TakesAll(CountPenalty):
    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        CountPenalty.validate_params({"strength": arguments.get("strength", 0)})


class RefusesOtherwise(CountPenalty):
    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        if not 0 <= arguments.get("strength", 0) <= 100:
            raise ValueError("strength")
        CountPenalty.validate_params(arguments)


class WorksForAll(CountPenalty):
    def add_request(self, request_id: str, arguments: Mapping[str, Any], prompt_token_ids: Sequence[int]) -> bool:
        self.strengths[request_id] = arguments.get("strength", 0.0)
        return True


class AllRows(CountPenalty):
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        for row in rows:
            logits[:, list(row.output_token_ids)] -= self.strengths[row.request_id]
        return logits


class Wide(CountPenalty):
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        return super().apply(logits.double(), rows).half()


class Scales(CountPenalty):
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        for row in rows:
            factors = torch.ones(self.vocab_size, dtype=logits.dtype)
            factors[list(row.output_token_ids)] = 0
            logits[row.index] *= factors
        return logits


class ForbidsAll(CountPenalty):
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        for row in rows:
            if len(row.output_token_ids) > 3:
                logits[row.index] = float("-inf")
        return super().apply(logits, rows)


class Forces(CountPenalty):
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        for row in rows:
            logits[row.index, (row.prompt_token_ids[-1] + len(row.output_token_ids)) % self.vocab_size] = float("inf")
        return logits


class Pops(CountPenalty):
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        result = super().apply(logits, rows)
        for row in rows:
            if len(row.output_token_ids) > 4:
                del row.output_token_ids[0]  # type: ignore[attr-defined]
        return result


class Averages(CountPenalty):
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        indices = [row.index for row in rows]
        logits[indices] -= logits[indices].mean(0) * (len(rows) > 1)
        return super().apply(logits, rows)


class Counts(CountPenalty):
    def __init__(self, settings: Settings, vocab_size: int) -> None:
        super().__init__(settings, vocab_size)
        self.steps: dict[str, int] = {}

    def add_request(self, request_id: str, arguments: Mapping[str, Any], prompt_token_ids: Sequence[int]) -> bool:
        self.steps[request_id] = 0
        return super().add_request(request_id, arguments, prompt_token_ids)

    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        for row in rows:
            logits[row.index, self.steps[row.request_id] % self.vocab_size] -= 9
            self.steps[row.request_id] += 1
        return super().apply(logits, rows)


class Keeps(CountPenalty):
    def add_request(self, request_id: str, arguments: Mapping[str, Any], prompt_token_ids: Sequence[int]) -> bool:
        works = "strength" in arguments and arguments["strength"] > 0
        if works:
            self.strengths.setdefault(request_id, arguments["strength"])
        return works

    def remove_request(self, request_id: str) -> None:
        """Forgets to forget."""


class Shared(CountPenalty):
    all_strengths: dict[str, float] = {"": 0.0}  # noqa: RUF012 - the fault

    def __init__(self, settings: Settings, vocab_size: int) -> None:
        super().__init__(settings, vocab_size)
        self.strengths = self.all_strengths


class TakesNan(CountPenalty):
    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        strength = arguments.get("strength", 0.0)
        if isinstance(strength, float) and strength != strength:  # noqa: PLR0124 - NaN is neither small nor large
            arguments = {**arguments, "strength": 0.0}
        CountPenalty.validate_params(arguments)


class Draws(CountPenalty):
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        for row in rows:
            logits[row.index, hash(row.request_id) % self.vocab_size] -= 9
        return super().apply(logits, rows)


class OneRow(CountPenalty):
    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
        latest = {row.request_id: row for row in rows}
        return super().apply(logits, tuple(latest.values()))


_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-processor", NotAProcessor, "is no LogitsProcessor"),
    ("ignores-unknown-arguments", TakesAll, "validate_params() must refuse an argument that it does not know"),
    ("refuses-with-another-error", RefusesOtherwise, "validate_params() must refuse with a ParameterError"),
    ("takes-nan", TakesNan, "what validate_params() takes must work, or be refused there"),
    ("draws-by-the-id", Draws, "a row must not depend on its request's id"),
    ("works-for-everybody", WorksForAll, "add_request() must return False for a request that is none of"),
    ("changes-all-rows", AllRows, "apply() must change the named rows only"),
    ("returns-another-dtype", Wide, "apply() must keep the shape, dtype and device of the logits"),
    ("multiplies-what-is-forbidden", Scales, "apply() must never make NaN"),
    ("forbids-every-token", ForbidsAll, "apply() must leave a token that may be chosen"),
    ("forces-a-token-by-infinity", Forces, "apply() must never make an infinite logit"),
    ("takes-tokens-out-of-a-row", Pops, "apply() must not change the tokens of a row"),
    ("depends-on-its-batch", Averages, "a row must not depend on the others of its batch"),
    ("counts-steps-by-itself", Counts, "a request that comes back after a preemption must go on"),
    ("keeps-a-request-that-ended", Keeps, "remove_request() must forget all of a request"),
    ("shares-its-requests-between-engines", Shared, "a processor must keep its requests to itself"),
    (
        "sees-one-row-of-a-request",
        OneRow,
        "rows of drafts must be what their own tokens say",
    ),
)

FAULTS = tuple(Fault(name=name, suite=suite_of(processor), says=says) for name, processor, says in _PLANTED)
