from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import pytest

from kernelet.errors import PluginError
from kernelet.kernel.doctor.interfaces import DoubtError, check_class, check_model, opens_itself


class Interface(ABC):
    def __init__(self, settings, rank=0):
        pass

    @abstractmethod
    def compute(self, x, axis=-1):
        pass

    @classmethod
    def open(cls, folder, *, mode="r"):
        pass

    def close(self):
        pass

    def varies(self, *args, **kwargs):
        pass

    def _private(self, x):
        pass


def made(**members):
    return type("Made", (Interface,), {"compute": lambda self, x, axis=-1: x, **members})


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"compute": lambda self, y, dim=0, more=None: y},
        {"compute": lambda self, *args, **kwargs: 0},
        {"open": classmethod(lambda cls, folder, mode="r": 0)},
        {"__init__": lambda self, settings, rank, extra=1: None},
        {"varies": lambda self, only: None},
        {"_private": lambda self: None},
    ],
)
def test_what_can_be_called_as_the_contract_does(members):
    if "__init__" in members:
        members["__init__"].__defaults__ = (0, 1)
    check_class(made(**members), Interface)


@pytest.mark.parametrize(
    "members, message",
    [
        ({"compute": Interface.compute}, r"Made does not implement compute of Interface"),
        ({"compute": lambda self, x: x}, r"Made\.compute cannot be called as the contract does, with \(x, axis\)"),
        ({"compute": lambda self, x, axis: x}, r"Made\.compute cannot be called .*with \(x\): missing"),
        ({"compute": lambda self, x, axis, third: x}, "third"),
        ({"open": classmethod(lambda cls, folder: 0)}, r"open cannot be called .*with \(folder, mode\)"),
        ({"close": lambda self, now: None}, r"close cannot be called .*with \(\)"),
        ({"__init__": lambda self: None}, r"__init__ cannot be called .*with \(settings, rank\)"),
    ],
)
def test_what_cannot(members, message):
    with pytest.raises(PluginError, match=message):
        check_class(made(**members), Interface)


def test_an_older_majors_constructor_is_not_compared():
    check_class(made(__init__=lambda self: None), Interface, constructor=False)


def test_who_opens_itself():
    own = classmethod(lambda cls, folder, *, mode="r": cls())
    assert opens_itself(made(open=own), Interface)
    assert opens_itself(type("Child", (made(open=own),), {}), Interface)
    assert not opens_itself(made(), Interface)
    assert not opens_itself(made(open=own), Shape)


@pytest.mark.parametrize("target", [int, "text", lambda: None, None])
def test_what_is_no_subclass(target):
    with pytest.raises(PluginError, match=r"is no subclass of .*Interface"):
        check_class(target, Interface)


class Shape(Protocol):
    def forward(self, x): ...
    def load_weights(self, reader): ...


class Whole:
    def forward(self, x): ...
    def load_weights(self, reader): ...


class Half:
    def forward(self, x): ...


def test_a_model():
    check_model(Whole, Shape)
    with pytest.raises(DoubtError, match="Half has no load_weights: only a worker of the platform's own"):
        check_model(Half, Shape)
    with pytest.raises(PluginError, match="is no class"):
        check_model(Whole(), Shape)
