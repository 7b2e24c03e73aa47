from __future__ import annotations

import torch

from kernelet.testing.op.graph import OpGraph, record


def test_a_replay_computes_with_what_tensors_hold_by_then():
    given, result = torch.ones(3), torch.zeros(3)

    def work():
        halves = given.view(3, 1) * 2
        result.copy_(halves.sum(1) + halves[0])

    with torch.inference_mode():
        replay = record(work)
    assert result.tolist() == [4.0, 4.0, 4.0]
    given[:] = torch.tensor([1.0, 2.0, 3.0])
    replay()
    assert result.tolist() == [4.0, 6.0, 8.0]


def test_what_the_host_decided_stays_decided():
    given, result = torch.ones(1), torch.zeros(1)
    replay = record(lambda: result.fill_(given.item()))
    given[0] = 5.0
    replay()
    assert result.item() == 1.0


def test_operations_have_names():
    values = torch.zeros(2)
    with OpGraph() as graph:
        values.add_(1).mul_(3)
    assert graph.ops == ["aten.add_.Tensor", "aten.mul_.Tensor"]
