"""The suite of IO processors: data in, prompts out, vectors in, an answer out, and nothing kept in between."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from kernelet.contracts.io import IOProcessor, IOProcessorOffer
from kernelet.contracts.pooling import PoolingOutput, PoolingParams, PoolingRequestOutput
from kernelet.errors import ParameterError, PromptError
from kernelet.request.pooling import validate_pooling_params
from kernelet.testing.arguments import STRANGE
from kernelet.testing.io_processor.vectors import make_context, pooled, token_ids
from kernelet.testing.offered import Offered
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import ConformanceError, check

Processor = IOProcessor[Any, Any]
Make = Callable[[], Processor]

GIVEN = (
    PoolingParams(pooling="last"),
    PoolingParams(pooling="mean"),
    PoolingParams(normalize=True),
    PoolingParams(normalize=False),
    PoolingParams(dimensions=4),
    PoolingParams(task="embed"),
    PoolingParams(task="plugin", pooling="mean", normalize=False, dimensions=2),
)
"""What may come with a request."""


@dataclass(frozen=True, kw_only=True)
class IOProcessorCapabilities:
    """Data of requests, as JSON has it, as the processor's author means it.

    Attributes:
        accepts: What it takes; at least two that differ in their prompts.
        refuses: The name that the ParameterError has, and data that is refused.
        hf_config: config.json of a model that it works with.
        hidden_size: Width of that model's states.
    """

    accepts: tuple[Any, ...] = ()
    refuses: tuple[tuple[str, Any], ...] = ()
    hf_config: Mapping[str, Any] = field(default_factory=dict)
    hidden_size: int = 16


class IOProcessorSuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", IOProcessorOffer)``."""

    capabilities: ClassVar[IOProcessorCapabilities] = IOProcessorCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[IOProcessorOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', IOProcessorOffer)")

    @pytest.fixture
    def make(self, offered: Offered[IOProcessorOffer]) -> Make:
        """Makes a processor as a frontend does."""
        promised = self.capabilities
        check(len(promised.accepts) > 1, "IOProcessorCapabilities.accepts must hold at least two examples of data")

        def make() -> Processor:
            context = make_context(dict(promised.hf_config), promised.hidden_size)
            processor = offered.target(offered.settings, context)
            check(isinstance(processor, IOProcessor), f"{offered.offer.target} is no IOProcessor")
            assert isinstance(processor, IOProcessor)
            return processor

        return make

    def answer(self, processor: Processor, data: Any, params: PoolingParams | None = None, **vectors: Any) -> str:
        """A request from its data to its answer, as text."""
        request = Stages(processor, data, params)
        return plain(request.finish(self.capabilities.hidden_size, **vectors))

    def outputs(self, request: Stages, prompts: Sequence[Any]) -> list[PoolingRequestOutput[PoolingOutput]]:
        """What the engine makes of a request's prompts."""
        return pooled(prompts, request.params, self.capabilities.hidden_size)

    # --- data ------------------------------------------------------------------------------------

    def test_takes_data(self, make: Make) -> None:
        for data in self.capabilities.accepts:
            given = json.loads(json.dumps(data))
            error = refusal(make().parse_data, given)
            check(error is None, f"parse_data() must take {data!r}, which is data that works: {error}")
            check(given == data, "parse_data() must not change the data that it is given")

    def test_refuses_data(self, make: Make) -> None:
        for name, data in self.capabilities.refuses:
            error = refusal(Stages, make(), data)
            check(error is not None, f"parse_data() or validate() must refuse {data!r}")
            assert error is not None
            check(
                error.parameter.startswith(name),
                f"the ParameterError of {data!r} must name {name!r}, not {error.parameter!r}",
            )

    def test_whatever_clients_send(self, make: Make) -> None:
        """What is not refused must work: alone, and in the place of each member of data that works."""
        strange = list(STRANGE)
        for example in self.capabilities.accepts:
            if isinstance(example, dict):
                strange += [{**example, name: value} for name in example for value in STRANGE]
        for data in strange:
            given = copy.deepcopy(data)
            if refusal(Stages, make(), given) is None:
                try:
                    self.answer(make(), given)
                except PromptError:
                    continue  # the engine says what is wrong with a prompt
                except ConformanceError:
                    raise
                except Exception as error:
                    raise ConformanceError(
                        f"what parse_data() takes must work, or be refused there: {data!r}: {error!r}"
                    ) from error

    # --- parameters ------------------------------------------------------------------------------

    def test_keeps_parameters(self, make: Make) -> None:
        for params in (None, *GIVEN):
            if refusal(make().merge_pooling_params, params):
                check(params is not None, "merge_pooling_params(None) must say what the processor wants by itself")
                continue
            merged: Any = make().merge_pooling_params(params)
            check(isinstance(merged, PoolingParams), "merge_pooling_params() must return PoolingParams")
            error = refusal(validate_pooling_params, merged, self.capabilities.hidden_size)
            check(error is None, f"merge_pooling_params() must return parameters that the engine takes: {error}")
            for name in ("pooling", "normalize", "dimensions"):
                wanted = getattr(params, name, None)
                check(
                    wanted is None or getattr(merged, name) == wanted,
                    "merge_pooling_params() must keep what came with a request, or refuse it: nothing is replaced "
                    "silently",
                )

    def test_works_with_the_parameters_that_it_takes(self, make: Make) -> None:
        for data, params in itertools.product(self.capabilities.accepts, GIVEN):
            if refusal(Stages, make(), data, params) is None:
                self.answer(make(), data, params)

    # --- prompts ---------------------------------------------------------------------------------

    def test_makes_prompts(self, make: Make) -> None:
        seen = set()
        for data in self.capabilities.accepts:
            request = Stages(make(), data)
            before = repr(request.parsed)
            prompts: Any = request.prompts()
            check(
                isinstance(prompts, Sequence) and not isinstance(prompts, str | bytes) and len(prompts) > 0,
                "pre_process() must return a list of prompts, at least one",
            )
            for prompt in prompts:
                try:
                    token_ids(prompt)
                except PromptError as error:
                    raise ConformanceError(
                        f"pre_process() must return prompts that the engine takes: {error}"
                    ) from error
            check(repr(request.parsed) == before, "pre_process() must not change what parse_data() returned")
            check(
                repr(list(request.prompts())) == repr(list(Stages(make(), data).prompts())) == repr(list(prompts)),
                "pre_process() must make the same prompts of the same data, each time and in every process",
            )
            later = asyncio.run(request.processor.pre_process_async(request.parsed))
            check(
                repr(list(later)) == repr(list(prompts)), "pre_process_async() must return what pre_process() returns"
            )
            seen.add(repr(list(prompts)))
        check(len(seen) > 1, "IOProcessorCapabilities.accepts must hold data with different prompts")

    # --- answers ---------------------------------------------------------------------------------

    def test_answers_with_plain_data(self, make: Make) -> None:
        for data in self.capabilities.accepts:
            self.answer(make(), data)

    def test_answers_with_numbers_whatever_the_vectors_are(self, make: Make) -> None:
        for data in self.capabilities.accepts:
            try:
                self.answer(make(), data, nothing=True)
            except Exception as error:
                raise ConformanceError(
                    f"post_process() must have an answer for every vector, zeros too, and no NaN in it: {error}"
                ) from error

    def test_changes_no_vectors(self, make: Make) -> None:
        for data in self.capabilities.accepts:
            request = Stages(make(), data)
            outputs = self.outputs(request, request.prompts())
            before = [(output.request_id, output.outputs.data.tobytes()) for output in outputs]
            first = plain(request.processor.post_process(request.parsed, outputs))
            after = [(output.request_id, output.outputs.data.tobytes()) for output in outputs]
            check(after == before, "post_process() must not change the outputs that it is given")
            later = asyncio.run(request.processor.post_process_async(request.parsed, outputs))
            check(plain(later) == first, "post_process_async() must return what post_process() returns")

    def test_does_not_depend_on_ids(self, make: Make) -> None:
        for data in self.capabilities.accepts:
            answers = {self.answer(make(), data, first=first) for first in (0, 5, 12, 100)}
            check(
                len(answers) == 1,
                "post_process() must not depend on request ids: outputs come in the order of the prompts",
            )

    # --- requests come and go --------------------------------------------------------------------

    def test_keeps_nothing_of_a_request(self, make: Make) -> None:
        """Requests whose stages alternate, some of which end before their answer."""
        examples = self.capabilities.accepts
        expected = [self.answer(make(), data) for data in examples]
        for order, later in itertools.product((1, -1), (1, -1)):
            processor = make()
            for dropped in examples:
                Stages(processor, dropped).prompts()
            mine = [Stages(processor, data) for data in examples[::order]]
            started = [(request, request.prompts()) for request in mine]
            found = [
                plain(request.processor.post_process(request.parsed, self.outputs(request, prompts)))
                for request, prompts in started[::later]
            ]
            check(
                found[:: order * later] == expected,
                "a processor must keep nothing of a request between calls: others come in between, and some never end",
            )

    def test_serves_several_threads(self, make: Make) -> None:
        examples = self.capabilities.accepts
        expected = [self.answer(make(), data) for data in examples]
        processor = make()
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda data: self.answer(processor, data), examples * 8))
        check(found == expected * 8, "a processor must give each of several threads the answer of its own request")


