from __future__ import annotations

import inspect

from kernelet.contracts.offer import Offer
from kernelet.contracts.plugins import Choice, Owned, PluginView
from kernelet.kernel import Kernel


def test_the_kernel_has_every_method_of_the_view_with_the_same_parameters():
    methods = {name: value for name, value in vars(PluginView).items() if inspect.isfunction(value) and name[0] != "_"}
    assert set(methods) == {
        "offers",
        "settings",
        "load",
        "select",
        "select_attention",
        "select_weight_kernel",
        "select_op",
    }
    for name, method in methods.items():
        mine, theirs = inspect.signature(method), inspect.signature(getattr(Kernel, name))
        assert [(p.name, p.default) for p in mine.parameters.values()] == [
            (p.name, p.default) for p in theirs.parameters.values()
        ]


def test_a_choice_has_its_reasons():
    owned = Owned(offer=Offer(name="a", target="m:A"), plugin="p")
    choice = Choice(chosen=owned, reason="named")
    assert choice.refused == {}
    assert choice == Choice(chosen=Owned(offer=Offer(name="a", target="m:A"), plugin="p"), reason="named")
