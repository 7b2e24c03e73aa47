from __future__ import annotations

import pytest

from kernelet.config import ParallelConfig, PluginsConfig
from kernelet.contracts.executor import ExecutorOffer
from kernelet.engine.executors import select_executor
from kernelet.errors import SelectionError
from kernelet.hookspecs import hookimpl
from kernelet.kernel import Kernel


class Two:
    """Executors that outrank the core's for up to two ranks."""

    name = "executor-two"

    def __init__(self, *offers):
        self.made = offers

    @hookimpl
    def kernelet_executors(self):
        return self.made


def chosen(size, *offers, name=None):
    kernel = Kernel.boot(PluginsConfig(allow=()), plugins=[Two(*offers)] if offers else [])
    return select_executor(kernel, ParallelConfig(tensor_parallel_size=size, executor=name)).offer.name


def offer(name, **fields):
    return ExecutorOffer(name=name, target="m:E", **fields)


def test_one_rank_needs_no_process_and_several_do():
    assert [chosen(size) for size in (1, 2, 8)] == ["in-process", "multiprocess", "multiprocess"]


def test_who_cannot_launch_so_many_is_passed_over():
    pair = offer("pair", max_ranks=2, priority=5)
    assert [chosen(size, pair) for size in (1, 2, 3)] == ["pair", "pair", "multiprocess"]


def test_a_name_wins():
    assert chosen(1, name="multiprocess") == "multiprocess"
    assert chosen(4, name="in-process") == "in-process"  # it says itself that it cannot
    with pytest.raises(SelectionError, match="No executor is named 'x'"):
        chosen(2, name="x")


def test_equals_are_not_chosen_between():
    with pytest.raises(SelectionError, match="--distributed-executor-backend"):
        chosen(3, offer("a", priority=7), offer("b", priority=7))
