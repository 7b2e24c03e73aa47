from __future__ import annotations

import pytest
import torch

from kernelet.testing.communicator.calls import Call, add_up, expected, given, pack, pack_all, perform, script, unpack


class Alone:
    """Three ranks that all gave the same: what a call would do is easy to say."""

    def __init__(self):
        self.sent = []

    def all_reduce(self, tensor):
        return 3 * tensor

    def all_gather(self, tensor, axis=-1):
        return torch.cat([tensor] * 3, axis)

    def reduce_scatter(self, tensor, axis=-1):
        return 3 * tensor.narrow(axis, 0, tensor.shape[axis] // 3)

    def broadcast(self, tensor, source=0):
        return tensor

    def send(self, tensor, destination):
        self.sent.append((tensor, destination))

    def recv(self, tensor, source):
        return tensor.fill_(source)


def test_values_depend_on_rank_and_seed():
    call = Call(op="all_reduce", dtype="bfloat16", shape=(50,), seed=3)
    assert torch.equal(given(call, 1), given(call, 1))
    assert not torch.equal(given(call, 1), given(call, 2))
    assert not torch.equal(given(call, 1), given(Call(op="all_reduce", dtype="bfloat16", shape=(50,), seed=4), 1))
    assert given(call, 0).dtype is torch.bfloat16
    assert given(Call(op="send", dtype="int64"), 0).dtype is torch.int64


def test_sums_depend_on_the_order():
    parts = [given(Call(op="all_reduce", shape=(500,)), rank) for rank in range(3)]
    assert torch.equal(add_up(parts), parts[0] + parts[1] + parts[2])
    assert not torch.equal(add_up(parts), add_up(parts[::-1]))
    assert not torch.equal(add_up(parts), add_up(parts, torch.float64))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_expected_slices_make_up_the_sum(axis):
    call = Call(op="reduce_scatter", shape=(6, 9), axis=axis)
    pieces = [piece for (piece,) in expected(call, 3)]
    assert torch.equal(torch.cat(pieces, axis), expected(Call(op="all_reduce", shape=(6, 9)), 3)[0][0])
    gathered = expected(Call(op="all_gather", shape=(6, 9), axis=axis), 3)
    assert torch.equal(gathered[2][0].narrow(axis, 0, 6 if axis == 0 else 9), given(call, 0))


def test_each_call_reaches_its_method():
    alone, cpu = Alone(), torch.device("cpu")
    tensor = given(Call(op="send"), 1)
    assert torch.equal(perform(alone, 1, cpu, Call(op="all_reduce"))[0], 3 * tensor)
    assert perform(alone, 1, cpu, Call(op="all_gather", axis=0))[0].shape == (12, 6)
    assert perform(alone, 1, cpu, Call(op="reduce_scatter", axis=1))[0].shape == (4, 2)
    assert torch.equal(perform(alone, 1, cpu, Call(op="broadcast"))[0], tensor)
    assert perform(alone, 1, cpu, Call(op="send", source=1, destination=2)) == ()
    assert torch.equal(alone.sent[0][0], tensor)
    assert alone.sent[0][1] == 2
    got, buffer = perform(alone, 1, cpu, Call(op="send", source=2, destination=1))
    assert got is buffer
    assert got.unique().tolist() == [2.0]
    assert perform(alone, 0, cpu, Call(op="send", source=2, destination=1)) == ()
    strided = Call(op="send", source=1, strided=True)
    perform(alone, 1, cpu, strided)
    assert not alone.sent[1][0].is_contiguous()
    assert torch.equal(alone.sent[1][0], given(strided, 1))


def test_a_result_that_changes_later_shows():
    class Reuses(Alone):
        def broadcast(self, tensor, source=0):
            self.kept = tensor
            return tensor

        def all_reduce(self, tensor):
            self.kept.zero_()
            return tensor

    (first, last), _ = script(Reuses(), 0, torch.device("cpu"), [Call(op="broadcast"), Call(op="all_reduce")])
    assert first != last
    assert unpack(first).abs().sum() > 0 == unpack(last).abs().sum()


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.bool])
def test_tensors_survive_packing(shape, dtype):
    tensor = torch.ones(shape, dtype=dtype)
    back = unpack(pack(tensor))
    assert torch.equal(back, tensor)
    assert back.dtype is dtype
    assert pack_all([tensor, None]) == [pack(tensor), ("NoneType", (), "", b"")]
