"""Tiny models, each made once a session."""

from __future__ import annotations

import pytest
import torch
from decoder_families import MAIN, MORE, Made, make


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A model of a family by name, as transformers saved it, or with a hand-written config.json of transformers 4."""
    cache: dict[tuple[str, bool], Made] = {}

    def get(name: str, v4: bool = False) -> Made:
        if (name, v4) not in cache:
            family = MAIN[name] if name in MAIN else MORE[name]
            cache[name, v4] = make(family, tmp_path_factory.mktemp(name), v4=v4)
        return cache[name, v4]

    return get
