from __future__ import annotations

import threading

import pytest

from kernelet.worker.steps import StepThread


def test_own_thread_keeps_order_and_does_not_block():
    steps, seen, gate = StepThread(inline=False), [], threading.Event()
    first = steps.submit(gate.wait)
    futures = [steps.submit(lambda i=i: seen.append((i, threading.get_ident()))) for i in range(5)]
    assert not first.done()
    gate.set()
    for future in futures:
        future.result()
    assert [i for i, _ in seen] == list(range(5))
    assert len({ident for _, ident in seen}) == 1
    assert seen[0][1] != threading.get_ident()
    steps.close()


def test_inline_runs_at_once_on_the_caller():
    steps = StepThread(inline=True)
    future = steps.submit(threading.get_ident)
    assert future.done()
    assert future.result() == threading.get_ident()
    steps.close()


@pytest.mark.parametrize("inline", [True, False])
def test_errors_come_with_the_result(inline):
    steps = StepThread(inline=inline)

    def fail():
        raise ValueError("on purpose")

    future = steps.submit(fail)
    with pytest.raises(ValueError, match="on purpose"):
        future.result()
    assert steps.run(lambda: 3) == 3
    steps.close()
