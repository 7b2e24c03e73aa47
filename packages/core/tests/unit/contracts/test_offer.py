from __future__ import annotations

import dataclasses
import inspect

import pytest

from kernelet.contracts import attention, cache, executor, model, op, platform, quant, sampling, stats
from kernelet.contracts.offer import NO_OPTIONS, Offer, Option, Settings

OFFERS = sorted(
    {
        cls
        for module in (attention, cache, executor, model, op, platform, quant, sampling, stats)
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, Offer) and cls is not Offer
    },
    key=lambda cls: cls.__name__,
)


@pytest.mark.parametrize("cls", OFFERS, ids=lambda cls: cls.__name__)
def test_offers_are_frozen_keyword_only_data(cls):
    assert cls.__dataclass_params__.frozen
    assert all(field.kw_only for field in dataclasses.fields(cls))
    assert "target" in cls.__doc__.lower() or "``target``" in cls.__doc__


def test_equal_fields_make_equal_offers():
    one = Offer(name="a", target="m:A", requires=("kv:b",))
    assert one == Offer(name="a", target="m:A", requires=("kv:b",))
    assert one != dataclasses.replace(one, priority=1)
    assert {one: 1}[dataclasses.replace(one)] == 1


def test_defaults():
    offer = Offer(name="a", target="m:A")
    assert (offer.api, offer.priority, offer.requires, offer.conflicts, offer.summary) == ("1.0", 0, (), (), "")
    assert offer.self_check == ""


def test_an_offer_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Offer(name="a", target="m:A").name = "b"


def test_settings_are_read_by_key():
    settings = Settings(plugin="p", values={"threads": 2})
    assert settings["threads"] == 2
    with pytest.raises(KeyError):
        settings["other"]


def test_options():
    option = Option(type=int)
    assert (option.default, option.choices) == (None, ())
    assert not NO_OPTIONS
    with pytest.raises(TypeError):
        NO_OPTIONS["x"] = option
