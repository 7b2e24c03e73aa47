from __future__ import annotations

import subprocess
import sys
from multiprocessing import Pipe

import pytest
import rank_plugin

from kernelet.contracts.executor import SamplePlan
from kernelet.executor.multiprocess import process
from kernelet.executor.multiprocess.executor import MultiprocessExecutor
from kernelet.executor.multiprocess.messages import Describe, Load, Sample, Stop, encode
from kernelet.executor.multiprocess.process import Rank, main
from kernelet.testing.null.harness import null_engine_config


@pytest.fixture
def start(monkeypatch):
    """What rank 0 of 2 is told first."""
    monkeypatch.setattr(process, "set_up", lambda start: None)
    kernel = rank_plugin.make_kernel()
    import dataclasses

    config = null_engine_config()
    plugins = dataclasses.replace(config.plugins, allow=(), platform="ranks")
    config = dataclasses.replace(
        config, plugins=plugins, parallel=dataclasses.replace(config.parallel, tensor_parallel_size=2)
    )
    return MultiprocessExecutor(config, kernel.select_platform(), kernel)._starts()[1], kernel


def test_a_rank_answers_what_it_is_asked(start):
    first, kernel = start
    ours, theirs = Pipe()
    ours.send_bytes(encode(first))
    rank = Rank(theirs)
    answers = process.msgspec.msgpack.Decoder(process.Answer)

    def answer():
        return answers.decode(ours.recv_bytes())

    assert answer().digest == kernel.manifest.digest
    for command in (Load(), Describe()):
        ours.send_bytes(encode(command))
    ours.send_bytes(encode(Stop()))
    rank.serve()
    assert answer().able
    needs = answer()
    assert needs.available_bytes > 0
    context = rank._worker._context
    assert (context.rank, context.local_rank, context.world_size, context.local_size) == (1, 1, 2, 2)
    assert context.address == first.address


def test_only_the_first_rank_tells_results(start):
    first, _ = start
    ours, theirs = Pipe()
    ours.send_bytes(encode(first))
    rank = Rank(theirs)
    result = process.StepResult(step=3, requests=(process_result(),), extensions={"a": [b"x"]})
    assert rank._own(result) == process.StepResult(step=3, extensions={"a": [b"x"]})
    rank._rank = 0
    assert rank._own(result) is result


def process_result():
    from kernelet.contracts.executor import SampledRequest

    return SampledRequest(request_id="r", token_ids=[1])


def test_a_parent_that_hangs_up_is_no_error(start, monkeypatch):
    ours, theirs = Pipe()
    monkeypatch.setattr(process, "Connection", lambda _: theirs)
    monkeypatch.setattr(process.child_process, "end_with_parent", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["process", "0", "0"])
    ours.close()
    assert main() == 1


def test_a_rank_fails_with_its_trace(start, monkeypatch):
    ours, theirs = Pipe()
    monkeypatch.setattr(process, "Connection", lambda _: theirs)
    monkeypatch.setattr(process.child_process, "end_with_parent", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["process", "0", "0"])
    ours.send_bytes(encode(start[0]))
    ours.send_bytes(encode(Sample(SamplePlan(step=4))))
    assert main() == 1
    ours.recv_bytes()
    failure = process.msgspec.msgpack.decode(ours.recv_bytes(), type=process.Answer).failure
    assert "step 4 is not the oldest in flight" in failure.message
    assert failure.trace.startswith("Traceback")


def test_the_log_names_the_rank_and_a_terminal_interrupts_nothing(start):
    script = (
        "import logging, os, signal\n"
        "from types import SimpleNamespace\n"
        "from kernelet.executor.multiprocess.process import set_up\n"
        "set_up(SimpleNamespace(rank=3, log_level=logging.INFO))\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "logging.getLogger('kernelet.worker').info('loaded')\n"
        "logging.getLogger('kernelet.worker').debug('not this')\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stderr == "INFO: rank 3: loaded\n"
