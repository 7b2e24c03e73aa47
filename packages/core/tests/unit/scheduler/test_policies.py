from __future__ import annotations

from dataclasses import dataclass

from kernelet.contracts.offer import Settings
from kernelet.scheduler.policies import FCFSPolicy, PriorityPolicy


@dataclass
class Ranked:
    priority: int
    arrival_time: float
    arrival_index: int
    request_id: str = ""
    num_tokens: int = 1


ONE, TWO, THREE = Ranked(5, 1.0, 2), Ranked(-1, 2.0, 3), Ranked(5, 1.0, 1)


def order(policy):
    made = policy(Settings(plugin="core"))
    return sorted([ONE, TWO, THREE], key=lambda ranked: tuple(made.key(ranked)))


def test_first_come_first_served():
    assert order(FCFSPolicy) == [THREE, ONE, TWO]


def test_priority_then_arrival():
    assert order(PriorityPolicy) == [TWO, THREE, ONE]
