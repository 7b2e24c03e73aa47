from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import torch

from kernelet.worker.sleeping import tensors_of


class Pair(NamedTuple):
    first: torch.Tensor
    second: object


@dataclass
class Packed:
    panels: torch.Tensor
    more: dict


class Slotted:
    __slots__ = ("inner", "unset")

    def __init__(self, inner):
        self.inner = inner


def test_tensors_are_found_however_deep_each_once():
    a, b, c, d, e, f = (torch.zeros(2) for _ in range(6))
    model = torch.nn.Module()
    model.layer = torch.nn.Linear(2, 2)
    model.register_buffer("table", a)
    model.prepared = Packed(panels=b, more={"x": [c, (a, Pair(d, Slotted(e)))]})
    model.itself = model
    model.text, model.kind, model.call = "text", torch.nn.Linear, len
    found = tensors_of(model, "cpu", without=(hidden := SimpleNamespace(tensor=f),))
    model.hidden = hidden
    wanted = [*model.layer.parameters(), a, b, c, d, e]
    assert sorted(map(id, found)) == sorted(map(id, wanted))
    assert id(f) not in map(id, tensors_of(model, "cpu", without=(hidden,)))
    assert id(f) in map(id, tensors_of(model, "cpu"))


def test_the_base_of_a_view_is_found():
    base = torch.zeros(4)
    found = tensors_of([base[1:3]], "cpu")
    assert len(found) == 2
    assert any(one is base for one in found)


def test_tensors_of_other_devices_are_left_out():
    assert tensors_of([torch.zeros(2, device="meta")], "cpu") == []
    assert len(tensors_of([torch.zeros(2, device="meta")], "meta")) == 1
