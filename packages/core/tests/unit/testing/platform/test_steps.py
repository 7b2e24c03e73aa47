from __future__ import annotations

from kit import run_suites

from kernelet.testing.null.tokens import generate
from kernelet.testing.platform.base import PlatformBase
from kernelet.testing.platform.faults import null_suite
from kernelet.testing.platform.steps import GREEDY, WorkerRun

SIZES = {"block_size": 4, "num_blocks": 40, "max_model_len": 64}


NULL = null_suite({})


class TestOnTheNullPlatform(PlatformBase):
    """The null worker checks every plan, and its tokens have a truth."""

    offered, plugins, checkpoint = (vars(NULL)[name] for name in ("offered", "plugins", "checkpoint"))

    def test_tokens_are_those_of_a_straight_line(self, configure):
        run = WorkerRun(configure(**SIZES))
        run.add("a", [5, 6, 7, 8, 9])
        run.add("b", [1])
        run.run(a=3)
        run.run(a=0, b=0)
        run.sample(run.execute(b=1, a=1))
        assert run.output("a") == generate([5, 6, 7, 8, 9], GREEDY, 260, 2)
        assert run.output("b") == generate([1], GREEDY, 260, 2)
        plan = run.finish()
        assert plan.finished == ("a", "b")
        assert run.sample(plan).requests == ()
        run.close()

    def test_placeholders_are_filled(self, configure):
        run = WorkerRun(configure(**SIZES))
        run.add("a", [5, 6])
        plans = [run.execute(a=0), run.execute(a=1), run.execute(a=1)]
        assert [plan.scheduled[0].num_computed_tokens for plan in plans] == [0, 2, 3]
        for plan in plans:
            run.sample(plan)
        assert run.output("a") == generate([5, 6], GREEDY, 260, 3)


def test_what_is_no_worker_is_said(tmp_path):
    wrong = null_suite({"worker": "kernelet.testing.communicator.faults:NotACommunicator"})
    listener = run_suites([wrong], tmp_path, "-k", "test_plan")
    assert "NotACommunicator is no Worker" in listener.messages[0][0]
