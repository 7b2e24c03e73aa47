from __future__ import annotations

import pytest
import torch

from kernelet.errors import WeightsError
from kernelet.layers.linear import MergedLinear, ReplicatedLinear
from kernelet.layers.weights import Finisher, Layer, Shard, Weight, finish, layers_of, weight_bytes, weights_of
from kernelet.testing.tensors import make_context


def two_parts(context, **options):
    parts = {"a": Shard.even(context, 4, "a"), "b": Shard.even(context, 8, "b")}
    return Weight(context, "w", parts, Shard.whole(3), **options)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("together", [True, False])
def test_parts_are_sliced_for_the_rank(rank, together):
    weight = two_parts(make_context(rank=rank, size=2))
    full = torch.arange(36.0).view(12, 3)
    if together:
        weight.write("ab", full)
    else:
        weight.write("b", full[4:], part="b")
        weight.write("a", full[:4], part="a")
    expected = torch.cat((full[2 * rank : 2 * rank + 2], full[4 + 4 * rank : 8 + 4 * rank]))
    assert torch.equal(weight.take(), expected)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_inputs_are_sliced_for_the_rank(rank):
    context = make_context(rank=rank, size=3)
    weight = Weight(context, "w", {"": Shard.whole(2)}, Shard.even(context, 6, "w"))
    full = torch.arange(12.0).view(2, 6)
    weight.write("full", full)
    assert torch.equal(weight.take(), full[:, 2 * rank : 2 * rank + 2])


@pytest.mark.parametrize("stacked", [True, False])
def test_experts_are_written_one_by_one_or_all_at_once(stacked):
    weight = two_parts(make_context(rank=1, size=2), experts=2)
    full = torch.arange(72.0).view(2, 12, 3)
    if stacked:
        weight.write("all", full)
    else:
        for expert in (1, 0):
            weight.write(f"a{expert}", full[expert, :4], "a", expert)
            weight.write(f"b{expert}", full[expert, 4:], "b", expert)
    assert torch.equal(weight.take(), torch.cat((full[:, 2:4], full[:, 8:]), 1))


def test_values_are_converted_to_the_models_dtype():
    weight = two_parts(make_context(dtype=torch.bfloat16))
    full = torch.randn(12, 3, dtype=torch.float64)
    weight.write("full", full)
    assert torch.equal(weight.take(), full.bfloat16())


def test_writing_twice_names_both():
    weight = two_parts(make_context())
    weight.write("first", torch.zeros(4, 3), part="a")
    with pytest.raises(WeightsError, match=r"second.*w \(a\)"):
        weight.write("second", torch.zeros(12, 3))


def test_wrong_shape_names_both_shapes():
    with pytest.raises(WeightsError, match=r"source has shape \[5, 3\], but w takes \[4, 3\]"):
        two_parts(make_context()).write("source", torch.zeros(5, 3), part="a")


def test_a_packed_dtype_is_refused():
    with pytest.raises(WeightsError, match="int8"):
        two_parts(make_context()).write("source", torch.zeros(12, 3, dtype=torch.int8))


def test_missing_names_each_part_and_expert():
    weight = two_parts(make_context(), experts=2)
    weight.write("a0", torch.zeros(4, 3), "a", 0)
    assert weight.missing() == ["w (a, expert 1)", "w (b, expert 0)", "w (b, expert 1)"]
    with pytest.raises(WeightsError, match=r"w \(a, expert 1\)"):
        weight.take()


def test_a_weight_is_given_away_once():
    weight = two_parts(make_context())
    weight.write("full", torch.zeros(12, 3))
    weight.take()
    with pytest.raises(WeightsError, match="w"):
        weight.take()


def test_layers_need_a_name():
    with pytest.raises(ValueError, match="ReplicatedLinear needs its global name"):
        ReplicatedLinear(make_context(), "", 2, 2)


