from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import LogitsRow
from kernelet.errors import ParameterError
from kernelet.testing.logits_processor.reference import CountPenalty


def test_it_counts():
    processor = CountPenalty(Settings(plugin="p"), 4)
    assert processor.add_request("a", {"strength": 2.0}, [0])
    assert not processor.add_request("b", {}, [0])
    logits = torch.zeros(2, 4)
    logits[1, 3] = -torch.inf
    row = LogitsRow(index=1, request_id="a", prompt_token_ids=[0], output_token_ids=[1, 2, 1, 3])
    assert processor.apply(logits, [row]).tolist() == [[0, 0, 0, 0], [0, -4, -2, -torch.inf]]


def test_its_arguments():
    CountPenalty.validate_params({"strength": 3})
    for wrong in ({"strength": True}, {"strength": -1}, {"strength": None}, {"strengh": 1}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            CountPenalty.validate_params(wrong)
