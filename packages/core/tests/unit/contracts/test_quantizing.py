from __future__ import annotations

from kernelet.contracts.offer import NO_OPTIONS, Settings
from kernelet.contracts.quant import QuantizerOffer
from kernelet.contracts.quantizing import CalibratedBlock, InputGroup, Quantizer, QuantizerSource


class Nothing(Quantizer):
    def write(self, source, folder, progress): ...


def test_what_a_writer_must_have():
    assert Quantizer.__abstractmethods__ == {"write"}
    settings = Settings(plugin="p", values={"bits": 4})
    assert Nothing(settings).settings is settings


def test_what_a_writer_is_given():
    assert QuantizerSource.__abstractmethods__ == {"excluded", "tensor", "blocks", "save"}
    assert CalibratedBlock.__abstractmethods__ == {"inputs", "weight", "replace", "scale"}


def test_most_writers_are_not_calibrated():
    offer = QuantizerOffer(name="a", target="m:A")
    assert (offer.calibrated, offer.options) == (False, NO_OPTIONS)


def test_groups_are_compared_by_what_they_hold():
    assert InputGroup(modules=("a", "b"), before="n") == InputGroup(modules=("a", "b"), before="n")
    assert InputGroup(modules=("a",)) != InputGroup(modules=("a",), before="n")