def test_layers_and_bytes_of_a_model():
    context = make_context(dtype=torch.bfloat16)
    first = ReplicatedLinear(context, "first", 4, 6, bias=True)
    second = MergedLinear(context, "second", 4, {"a": 2, "b": 2})
    model = torch.nn.ModuleList([first, torch.nn.Sequential(second), first])
    assert layers_of(model) == [first, second]
    assert list(weights_of(layers_of(model))) == ["first.weight", "first.bias", "second.weight"]
    assert weight_bytes(model) == 2 * (24 + 6 + 16)
    model.append(torch.nn.Linear(3, 5, bias=False))
    assert weight_bytes(model) == 2 * (24 + 6 + 16) + 4 * 15


def test_two_weights_of_one_name_are_refused():
    context = make_context()
    pair = [ReplicatedLinear(context, "same", 2, 2), ReplicatedLinear(context, "same", 2, 2)]
    with pytest.raises(ValueError, match="same"):
        weights_of(pair)


def test_a_layer_has_no_weights_by_default():
    assert list(Layer("x").weights()) == []


def test_finish_names_what_nobody_wrote_and_prepares_the_rest():
    context = make_context()
    model = torch.nn.ModuleList([MergedLinear(context, "merged", 2, {"gate": 3, "up": 3})])
    model[0].weight.write("gate", torch.ones(3, 2), "gate")
    with pytest.raises(WeightsError, match=r"fills merged\.weight \(up\)$"):
        finish(model)
    model[0].weight.write("up", torch.zeros(3, 2), "up")
    finish(model)
    assert model[0].forward(torch.ones(1, 2)).tolist() == [[2.0, 2.0, 2.0, 0.0, 0.0, 0.0]]


def test_finish_lists_a_few_names_only():
    context = make_context()
    model = torch.nn.ModuleList(ReplicatedLinear(context, f"x{i}", 2, 2) for i in range(11))
    with pytest.raises(WeightsError, match=r"x7\.weight and 3 more"):
        finish(model)


def test_a_tensor_that_is_all_of_a_weight_is_not_copied():
    whole = torch.arange(36.0).view(12, 3)
    weight = two_parts(make_context())
    weight.write("whole", whole)
    assert weight.take().data_ptr() == whole.data_ptr()
    shared = Weight(make_context(rank=1, size=2), "w", {"": Shard(12, 6, 6)}, Shard.whole(3))
    shared.write("whole", whole)
    assert shared.take().data_ptr() == whole[6:].data_ptr()


@pytest.mark.parametrize("value", [torch.ones(12, 3).double(), torch.ones(3, 12).T, torch.ones(1).expand(12, 3)])
def test_a_tensor_of_another_form_is_copied(value):
    weight = two_parts(make_context())
    weight.write("whole", value)
    taken = weight.take()
    assert taken.dtype == torch.float32
    assert taken.is_contiguous()
    assert (taken == 1).all()


def test_a_weight_takes_no_memory_before_it_is_written():
    weight = two_parts(make_context(dtype=torch.bfloat16), experts=2)
    assert weight.tensor is None
    assert weight.shape == (2, 12, 3)
    assert weight.nbytes == 144


def test_a_layer_is_finished_as_soon_as_its_last_weight_is_written():
    context = make_context()
    first, second = (ReplicatedLinear(context, name, 2, 3, bias=True) for name in ("first", "second"))
    finisher = Finisher(torch.nn.ModuleList([first, second]))
    first.weight.write("x", torch.ones(3, 2))
    finisher.wrote(first.weight)
    assert first.prepared is None
    first.bias_weight.write("x", torch.ones(3))
    finisher.wrote(first.bias_weight)
    assert first.forward(torch.ones(1, 2)).tolist() == [[3.0, 3.0, 3.0]]
    assert second.prepared is None
    finisher.wrote(object())
    with pytest.raises(WeightsError, match=r"fills second\.weight, second\.bias$"):
        finisher.close()
    for weight in second.weights():
        weight.write("x", torch.zeros(weight.shape))
    finisher.close()
    assert second.forward(torch.ones(1, 2)).tolist() == [[0.0, 0.0, 0.0]]
