from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelet_device_torch.visible import visible

UUIDS = ("GPU-8932f937-d72c", "GPU-8932aaaa-0000", "GPU-11111111-2222", "GPU-44444444-5555")


@pytest.mark.parametrize(
    "value, seen",
    [
        (None, (0, 1, 2, 3)),
        ("", ()),
        (" ", ()),
        ("2", (2,)),
        ("2,1", (2, 1)),
        (" 2 , 1 ", (2, 1)),
        ("0,2,-1,1", (0, 2)),
        ("0,7,1", (0,)),
        ("-1", ()),
        ("NoDevFiles", ()),
        ("0,1,0", ()),
        ("1gpu2,2ampere", (1, 2)),
        ("GPU-11111111-2222", (2,)),
        ("GPU-1", (2,)),
        ("gpu-44444444", (3,)),
        ("GPU-8932", ()),
        ("GPU-8932f,GPU-8932a", (0, 1)),
        ("GPU-4,GPU-9,GPU-1", (3,)),
        ("GPU-1,GPU-11111111", ()),
        ("0,", (0,)),
        ("MIG-1", ()),
    ],
)
def test_as_the_driver_has_it(value, seen):
    assert visible(value, UUIDS) == seen


def test_no_devices():
    assert visible(None, ()) == visible("0", ()) == ()


ENTRY = st.one_of(st.integers(-2, 5).map(str), st.sampled_from(["", "x", "1x", "+1", "3 "]))


@given(entries=st.lists(ENTRY, max_size=4))
def test_lists_of_positions_are_read_as_torch_reads_them(entries):
    value = ",".join(entries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", value)
        read = torch.cuda._parse_visible_devices()
    named = []
    for position in read:  # torch leaves it to its caller to drop what is not there
        if position >= len(UUIDS):
            break
        named.append(position)
    if read or not entries:
        assert visible(value, UUIDS) == tuple(named)
    else:
        assert visible(value, UUIDS) in {(), visible(entries[0], UUIDS)}
