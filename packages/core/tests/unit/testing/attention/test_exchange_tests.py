from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.testing.attention.exchange_tests import _clear_behind, _export, _import, _stored, _stretches
from kernelet.testing.attention.kept import FORMS, SlowKept, changes_of, kept
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.attention.steps import PagedRequests
from kernelet.testing.offered import Offered
from kernelet.testing.verdict import ConformanceError


def requests(layers, attention=SlowKept, form=""):
    offered = Offered(offer=layers.offer, settings=Settings(plugin="x"), target=attention)
    return PagedRequests(offered, layers.spec(num_kv_heads=2, **changes_of(form)), "cpu")


@pytest.mark.parametrize("form", ["", *FORMS])
def test_what_is_stored_is_what_attention_computes_with(layers, form):
    mine = requests(layers, form=form)
    mine.step({"a": 7})
    parts = _stored(mine, "a", 2, 6)
    for index, given in enumerate((mine.keys["a"], mine.values["a"])):
        number = parts[index].double()
        if form == "e4m3fn:tensor":
            number = number * torch.tensor(mine.scales[index], dtype=torch.float32).double()
        elif form:
            number = number * parts[2 + index].double()
        assert torch.equal(number, kept(given[2:6], mine.spec, mine.scales[index]))
    for part, wanted in zip(_export(mine, "a", 2, 6), parts, strict=True):
        assert torch.equal(part.view(torch.uint8), wanted.contiguous().view(torch.uint8))


def test_a_stretch_goes_where_its_positions_say(layers):
    mine = requests(layers)
    mine.step({"a": 9})
    size, table = mine.spec.block_size, mine.tables["a"]
    _import(mine, "a", 3, [torch.full_like(part, 7.0) for part in _export(mine, "a", 3, 6)])
    is_seven = (mine.cache == 7.0).all(-1).all(-1).nonzero().tolist()
    assert sorted(is_seven) == sorted([part, table[p // size], p % size] for part in (0, 1) for p in (3, 4, 5))
    _clear_behind(mine, "a", 9)
    assert not mine.cache[:, table[2], 1:].any()
    assert mine.cache[:, table[2], 0].all()


def test_stretches_begin_and_end_anywhere():
    cuts = {(start % 4 == 0, end % 4 == 0, start // 4 == (end - 1) // 4) for start, end in _stretches(14, 4)}
    assert {(True, True, True), (False, False, False), (False, False, True)} <= cuts


def test_who_has_no_pages_is_told_how_to_say_so(layers):
    class Without(SlowAttention):
        def export_pages(self, cache, block_ids, start, end):
            raise NotImplementedError

    mine = requests(layers, Without)
    mine.step({"a": 1})
    with pytest.raises(ConformanceError, match=r"export_pages\(\) is missing.*exchanges_pages=False"):
        _export(mine, "a", 0, 1)
