from __future__ import annotations

from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch

from kernelet.config import EngineConfig, ModelConfig, ParallelConfig
from kernelet.contracts.executor import Communicator, CommunicatorOffer, ScheduledRequest, WorkerContext
from kernelet.contracts.platform import Capabilities, PlatformChoice, PlatformOffer
from kernelet.errors import ConfigError, PluginError
from kernelet.layers.context import SINGLE_RANK, TensorParallel
from kernelet.sampling.sampler import Outcome
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.worker.ranks import join_ranks, tell_ranks


class Line(Communicator):
    """What rank 0 says, the others hear."""

    said: ClassVar[list[torch.Tensor]] = []

    def __init__(self, settings, rank, world_size, address):
        self.made = (settings.plugin, rank, world_size, address)

    def broadcast(self, tensor, source=0):
        if self.made[1] == source:
            self.said.append(tensor)
        return self.said[-1]

    all_reduce = all_gather = reduce_scatter = send = recv = close = None


class Batch(dict):
    def __init__(self, names):
        super().__init__({name: SimpleNamespace(request_id=name, error=None) for name in names})
        self.appended = []

    def append(self, held, token):
        self.appended.append((held.request_id, token))


def context(size, communicator=None, platforms_own="line"):
    model = ModelConfig(
        model="m", path="", architecture="A", hf_config={}, dtype="float32", vocab_size=8, max_model_len=8, num_layers=1
    )
    parallel = ParallelConfig(tensor_parallel_size=size, communicator=communicator)
    offers = [
        PlatformOffer(name="p", target="device", probe="", config="", worker="", communicator=platforms_own),
        CommunicatorOffer(name="other", target="other"),
        CommunicatorOffer(name="wrong", target="wrong"),
    ]
    return WorkerContext(
        config=EngineConfig(model=model, parallel=parallel),
        platform=PlatformChoice(name="p", capabilities=Capabilities(device_type="cpu", dtypes=(), memory_bytes=0)),
        plugins=FixedPlugins(offers, {"line": Line, "other": type("Other", (Line,), {}), "wrong": dict}, "acme"),
        rank=1,
        world_size=size,
        address="tcp://127.0.0.1:1",
    )


def test_one_rank_joins_nobody():
    assert join_ranks(context(1, platforms_own="")) is SINGLE_RANK


def test_the_platforms_communicator_unless_one_is_named():
    joined = join_ranks(context(2))
    assert (joined.rank, joined.size) == (1, 2)
    assert type(joined.communicator) is Line
    assert joined.communicator.made == ("acme", 1, 2, "tcp://127.0.0.1:1")
    assert type(join_ranks(context(2, "other")).communicator).__name__ == "Other"


def test_a_platform_without_one_says_which_there_are():
    with pytest.raises(ConfigError, match=r"'p' has no communicator for 2 ranks.*--communicator \(installed: other"):
        join_ranks(context(2, platforms_own=""))


def test_something_else_is_refused():
    with pytest.raises(PluginError, match="acme: wrong of offer 'wrong' is no Communicator"):
        join_ranks(context(2, "wrong"))


def test_all_ranks_go_on_with_what_the_first_one_sampled():
    names = ["sampled", "inside-a-prompt", "failed-here", "failed-in-sampling", "failed-everywhere"]
    scheduled = [ScheduledRequest(request_id=name, num_tokens=1, num_computed_tokens=0) for name in names]
    first, second = Batch(names), Batch(names)
    first["failed-here"].error = "not finite"
    first["failed-everywhere"].error = second["failed-everywhere"].error = "the plan is wrong"
    outcomes = {
        "sampled": Outcome(request_id="sampled", token=7),
        "failed-here": Outcome(request_id="failed-here", token=3),
        "failed-in-sampling": Outcome(request_id="failed-in-sampling", error="no token is allowed"),
    }
    for rank, (batch, known) in enumerate(((first, outcomes), (second, {}))):
        ranks = TensorParallel(rank=rank, size=2, communicator=Line(SimpleNamespace(plugin=""), rank, 2, ""))
        tell_ranks(ranks, "cpu", scheduled, batch, known)
    assert (first.appended, second.appended) == ([], [("sampled", 7)])
    errors = {name: held.error for name, held in second.items()}
    assert errors == {
        "sampled": None,
        "inside-a-prompt": None,
        "failed-here": "it failed on rank 0",
        "failed-in-sampling": "it failed on rank 0",
        "failed-everywhere": "the plan is wrong",
    }


def test_a_step_without_requests_needs_no_word():
    ranks = TensorParallel(rank=0, size=2, communicator=Line(SimpleNamespace(plugin=""), 0, 2, ""))
    before = len(Line.said)
    tell_ranks(ranks, "cpu", [], Batch([]), {})
    assert len(Line.said) == before
