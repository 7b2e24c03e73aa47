from __future__ import annotations

import pytest

from kernelet.testing.null.tokens import generate as straight
from kernelet.testing.null.tokens import straight_line
from kernelet.testing.platform.base import PlatformBase
from kernelet.testing.platform.faults import null_suite
from kernelet.testing.platform.steps import GREEDY
from kernelet.testing.platform.worker_tests import LIMITS, Limits, WorkerTests, alone, engine, generate, in_depth, play
from kernelet.testing.scenarios import Shape, make_arrivals
from kernelet.testing.verdict import ConformanceError

VOCAB = 260


NULL = null_suite({})


class TestOnTheNullPlatform(PlatformBase):
    """The null platform's tokens have a truth, which the helpers must find."""

    offered, plugins, checkpoint = (vars(NULL)[name] for name in ("offered", "plugins", "checkpoint"))
    start, prompts, vocab_size = (vars(WorkerTests)[name] for name in ("start", "prompts", "vocab_size"))

    def test_generate(self, start, prompts):
        found = generate(start(), prompts, steps=3)
        assert found == {f"r{index}": straight(prompt, GREEDY, VOCAB, 3) for index, prompt in enumerate(prompts)}

    def test_alone_and_play(self, configure):
        scenario = make_arrivals(Shape(vocab_size=VOCAB, max_prompt=60, aborts=False), seed=1, count=5, spread=3)
        with engine(configure, Limits("x", seqs=2, chunk=50, pool=2.0, caching=True)) as core:
            truth = {one.request.request_id: alone(core, one.request) for one in scenario}
        assert truth == {one.request.request_id: straight_line(one.request, VOCAB) for one in scenario}
        with engine(configure, LIMITS[1]) as core:
            play(core, scenario, truth)
        truth["r1"] = [*truth["r1"], 0]
        with engine(configure, LIMITS[1]) as core, pytest.raises(ConformanceError, match=r"the same tokens.*r1: "):
            play(core, scenario, truth)

    def test_in_depth(self, configure):
        assert in_depth(configure()).config.scheduler.depth == 2