class Stages:
    """A request as far as the engine: data and parameters are checked."""

    def __init__(self, processor: Processor, data: Any, params: PoolingParams | None = None) -> None:
        self.processor = processor
        self.parsed = processor.parse_data(data)
        self.params = processor.merge_pooling_params(params)
        processor.validate(self.parsed, self.params)

    def prompts(self) -> Sequence[Any]:
        """What is pooled."""
        return self.processor.pre_process(self.parsed)

    def finish(self, hidden_size: int, **vectors: Any) -> object:
        """The answer."""
        outputs = pooled(list(self.prompts()), self.params, hidden_size, **vectors)
        return self.processor.post_process(self.parsed, outputs)


def plain(answer: object) -> str:
    """An answer as JSON.

    Raises:
        ConformanceError: JSON cannot carry it.
    """
    try:
        return json.dumps(answer, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise ConformanceError(f"post_process() must return plain data, which JSON can carry: {error}") from error


def refusal(function: Callable[..., object], *arguments: object) -> ParameterError | None:
    """Why data is refused; None: it is taken.

    Raises:
        ConformanceError: something else was raised.
    """
    try:
        function(*arguments)
    except ParameterError as error:
        return error
    except Exception as error:
        raise ConformanceError(
            f"a processor must refuse with a ParameterError, whatever a client sends; it raised {error!r}"
        ) from error
    return None
