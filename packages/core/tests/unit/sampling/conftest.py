from __future__ import annotations

import pytest
import torch

from kernelet.contracts.sampling import SamplerParams
from kernelet.sampling.sampler import Sampler

CPU = torch.device("cpu")


@pytest.fixture
def sampler():
    """Makes a sampler that holds the given requests: ``{id: (params, prompt, generated)}``."""

    def make(vocab_size, requests, processors=()):
        made = Sampler(vocab_size, CPU, processors)
        for name, (values, prompt, generated) in requests.items():
            made.add(name, SamplerParams(**{"seed": 7, **values}), prompt, generated)
        return made

    return make
