"""Ranks as threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kernelet.contracts.executor import Communicator
from kernelet.contracts.offer import Settings
from kernelet.testing.communicator.ranks import free_address

Run = Callable[[type[Communicator], int, Callable[[Communicator, int], Any]], list[Any]]


@pytest.fixture
def in_ranks() -> Iterator[Run]:
    """Runs a function on every rank of a group, and returns what it gave, by rank."""

    def run(kind: type[Communicator], size: int, function: Callable[[Communicator, int], Any]) -> list[Any]:
        address = free_address()

        def rank(number: int) -> Any:
            communicator = kind(Settings(plugin="platform-cpu"), number, size, address)
            try:
                return function(communicator, number)
            finally:
                communicator.close()

        with ThreadPoolExecutor(size) as threads:
            return list(threads.map(rank, range(size)))

    return run
