from __future__ import annotations

import hypothesis.strategies as st
import msgspec
import pytest
import torch
from hypothesis import given

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.errors import UnsupportedModelError
from kernelet.layers.canonical import a_row, are_apart, blocks, form, in_rows, levels, share, stack
from kernelet.testing.weight_kernel import dequantize, make_weights


def level(*block, dtype="float32"):
    return ScaleLevel(dtype, block)


SCHEMES = {
    "a scale a row": WeightScheme(element="int8", scales=(level(1, 0),)),
    "groups": WeightScheme(element="uint4", scales=(level(1, 4, dtype="float16"),), zero_point="int"),
    "tiles": WeightScheme(element="e4m3fn", scales=(level(3, 4),)),
    "whole": WeightScheme(element="int8", scales=(level(0, 0),), zero_point="float"),
    "two levels": WeightScheme(
        element="uint4", scales=(level(1, 2, dtype="uint8"), level(1, 4, dtype="float16")), zero_point="offset"
    ),
    "permuted": WeightScheme(element="int4", scales=(level(1, 4),), permuted=True),
}


def weights(scheme, shape, seed=0):
    return make_weights(scheme, shape, torch.float32, seed)


@pytest.mark.parametrize("name", SCHEMES)
def test_the_form_is_that_of_the_kit(name):
    made = weights(SCHEMES[name], (7, 10))
    assert form(SCHEMES[name], (7, 10)) == {key: tuple(tensor.shape) for key, tensor in made.items()}
    assert set(levels(SCHEMES[name])) == set(made) - {"weight", "permutation"}


def test_blocks_of_a_whole_axis():
    assert blocks((7, 10), (0, 4)) == (1, 3)


@given(data=st.data())
@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "tiles"])
def test_any_rows_stand_for_what_they_stood_for(name, data):
    scheme = SCHEMES[name]
    made = weights(scheme, (7, 10), data.draw(st.integers(0, 9)))
    rows = torch.tensor(data.draw(st.lists(st.integers(0, 6), min_size=1, max_size=9)))
    cut = share("m", scheme, made, rows)
    assert torch.equal(dequantize(cut, scheme), dequantize(made, scheme)[rows])


@given(data=st.data())
def test_blocks_of_rows_move_as_they_are(data):
    scheme, size = SCHEMES["tiles"], data.draw(st.integers(7, 12))
    made = weights(scheme, (size, 10), data.draw(st.integers(0, 9)))
    order = data.draw(st.permutations(range(size // 3)))
    rows = torch.tensor([3 * block + row for block in order for row in range(3)])
    if data.draw(st.booleans()):
        rows = torch.cat([rows, torch.arange(size // 3 * 3, size)])
    rows = rows[: data.draw(st.integers(1, len(rows)))]
    cut = share("m", scheme, made, rows)
    assert torch.equal(dequantize(cut, scheme), dequantize(made, scheme)[rows])


@pytest.mark.parametrize("rows", [[1, 2, 3], [0, 1, 2, 4, 3, 5], [0, 2, 1], [6, 0, 1, 2], [0, 1, 3, 4], [2]])
def test_blocks_of_rows_are_not_cut(rows):
    made = weights(SCHEMES["tiles"], (7, 10))
    with pytest.raises(UnsupportedModelError, match=r"^a\.b: its outputs are .* cut groups of 3$"):
        share("a.b", SCHEMES["tiles"], made, torch.tensor(rows))


@pytest.mark.parametrize("columns", [slice(0, 4), slice(4, 8), slice(4, 10), slice(8, 10), slice(0, 10)], ids=str)
@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "permuted"])
def test_inputs_are_cut_where_groups_end(name, columns):
    scheme, made = SCHEMES[name], weights(SCHEMES[name], (6, 10))
    cut = share("m", scheme, made, torch.arange(3, 6), columns)
    assert torch.equal(dequantize(cut, scheme), dequantize(made, scheme)[3:, columns])
    assert all(tensor.is_contiguous() for tensor in cut.values())


@pytest.mark.parametrize("columns", [slice(0, 5), slice(5, 10), slice(4, 9)], ids=str)
def test_groups_of_inputs_are_not_cut(columns):
    with pytest.raises(UnsupportedModelError, match=rf"a\.b: inputs {columns.start} to .* group of 4 that share"):
        share("a.b", SCHEMES["groups"], weights(SCHEMES["groups"], (6, 10)), None, columns)
    rows = SCHEMES["a scale a row"]
    assert share("a.b", rows, weights(rows, (6, 10)), None, columns)["scales"].shape == (6, 1)


def test_permuted_inputs_are_not_shared():
    with pytest.raises(UnsupportedModelError, match=r"a\.b: its inputs are permuted .* one rank"):
        share("a.b", SCHEMES["permuted"], weights(SCHEMES["permuted"], (6, 10)), None, slice(0, 4))


@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "permuted"])
def test_stacked_weights_stand_for_each(name):
    scheme = SCHEMES[name]
    made = [weights(scheme, (rows, 10), rows) for rows in (3, 6, 2)]
    whole = stack(scheme, made)
    expected = torch.cat([dequantize(one, scheme) for one in made])
    assert not are_apart(made)
    assert torch.equal(dequantize(whole, a_row(scheme)), expected)
    assert stack(scheme, made[:1]) == made[0]


@pytest.mark.parametrize("name", SCHEMES)
def test_scales_of_a_row(name):
    scheme = SCHEMES[name]
    made = weights(scheme, (6, 10))
    rows = in_rows(scheme, made)
    assert {key: tuple(tensor.shape) for key, tensor in rows.items()} == form(a_row(scheme), (6, 10))
    assert torch.equal(dequantize(rows, a_row(scheme)), dequantize(made, scheme))


def test_an_order_of_the_input_is_shared():
    scheme = SCHEMES["permuted"]
    first, second = weights(scheme, (3, 10), 1), weights(scheme, (2, 10), 2)
    same = second | {"permutation": first["permutation"]}
    whole = stack(scheme, [first, same])
    assert torch.equal(dequantize(whole, scheme), torch.cat([dequantize(one, scheme) for one in (first, same)]))
    assert not are_apart([first, same])
    assert are_apart([first, same, second | {"permutation": first["permutation"].flip(0)}])


def test_scales_of_inputs_are_shared():
    static = msgspec.structs.replace(SCHEMES["a scale a row"], activation="static", activation_element="int8")
    pieces = [weights(SCHEMES["a scale a row"], (2, 5)) | {"input_scale": torch.tensor(scale)} for scale in (0.5, 0.25)]
    assert stack(static, [pieces[0]] * 2)["input_scale"] == 0.5
    assert are_apart(pieces)
    assert not are_apart(pieces[:1])
