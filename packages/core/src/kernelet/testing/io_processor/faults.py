"""Wrong IO processors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from kernelet.contracts.io import IOContext, IOProcessorOffer, IOPrompt
from kernelet.contracts.offer import Settings
from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.testing.faults import Fault
from kernelet.testing.io_processor.reference import Distances
from kernelet.testing.io_processor.suite import IOProcessorCapabilities, IOProcessorSuite
from kernelet.testing.offered import Offered

PROMISES = IOProcessorCapabilities(
    accepts=({"texts": ["a", "bc"]}, {"texts": ["d"]}, {"texts": ["bc", "a", "e", "a"]}),
    refuses=(("texts", {"texts": []}), ("texts", {"texts": [1]}), ("data", {"text": ["a"]}), ("data", None)),
)

Outputs = Sequence[PoolingRequestOutput[PoolingOutput]]


def suite_of(processor: type[Any]) -> type[IOProcessorSuite]:
    """The suite as the author of that processor writes it."""

    class Faulty(IOProcessorSuite):
        capabilities = PROMISES

        @pytest.fixture
        def offered(self) -> Offered[IOProcessorOffer]:
            offer = IOProcessorOffer(name="faulty", target=f"{processor.__module__}:{processor.__qualname__}")
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=processor)

    return Faulty


class NotAProcessor:
    def __init__(self, settings: Settings, context: IOContext) -> None:
        """Takes what a processor takes."""


class Trusts(Distances):
    def parse_data(self, data: Any) -> list[str]:
        return list(data["texts"])


class TakesAll(Distances):
    def parse_data(self, data: object) -> list[str]:
        texts = data.get("texts") if isinstance(data, dict) else None
        return [str(text) for text in texts] if isinstance(texts, list) and texts else ["nothing"]


class TakesNumbers(Distances):
    def parse_data(self, data: object) -> list[str]:
        if isinstance(data, dict) and isinstance(data.get("texts"), float):
            return cast("list[str]", data["texts"])
        return super().parse_data(data)


class Consumes(Distances):
    def parse_data(self, data: object) -> list[str]:
        found = super().parse_data(data)
        if isinstance(data, dict):
            data["texts"].clear()
        return found


class OwnParameters(Distances):
    def merge_pooling_params(self, params: PoolingParams | None) -> PoolingParams:
        return PoolingParams(task="plugin", pooling="mean", normalize=True)


class WrongParameters(Distances):
    def merge_pooling_params(self, params: PoolingParams | None) -> PoolingParams:
        return super().merge_pooling_params(params or PoolingParams(task="distances"))


class OneText(Distances):
    def pre_process(self, data: list[str]) -> Sequence[IOPrompt]:
        return data[0] if len(data) == 1 else data


class EmptyPrompt(Distances):
    def pre_process(self, data: list[str]) -> Sequence[IOPrompt]:
        return [*data, ""]


class Numbers(Distances):
    def __init__(self, settings: Settings, context: IOContext) -> None:
        super().__init__(settings, context)
        self.numbers = itertools.count()

    def pre_process(self, data: list[str]) -> Sequence[IOPrompt]:
        return [f"{next(self.numbers)}: {text}" for text in data]


class OtherPromptsForServers(Distances):
    async def pre_process_async(self, data: list[str]) -> Sequence[IOPrompt]:
        return data[:1]


class OtherAnswersForServers(Distances):
    async def post_process_async(self, data: list[str], outputs: Outputs) -> dict[str, list[list[float]]]:
        return {
            "distances": [
                [round(value, 1) for value in row] for row in super().post_process(data, outputs)["distances"]
            ]
        }


class Sorts(Distances):
    def post_process(self, data: list[str], outputs: Outputs) -> dict[str, list[list[float]]]:
        return super().post_process(data, sorted(outputs, key=lambda output: output.request_id))


class Arrays(Distances):
    def post_process(self, data: list[str], outputs: Outputs) -> Any:
        return {"distances": np.array(super().post_process(data, outputs)["distances"])}


class Divides(Distances):
    def post_process(self, data: list[str], outputs: Outputs) -> dict[str, list[list[float]]]:
        rows = np.stack([output.outputs.data for output in outputs]).astype(np.float64)
        with np.errstate(invalid="ignore"):
            rows = rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        return {"distances": (rows @ rows.T).tolist()}


class Overwrites(Distances):
    def post_process(self, data: list[str], outputs: Outputs) -> dict[str, list[list[float]]]:
        for output in outputs:
            output.outputs.data -= output.outputs.data.mean()
        return super().post_process(data, outputs)


class Remembers(Distances):
    def pre_process(self, data: list[str]) -> Sequence[IOPrompt]:
        self.count = len(data)
        return data

    def post_process(self, data: list[str], outputs: Outputs) -> dict[str, list[list[float]]]:
        return super().post_process(data, outputs[: self.count])


_PLANTED: tuple[tuple[str, type[Any], str], ...] = (
    ("is-no-processor", NotAProcessor, "is no IOProcessor"),
    ("trusts-its-clients", Trusts, "a processor must refuse with a ParameterError, whatever a client sends"),
    ("takes-everything", TakesAll, "parse_data() or validate() must refuse"),
    ("takes-what-does-not-work", TakesNumbers, "what parse_data() takes must work, or be refused there"),
    ("consumes-its-data", Consumes, "parse_data() must not change the data that it is given"),
    ("replaces-parameters", OwnParameters, "merge_pooling_params() must keep what came with a request, or refuse it"),
    ("invents-a-task", WrongParameters, "merge_pooling_params() must return parameters that the engine takes"),
    ("returns-a-text-for-a-list", OneText, "pre_process() must return a list of prompts, at least one"),
    ("makes-an-empty-prompt", EmptyPrompt, "pre_process() must return prompts that the engine takes"),
    ("numbers-its-prompts", Numbers, "pre_process() must make the same prompts of the same data"),
    ("other-prompts-for-servers", OtherPromptsForServers, "pre_process_async() must return what pre_process() returns"),
    (
        "other-answers-for-servers",
        OtherAnswersForServers,
        "post_process_async() must return what post_process() returns",
    ),
    ("sorts-by-request-id", Sorts, "post_process() must not depend on request ids"),
    ("returns-an-array", Arrays, "post_process() must return plain data, which JSON can carry"),
    ("divides-by-nothing", Divides, "post_process() must have an answer for every vector, zeros too"),
    ("overwrites-vectors", Overwrites, "post_process() must not change the outputs that it is given"),
    ("remembers-the-last-request", Remembers, "a processor must keep nothing of a request between calls"),
)

FAULTS = tuple(Fault(name=name, suite=suite_of(processor), says=says) for name, processor, says in _PLANTED)
