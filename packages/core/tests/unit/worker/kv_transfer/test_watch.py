from __future__ import annotations

from types import SimpleNamespace

import pytest

from kernelet.worker.kv_transfer.watch import Watch


class Sides:
    """Notes what it is told."""

    def __init__(self, waits=True):
        self.waits, self.saves, self.calls = (self,) * waits, (self,) * waits, []

    def wait_for(self, layers):
        self.calls += [("wait", layer) for layer in layers]

    def save(self, layers):
        self.calls += [("save", layer) for layer in layers]


class Speaks:
    def __init__(self, name):
        self.name, self.watch = name, None

    def compute(self):
        if self.watch is not None:
            self.watch.before(self.name)
        if self.watch is not None:
            self.watch.after(self.name)


class Mute(Speaks):
    """Has the attribute, but an op computes it that does not look at it."""

    def compute(self): ...


@pytest.fixture
def layers():
    return [Speaks("a"), Mute("b"), SimpleNamespace(name="c", compute=lambda: None), Speaks("d")]


def run(layers):
    for layer in layers:
        layer.compute()
    return "states"


def test_layers_call_where_they_do_and_others_are_called_for(layers):
    sides = Sides()
    watch = Watch(sides, layers)
    watch.attach(lambda: run(layers))
    assert sides.calls == []
    assert watch.around(lambda: run(layers)) == "states"
    speaks = [(what, name) for name in "ad" for what in ("wait", "save")]
    assert sides.calls == [("wait", "b"), ("wait", "c"), *speaks, ("save", "b"), ("save", "c")]
    watch.detach()
    assert layers[0].watch is None


def test_nobody_is_asked_where_no_connector_wants_it(layers):
    watch = Watch(Sides(waits=False), layers)
    watch.attach(lambda: pytest.fail("no pass is needed"))
    assert all(getattr(layer, "watch", None) is None for layer in layers)
    assert watch.around(lambda: run(layers)) == "states"


def test_an_op_that_calls_in_some_steps_only_is_an_error(layers):
    watch = Watch(Sides(), layers)
    watch.attach(lambda: run(layers))
    with pytest.raises(RuntimeError, match=r"^d: computed by an op that calls AttentionLayer.watch in some steps only"):
        watch.around(lambda: run(layers[:3]))


def test_a_layer_that_spoke_not_in_the_first_pass_is_not_called_twice(layers):
    sides = Sides()
    watch = Watch(sides, layers)
    watch.attach(lambda: run(layers[1:]))
    watch.around(lambda: run(layers))
    assert sides.calls.count(("wait", "a")) == sides.calls.count(("save", "a")) == 1


def test_a_replayed_pass_is_called_around(layers):
    sides = Sides()
    watch = Watch(sides, layers)
    watch.attach(lambda: run(layers))
    everywhere = [(what, name) for what in ("wait", "save") for name in "abcd"]
    assert watch.around(lambda: "replayed", whole=True) == "replayed"
    assert sides.calls == everywhere
    sides.calls.clear()
    watch.around(lambda: run(layers), whole=True)
    assert sides.calls == everywhere, "layers that are computed again after all say nothing"
    sides.calls.clear()
    with pytest.raises(ZeroDivisionError):
        watch.around(lambda: 1 / 0, whole=True)
    watch.around(lambda: run(layers))
    assert ("save", "d") in sides.calls
