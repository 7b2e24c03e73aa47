from __future__ import annotations

import pytest
from worker_driver import Driver, make_worker


@pytest.fixture
def make(tmp_path):
    """Makes a driver around a ready worker; closes it at the end."""
    made = []

    def build(**values):
        worker = make_worker(tmp_path, **values)
        made.append(worker)
        return Driver(worker)

    yield build
    for worker in made:
        worker.shutdown()


@pytest.fixture
def driver(make):
    return make()
