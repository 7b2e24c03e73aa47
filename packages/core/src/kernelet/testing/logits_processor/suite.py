"""The suite of logits processors: what one does to a row is decided by that row's request, and by nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kernelet.contracts.sampling import LogitsProcessor, LogitsProcessorOffer, SamplerParams
from kernelet.sampling.custom import NamedProcessor
from kernelet.sampling.sampler import Sampler
from kernelet.testing.arguments import NUMBERS, Arguments, check_validator, refusal
from kernelet.testing.logits_processor.requests import INFINITY, Playing, add, apply, choose, playing
from kernelet.testing.offered import Offered
from kernelet.testing.search import SEARCH
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import ConformanceError, check

Make = Callable[[], LogitsProcessor]

STEPS = 6
DTYPES = (torch.float32, torch.float64)
"""What the sampler has: 16-bit logits are widened first."""

SEEDS = st.integers(0, 2**31)


@dataclass(frozen=True, kw_only=True)
class LogitsProcessorCapabilities:
    """Arguments of a request (``extra_args[plugin]``) as the processor's author means them.

    Attributes:
        accepts: Arguments that it takes and has work for; at least one.
        refuses: The name of an argument, and arguments that ``validate_params`` refuses for it.
        ignores: Arguments with which a request is none of its business; empty: it works for every request.
        vocab_size: Tokens of the vocabulary that it is tested with.
    """

    accepts: tuple[Arguments, ...] = ()
    refuses: tuple[tuple[str, Arguments], ...] = ()
    ignores: tuple[Arguments, ...] = ({},)
    vocab_size: int = 64


class LogitsProcessorSuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", LogitsProcessorOffer)``."""

    capabilities: ClassVar[LogitsProcessorCapabilities] = LogitsProcessorCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[LogitsProcessorOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', LogitsProcessorOffer)")

    @pytest.fixture
    def make(self, offered: Offered[LogitsProcessorOffer]) -> Make:
        """Makes a processor as a worker does."""

        def make() -> LogitsProcessor:
            processor = offered.target(offered.settings, self.capabilities.vocab_size)
            check(isinstance(processor, LogitsProcessor), f"{offered.offer.target} is no LogitsProcessor")
            assert isinstance(processor, LogitsProcessor)
            return processor

        return make

    def request(self, name: str, seed: int) -> Playing:
        """A request that the processor works for."""
        examples = self.capabilities.accepts
        check(examples, "LogitsProcessorCapabilities.accepts must hold arguments that give the processor work")
        return playing(name, examples[seed % len(examples)], seed, self.capabilities.vocab_size)

    def truth(self, make: Make, request: Playing, dtype: torch.dtype) -> Tensor:
        """The request's next row, by a processor that sees it for the first time: as after every preemption."""
        processor = make()
        add(processor, request)
        return apply(processor, request.logits(self.capabilities.vocab_size, dtype)[None], [request.row(0)])[0]

    # --- arguments -------------------------------------------------------------------------------

    def test_validates_arguments(self, offered: Offered[LogitsProcessorOffer]) -> None:
        promised = self.capabilities
        check_validator(offered.target.validate_params, promised.accepts, promised.refuses)

    def test_what_it_takes_works(self, make: Make, offered: Offered[LogitsProcessorOffer]) -> None:
        """Numbers that JSON carries, NaN among them, each in the place of an argument that is a number."""
        for seed, arguments in enumerate(self.capabilities.accepts):
            for name, value in ((name, value) for name in arguments for value in NUMBERS):
                strange = {**arguments, name: value}
                if not is_number(arguments[name]) or refusal(offered.target.validate_params, strange) is not None:
                    continue
                processor, request = make(), self.resumed("r", seed)
                request.arguments = strange
                says = f"what validate_params() takes must work, or be refused there: {strange!r}"
                try:
                    if add(processor, request):
                        logits = request.logits(self.capabilities.vocab_size, torch.float32)[None]
                        apply(processor, logits, [request.row(0)])
                except Exception as error:
                    raise ConformanceError(f"{says}: {error}") from error

    def test_says_for_whom_it_works(self, make: Make) -> None:
        processor = make()
        for index in range(max(1, len(self.capabilities.accepts))):
            check(
                add(processor, self.request(f"works-{index}", index)),
                "add_request() must return True for arguments that give the processor work",
            )
        for index, arguments in enumerate(self.capabilities.ignores):
            request = playing(f"ignored-{index}", arguments, index, self.capabilities.vocab_size)
            check(
                not add(processor, request),
                "add_request() must return False for a request that is none of the processor's business",
            )
            processor.remove_request(request.name)

    # --- rows ------------------------------------------------------------------------------------

    def test_changes_its_rows_only(self, make: Make) -> None:
        vocab_size = self.capabilities.vocab_size

        @SEARCH
        @given(seed=SEEDS, count=st.integers(1, 5), forbid=st.booleans(), dtype=st.sampled_from(DTYPES))
        def changes(seed: int, count: int, forbid: bool, dtype: torch.dtype) -> None:
            generator = random.Random(seed)
            processor, requests = make(), [self.request(f"r{i}", seed + i) for i in range(count)]
            for request in requests:
                add(processor, request)
            for _ in range(STEPS):
                places = generator.sample(range(count + 3), count)
                logits = 3 * torch.randn(count + 3, vocab_size, dtype=dtype, generator=torch.Generator().manual_seed(1))
                if forbid:
                    logits[:, :: generator.randint(2, 5)] = -INFINITY
                rows = [request.row(place) for request, place in zip(requests, places, strict=True)]
                result = apply(processor, logits, rows)
                for request, place in zip(requests, places, strict=True):
                    request.outputs.append(choose(result[place]))

        changes()

    def test_does_not_depend_on_the_batch(self, make: Make, offered: Offered[LogitsProcessorOffer]) -> None:
        if not offered.offer.batch_independent:
            pytest.skip("the offer says that it does: batch_independent=False")

        @SEARCH
        @given(seed=SEEDS, count=st.integers(2, 6))
        def is_independent(seed: int, count: int) -> None:
            processor, requests = make(), [self.request(f"r{i}", seed + i) for i in range(count)]
            for request in requests:
                add(processor, request)
            for step in range(STEPS):
                now = requests[step % 2 :][:: -1 if step % 3 else 1]  # not all, and in another order
                self.hold(make, processor, now, "a row must not depend on the others of its batch, not in its last bit")

        is_independent()

    def hold(self, make: Make, processor: LogitsProcessor, requests: Sequence[Playing], sentence: str) -> None:
        """One step of these requests, each of which must have the row that it has alone."""
        logits = torch.stack([request.logits(self.capabilities.vocab_size, torch.float32) for request in requests])
        result = apply(processor, logits, [request.row(index) for index, request in enumerate(requests)])
        for request, row in zip(requests, result, strict=True):
            check(torch.equal(row, self.truth(make, request, torch.float32)), sentence)
            request.outputs.append(choose(row))

    # --- requests come and go --------------------------------------------------------------------

    def test_goes_on_after_a_preemption(self, make: Make) -> None:
        """At each step, what a request has so far is all that counts: a resumed one cannot know more."""
        for seed in range(12):
            processor, request = make(), self.request("r", seed)
            add(processor, request)
            for step in range(STEPS):
                self.hold(
                    make,
                    processor,
                    [request],
                    "a request that comes back after a preemption must go on as if nothing had happened: rebuild what "
                    "depends on the output from the row",
                )
                if step % 3 == 1:
                    processor.remove_request(request.name)
                    add(processor, request)

    def test_forgets_a_request(self, make: Make) -> None:
        for seed in range(12):
            processor, first, second = make(), self.request("r", seed), self.resumed("r", seed + 1001)
            add(processor, first)
            for _ in range(STEPS):
                logits = first.logits(self.capabilities.vocab_size, torch.float32)[None]
                first.outputs.append(choose(apply(processor, logits, [first.row(0)])[0]))
            processor.remove_request("r")
            add(processor, second)
            self.hold(make, processor, [second], "remove_request() must forget all of a request: its id may come again")

    def test_does_not_depend_on_its_id(self, make: Make) -> None:
        for seed in range(12):
            one, other = self.resumed("r", seed), self.resumed(f"other-{seed}", seed)
            check(
                torch.equal(self.truth(make, one, torch.float32), self.truth(make, other, torch.float32)),
                "a row must not depend on its request's id: the same request under another id must have the same row",
            )

    def test_engines_share_nothing(self, make: Make) -> None:
        one, other = make(), make()
        for seed in range(12):
            mine, theirs = self.resumed("r", seed), self.resumed("r", seed + 1001)
            add(one, mine)
            add(other, theirs)
            sentence = "a processor must keep its requests to itself: two engines of one process may use one id"
            self.hold(make, one, [mine], sentence)
            self.hold(make, other, [theirs], sentence)
            one.remove_request("r")
            other.remove_request("r")

    def resumed(self, name: str, seed: int) -> Playing:
        """A request that has some tokens already."""
        request = self.request(name, seed)
        generator = random.Random(seed)
        request.outputs = [generator.randrange(self.capabilities.vocab_size) for _ in range(STEPS)]
        return request

    def test_speculation(self, make: Make, offered: Offered[LogitsProcessorOffer]) -> None:
        """Several rows of one request in a call, of which most are rejected afterwards."""
        if not offered.offer.supports_speculation:
            pytest.skip("the offer says that it does not: supports_speculation=False")
        vocab_size = self.capabilities.vocab_size
        for seed in range(12):
            generator = random.Random(seed)
            processor, request = make(), self.request("r", seed)
            add(processor, request)
            for _ in range(STEPS):
                tries = [Playing("r", request.arguments, request.seed, request.prompt, list(request.outputs))]
                for _ in range(3):
                    last = tries[-1]
                    tries.append(
                        Playing(
                            "r",
                            last.arguments,
                            last.seed,
                            last.prompt,
                            [*last.outputs, generator.randrange(vocab_size)],
                        )
                    )
                expected = [self.truth(make, one, torch.float32) for one in tries]
                logits = torch.stack([one.logits(vocab_size, torch.float32) for one in tries])
                result = apply(processor, logits, [one.row(index) for index, one in enumerate(tries)])
                check(
                    torch.equal(result, torch.stack(expected)),
                    "with supports_speculation, rows of drafts must be what their own tokens say, and rejected drafts "
                    "must leave no trace",
                )
                request.outputs.append(choose(result[0]))

    # --- the engine ------------------------------------------------------------------------------

    def test_same_tokens_in_the_sampler(self, make: Make, offered: Offered[LogitsProcessorOffer]) -> None:
        """The engine's sampler, with requests that come, are preempted, resume and end, beside some without work."""
        plugin, vocab_size = offered.settings.plugin, self.capabilities.vocab_size
        together = 6 if offered.offer.batch_independent else 1
        sampler = Sampler(vocab_size, torch.device("cpu"), [NamedProcessor(plugin, make())])
        requests = [self.request(f"r{index}", index) for index in range(together)]
        idle = [playing(f"i{i}", a, 99 + i, vocab_size) for i, a in enumerate(self.capabilities.ignores)]
        everybody = [*requests, *idle] if offered.offer.batch_independent else requests
        for request in everybody:
            admit(sampler, plugin, request)
        for step in range(2 * STEPS):
            logits = torch.stack([request.logits(vocab_size, torch.float32) for request in everybody])
            expected = [
                choose(
                    self.truth(make, one, torch.float32) if one in requests else one.logits(vocab_size, torch.float32)
                )
                for one in everybody
            ]
            outcomes = sampler.sample(logits, [request.name for request in everybody])
            errors = [outcome.error for outcome in outcomes if outcome.error]
            check(not errors, f"apply() must not fail the requests that it works for: {errors[:1]}")
            check(
                [outcome.token for outcome in outcomes] == expected,
                "in the engine's sampler every request must have the tokens that it has alone",
            )
            for request, outcome in zip(everybody, outcomes, strict=True):
                request.outputs.append(outcome.token)
            preempted = everybody[step % len(everybody)]
            sampler.remove(preempted.name)
            admit(sampler, plugin, preempted)


def is_number(value: object) -> bool:
    """Whether an argument is a number; True is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def admit(sampler: Sampler, plugin: str, request: Playing) -> None:
    """A request starts, or resumes with what was generated."""
    arguments = {plugin: dict(request.arguments)} if request.arguments else None
    params = SamplerParams(seed=0, temperature=0.0, extra_args=arguments)
    sampler.add(request.name, params, request.prompt, request.outputs)
