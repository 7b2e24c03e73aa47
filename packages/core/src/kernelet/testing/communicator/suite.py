"""The suite of communicators: every collective on every rank, against sums and concatenations in plain torch."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from kernelet.contracts.executor import CommunicatorOffer
from kernelet.testing.communicator.calls import Call, Op, add_up, expected, given, unpack
from kernelet.testing.communicator.ranks import Answer, Group, ProcessRanks, Ranks, ThreadRanks
from kernelet.testing.offered import Offered
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import ConformanceError, check

KEPT = "kernelet_communicator_ranks"
"""Attribute of a suite's class that keeps the spawned ranks from one test to the next."""


@dataclass(frozen=True, kw_only=True)
class CommunicatorCapabilities:
    """Where a communicator runs.

    Attributes:
        world_size: Ranks to test with; at least 2, and 3 to show the order of sums.
        dtypes: Names of torch's dtypes that it takes.
        device: Where a rank's tensors lie: what ``torch.device`` takes; ``{rank}`` stands for the rank.
        threads: Ranks may be threads of one process; else each is a process.
        deadline: Seconds after which a rank counts as hanging.
    """

    world_size: int = 3
    dtypes: tuple[str, ...] = ("float32", "float16", "bfloat16", "int64")
    device: str = "cpu"
    threads: bool = False
    deadline: float = 60.0


class CommunicatorSuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", CommunicatorOffer)``.

    Every test joins a group at an address of its own, ``tcp://127.0.0.1:PORT``, and leaves it.
    """

    capabilities: ClassVar[CommunicatorCapabilities] = CommunicatorCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[CommunicatorOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', CommunicatorOffer)")

    @pytest.fixture
    def ranks(self, offered: Offered[CommunicatorOffer], request: pytest.FixtureRequest) -> Iterator[Ranks]:
        """The ranks of this class of tests; processes stay from one test to the next."""
        wanted = self.capabilities
        group = Group(
            target=offered.offer.target,
            settings=offered.settings,
            size=wanted.world_size,
            device=wanted.device,
            deadline=wanted.deadline,
        )
        if wanted.threads:
            yield ThreadRanks(group)
            return
        kept: Ranks | None = vars(type(self)).get(KEPT)
        if kept is None or kept.group != group:
            kept = ProcessRanks(group)
            setattr(type(self), KEPT, kept)
            owner = request.node.getparent(pytest.Class)
            owner.addfinalizer(kept.close)
        yield kept

    def test_sum(self, ranks: Ranks) -> None:
        shapes = ((), (1,), (7,), (4, 6), (2, 3, 5))
        wanted = itertools.product(self.capabilities.dtypes, shapes)
        hold(ranks, [Call(op="all_reduce", dtype=dtype, shape=shape, seed=1) for dtype, shape in wanted])

    def test_sum_of_much(self, ranks: Ranks) -> None:
        hold(ranks, [Call(op="all_reduce", shape=(700, 601))])

    def test_sums_are_in_rank_order(self, ranks: Ranks) -> None:
        dtypes = [dtype for dtype in self.capabilities.dtypes if getattr(torch, dtype).is_floating_point]
        if ranks.group.size < 3 or not dtypes:
            pytest.skip("shows with three ranks and a floating dtype only")
        hold(ranks, [Call(op="all_reduce", dtype=dtype, shape=(500,), seed=2) for dtype in dtypes])

    def test_gather_along_every_axis(self, ranks: Ranks) -> None:
        hold(ranks, self.along_every_axis("all_gather", (2, 3, 5)))

    def test_scatter_along_every_axis(self, ranks: Ranks) -> None:
        size = ranks.group.size
        hold(ranks, self.along_every_axis("reduce_scatter", (size, 2 * size, 3 * size)))

    def test_broadcast_from_every_rank(self, ranks: Ranks) -> None:
        wanted = itertools.product(self.capabilities.dtypes, range(ranks.group.size))
        hold(ranks, [Call(op="broadcast", dtype=dtype, source=source, seed=5) for dtype, source in wanted])

    def test_every_rank_sends_to_every_other(self, ranks: Ranks) -> None:
        pairs = itertools.permutations(range(ranks.group.size), 2)
        calls = [Call(op="send", source=source, destination=destination, seed=6) for source, destination in pairs]
        calls += [Call(op="send", dtype=dtype, seed=7) for dtype in self.capabilities.dtypes]
        hold(ranks, [*calls, Call(op="send", shape=(700, 601), seed=8)])

    def test_messages_keep_their_order(self, ranks: Ranks) -> None:
        hold(ranks, [Call(op="send", source=1, destination=0, shape=(5,), seed=seed) for seed in range(20)])

    def test_tensors_with_gaps(self, ranks: Ranks) -> None:
        size = ranks.group.size
        ops: tuple[Op, ...] = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "send")
        hold(ranks, [Call(op=op, shape=(2, 2 * size), seed=9, strided=True) for op in ops])

    def test_ranks_may_come_late(self, ranks: Ranks) -> None:
        size = ranks.group.size
        ops: tuple[Op, ...] = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "send")
        hold(ranks, [Call(op=op, shape=(2, size), seed=10, late=index % 2) for index, op in enumerate(ops)])

    def test_any_order_of_calls(self, ranks: Ranks) -> None:
        hold(ranks, random_calls(random.Random(11), ranks.group.size, self.capabilities.dtypes, 30))

    def test_a_group_can_be_left_and_another_joined(self, ranks: Ranks) -> None:
        for seed in range(3):
            hold(
                ranks,
                [Call(op="all_reduce", seed=seed), Call(op="broadcast", seed=seed, source=1)],
                "after close() the same process must be able to join another group",
            )

    def along_every_axis(self, op: Op, shape: tuple[int, ...]) -> list[Call]:
        """A call for each dtype and axis, counted from both ends."""
        wanted = itertools.product(self.capabilities.dtypes, range(-len(shape), len(shape)))
        return [Call(op=op, dtype=dtype, shape=shape, axis=axis, seed=3) for dtype, axis in wanted]


def random_calls(generator: random.Random, size: int, dtypes: Sequence[str], count: int) -> list[Call]:
    """Calls of all kinds, in no order."""
    calls = []
    ops: tuple[Op, ...] = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "send")
    for seed in range(count):
        source, destination = generator.sample(range(size), 2)
        calls.append(
            Call(
                op=generator.choice(ops),
                dtype=generator.choice(dtypes),
                shape=(size * generator.randint(1, 4), size * generator.randint(1, 40)),
                axis=generator.choice([0, 1, -1]),
                seed=seed,
                source=source,
                destination=destination,
                strided=generator.random() < 0.3,
            )
        )
    return calls


def hold(ranks: Ranks, calls: Sequence[Call], sentence: str = "") -> None:
    """Makes calls and holds what every rank got against the truth.

    Raises:
        ConformanceError: naming the call; or ``sentence``, where the calls did not end well.
    """
    answers = ranks.run(calls)
    failed_first = sorted(enumerate(answers), key=lambda pair: (pair[1].error is None, pair[0]))
    found = {rank: _results(answer, rank, calls, sentence) for rank, answer in failed_first}
    results = [found[rank] for rank in range(len(answers))]
    for index, call in enumerate(calls):
        truth = expected(call, len(results))
        for rank, wanted in enumerate(truth):
            _compare(call, results[rank][index], wanted, on_host=torch.device(ranks.group.device.format(rank=0)))
        if call.op == "all_reduce":
            _same_bits(call, [found[index] for found in results], len(results))


def _results(answer: Answer, rank: int, calls: Sequence[Call], sentence: str) -> list[list[Any]]:
    names = ", ".join(sorted({f"{call.op}()" for call in calls}))
    if answer.results is None and answer.error is None:
        raise ConformanceError(sentence or f"a rank hangs: {names} must return once every rank has called it")
    if answer.error is not None:
        last = answer.error.strip().splitlines()[-1]
        if last.startswith("kernelet") and last.endswith("is no Communicator"):
            raise ConformanceError(last.rpartition(": ")[2])
        raise ConformanceError(f"{sentence or f'{names} must work'}, but rank {rank} raised {last}")
    assert answer.results is not None
    return answer.results


def _compare(call: Call, found: Sequence[Any], wanted: Sequence[Tensor], on_host: torch.device) -> None:
    name = "recv" if call.op == "send" else call.op
    check(len(found) == 2 * len(wanted), f"{name}() must return one tensor")
    for index, truth in enumerate(wanted):
        first, later = found[index], found[index + len(wanted)]
        check(first[2], f"{name}() must return a tensor, not {first[0]}")
        check(first[2] == on_host.type, f"{name}() must return a tensor on the device of the one that it was given")
        check(first[0] == call.dtype, f"{name}() must return the dtype that it was given, whatever is computed inside")
        check(tuple(first[1]) == tuple(truth.shape), _sentence(call, index))
        values = unpack(first)
        exact = torch.equal(values, truth)
        sums = call.op in {"all_reduce", "reduce_scatter"}
        check(exact or (sums and _near(values, truth)), _sentence(call, index))
        check(first == later, f"the result of {name}() must keep its values when another collective runs after it")


def _sentence(call: Call, index: int) -> str:
    return {
        "all_reduce": "all_reduce() must return the sum over all ranks, in the shape of what they gave",
        "all_gather": "all_gather() must concatenate the ranks' tensors along the axis, in rank order",
        "reduce_scatter": "reduce_scatter() must return this rank's slice of the sum along the axis",
        "broadcast": "broadcast() must return the source rank's tensor on every rank",
        "send": "recv() must return what was sent, message by message in the order of sending"
        if index == 0
        else "recv() must fill the tensor that it is given, and return it",
    }[call.op]


def _near(found: Tensor, truth: Tensor) -> bool:
    if not truth.dtype.is_floating_point:
        return False
    bits = torch.finfo(truth.dtype).eps
    return bool(torch.allclose(found.double(), truth.double(), rtol=8 * bits, atol=2e3 * bits))


def _same_bits(call: Call, found: Sequence[Sequence[Any]], size: int) -> None:
    """Sums have the same bits on every rank: those of adding in rank order, in the dtype or in a wider one."""
    check(
        all(result[0] == found[0][0] for result in found),
        "all_reduce() must return the same bits on every rank: a rank must not begin with its own tensor",
    )
    parts = [given(call, rank) for rank in range(size)]
    wide = torch.float32 if parts[0].dtype.itemsize < 4 else torch.float64
    orders = [add_up(parts), add_up(parts, wide)] if parts[0].dtype.is_floating_point else [add_up(parts)]
    check(
        any(torch.equal(unpack(found[0][0]), order) for order in orders),
        "all_reduce() must add in rank order, rank 0 first: another order gives other bits",
    )
