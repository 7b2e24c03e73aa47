from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import LogitsProcessor, LogitsRow
from kernelet.sampling.custom import CustomProcessors, NamedProcessor


class Add(LogitsProcessor):
    """Adds its argument; fails for requests that ask for it."""

    def __init__(self):
        super().__init__(Settings(plugin="add"), 4)
        self.amounts, self.removed, self.calls = {}, [], 0

    def add_request(self, request_id, arguments, prompt_token_ids):
        if "amount" not in arguments:
            return False
        self.amounts[request_id] = arguments["amount"]
        return True

    def remove_request(self, request_id):
        self.removed.append(request_id)

    def apply(self, logits, rows):
        self.calls += 1
        for row in rows:
            logits[row.index] += self.amounts[row.request_id]
            if self.amounts[row.request_id] == 666:
                raise RuntimeError("on purpose")
        return logits


class Shrink(Add):
    def apply(self, logits, rows):
        return logits[:, :2]


def rows(*names):
    return [
        LogitsRow(index=index, request_id=name, prompt_token_ids=(), output_token_ids=())
        for index, name in enumerate(names)
    ]


@pytest.fixture
def made():
    processor = Add()
    return processor, CustomProcessors([NamedProcessor("add", processor)])


def test_only_requests_that_take_part(made):
    processor, custom = made
    custom.add("a", {"add": {"amount": 2.0}}, [1])
    custom.add("b", None, [1])
    assert custom.members("a")
    assert not custom.members("b")
    logits, errors = custom.apply(torch.zeros(2, 4), rows("a", "b"))
    assert logits.tolist() == [[2.0] * 4, [0.0] * 4]
    assert not errors
    custom.remove("a")
    custom.remove("b")
    assert processor.removed == ["a"]
    assert not custom.members("a")


def test_a_failure_hurts_its_own_request_only(made):
    processor, custom = made
    for name, amount in (("a", 1.0), ("b", 666), ("c", 3.0)):
        custom.add(name, {"add": {"amount": amount}}, [])
    logits, errors = custom.apply(torch.zeros(3, 4), rows("a", "b", "c"))
    assert logits[0].tolist() == [1.0] * 4
    assert logits[2].tolist() == [3.0] * 4
    assert list(errors) == ["b"]
    assert "on purpose" in errors["b"]
    assert processor.calls == 4


def test_a_wrong_shape_is_a_failure():
    custom = CustomProcessors([NamedProcessor("add", Shrink())])
    custom.add("a", {"add": {"amount": 1}}, [])
    logits, errors = custom.apply(torch.zeros(1, 4), rows("a"))
    assert logits.shape == (1, 4)
    assert "[1, 2]" in errors["a"]
