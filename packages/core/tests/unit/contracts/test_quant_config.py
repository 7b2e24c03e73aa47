from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.quant_config import ConfigFields, read_struct
from kernelet.errors import UnsupportedModelError


class Said(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    bits: int = 4


def fields(where="", **said):
    return ConfigFields(said, "Kit", no_matter=("made_by",), where=where)


def test_a_struct():
    assert read_struct({"bits": 8}, Said, "Kit") == Said(bits=8)
    assert read_struct(None, Said, "Kit") == Said()


@pytest.mark.parametrize("said, match", [({"new": 1}, "of Kit: .*`new`"), ({"bits": "8"}, r"of Kit: .*\$\.bits")])
def test_a_struct_that_does_not_fit(said, match):
    with pytest.raises(UnsupportedModelError, match=match):
        read_struct(said, Said, "Kit")


def test_a_field_has_several_names():
    assert fields(w_bit=4).take("bits", "w_bit") == 4
    assert fields(format="GEMM", version="gemm").take("version", "format") in {"GEMM", "gemm"}
    assert fields(bits=None, w_bit=8).take("bits", "w_bit") == 8
    assert fields(bits=None).take("bits") is None
    with pytest.raises(UnsupportedModelError, match=r"'bits': 4, 'w_bit': 8.* differ"):
        fields(bits=4, w_bit=8).take("bits", "w_bit")
    with pytest.raises(UnsupportedModelError, match="differ"):
        fields(bits=1, w_bit=True).take("bits", "w_bit")


@pytest.mark.parametrize("value, found", [("GEMV", "gemv"), ("gemm", "gemm"), (None, None)])
def test_a_choice(value, found):
    assert fields(version=value).choice("version", allowed=("gemm", "gemv")) == found


@pytest.mark.parametrize(
    "value, allowed, says",
    [
        (True, (1,), "a.x is True; Kit is read with 1"),
        (4.0, (2, 4), "a.x is 4.0; Kit is read with 2, 4"),
        ("no", (), "a.x is 'no'; Kit is read with no x"),
        ({"b": 1}, ({},), "a.x is {'b': 1}; Kit is read with {}"),
    ],
)
def test_no_choice(value, allowed, says):
    with pytest.raises(UnsupportedModelError) as error:
        fields("a.", y=value).choice("x", "y", allowed=allowed)
    assert says in str(error.value)


def test_flags():
    assert [fields(a=value).flag("a", default=True) for value in (True, False, None)] == [True, False, True]
    for wrong in (0, "yes"):
        with pytest.raises(UnsupportedModelError, match=f"a is {wrong!r}"):
            fields(a=wrong).flag("a", default=True)


@pytest.mark.parametrize("size", [-1, 1, 128, None])
def test_sizes_of_groups(size):
    assert fields(group_size=size).group_size("group_size") == size


@pytest.mark.parametrize("size", [0, -2, "128", 64.0, True])
def test_what_is_no_size_of_a_group(size):
    with pytest.raises(UnsupportedModelError, match="group_size is"):
        fields(q_group_size=size).group_size("group_size", "q_group_size")


def test_what_is_left_is_refused():
    left = fields("rule.", made_by="x", bits=4, sym=None)
    assert left.take("bits") == 4
    left.done()
    with pytest.raises(UnsupportedModelError, match=r"rule\.a, rule\.b is not known for Kit"):
        fields("rule.", b=1, a=2).done()
