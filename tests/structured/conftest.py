"""Engines of structured output, one of each a session."""

from __future__ import annotations

import pytest
from structured_engines import NAMES, serve


@pytest.fixture(scope="session")
def served():
    """Every engine by its name, made when it is first asked for."""
    made = {}

    def find(name):
        if name not in made:
            made[name] = serve(name)
        return made[name]

    return find


@pytest.fixture(params=NAMES)
def engine(request, served):
    return served(request.param)
