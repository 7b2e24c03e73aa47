"""Elements and scales against the definition of the kit, which is written out."""

from __future__ import annotations

import pytest
import torch

from kernelet.testing.attention.kept import FORMS as KIT_FORMS
from kernelet.testing.attention.kept import changes_of, kept
from kernelet.testing.attention.steps import cache_spec_of
from kernelet_platform_cpu.attention.forms import FORMS, KEPT, to_int8
from kernelet_platform_cpu.plugin import CACHE_DTYPES


def test_all_forms_are_offered():
    assert ("", *CACHE_DTYPES) == FORMS
    assert set(CACHE_DTYPES) == set(KIT_FORMS)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("form", CACHE_DTYPES)
def test_what_is_written_comes_back_as_the_definition_says(spec, form, dtype):
    layer = spec(dtype=str(dtype).removeprefix("torch."), num_kv_heads=2, head_size=8, **changes_of(form))
    made = KEPT[form](layer, torch.promote_types(dtype, torch.float32))
    made.scales = (0.3, 0.011)
    cache = made.allocate(cache_spec_of(layer), 3)
    both = torch.randn(4, 4, 8, generator=torch.Generator().manual_seed(1)).mul(3).to(dtype)
    both[1, 2, 3] = torch.nan
    both[2, 1] = 0
    both[3, 0, 0] = 1e4
    rows = (torch.arange(4)[None] * 4 + torch.arange(4)[:, None] + 2 * 4 * 4).flatten()  # of block 2
    made.write(cache, rows, both)
    pages = torch.tensor([8, 9, 10, 11])  # its four pages: keys of each head, then values
    found = made.read(cache, pages).transpose(0, 1)
    assert found.dtype == made.wide
    for part, scale in ((slice(0, 2), 0.3), (slice(2, 4), 0.011)):
        wanted = kept(both[:, part], layer, scale)
        torch.testing.assert_close(found[:, part].double(), wanted, rtol=1e-6, atol=0, equal_nan=True)
    made.clear(cache, torch.tensor([2]))
    assert not made.read(cache, pages).any()


def test_rows_without_a_scale():
    rows = torch.tensor([[1.0, torch.inf], [1.0, torch.nan], [0.0, 0.0], [1e-45, 0.0], [254.0, -2.0]])
    elements, scales = to_int8(rows)
    assert elements.tolist() == [[0, 0], [0, 0], [0, 0], [0, 0], [127, -1]]
    assert scales.isnan().tolist() == [True, True, False, False, False]
    assert scales[2:].tolist() == [0.0, 0.0, 2.0]
