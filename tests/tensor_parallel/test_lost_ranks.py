"""A worker that dies or is stopped while it computes with others: requests fail with its name, nothing is left."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from rank_models import OPTIONS, workers

from kernelet import LLM, SamplingParams
from kernelet.errors import EngineDeadError


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.long)], ids=lambda number: number.name
)
def test_a_lost_rank_fails_what_runs_and_ends_the_others(narrow, number):
    with LLM(str(narrow), tensor_parallel_size=2, **OPTIONS) as llm:
        pids = workers()
        assert len(pids) == 2
        timer = threading.Thread(target=lose, args=(llm, pids[1], number))
        timer.start()
        params = SamplingParams(max_tokens=150, ignore_eos=True, temperature=0.0, detokenize=False)
        with pytest.raises(
            EngineDeadError, match=rf"the worker of rank \d \(process {pids[1]}\) was .* by {number.name}"
        ):
            generate_for_ever(llm, params)
        timer.join()
        assert workers() == []
        with pytest.raises(EngineDeadError, match=number.name):
            llm.generate([[5]], params, use_tqdm=False)


def generate_for_ever(llm, params):
    while True:
        llm.generate([[5, 6, 7]] * 4, params, use_tqdm=False)


def lose(llm, pid, number):
    """Sends the signal once steps are computed."""
    while not llm.stats().num_decode_tokens:
        time.sleep(0.01)
    os.kill(pid, number)
