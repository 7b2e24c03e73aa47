from __future__ import annotations

import pytest
from fake_openai import FakeServer


@pytest.fixture(scope="session")
def server():
    with FakeServer() as running:
        yield running
