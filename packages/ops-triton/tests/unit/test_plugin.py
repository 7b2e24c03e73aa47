from __future__ import annotations

from kernelet.contracts.op import OpOffer, WeightKernelOffer
from kernelet.layers.ops import OP_NAMES
from kernelet.sampling.ops import SAMPLING
from kernelet_ops_triton.plugin import OPS, kernelet_ops, kernelet_options, kernelet_weight_kernels


def test_every_offer_needs_a_device_that_the_compiler_knows():
    offers = [*kernelet_ops(), *kernelet_weight_kernels()]
    assert all(offer.required_features == {"triton"} for offer in offers)
    assert all(isinstance(offer, OpOffer | WeightKernelOffer) for offer in offers)
    assert len({offer.name for offer in offers}) == len(offers) == len(OPS) + 2


def test_ops_are_of_the_ladder():
    assert set(OPS) <= {*OP_NAMES, *SAMPLING}


def test_the_batch_invariant_mode_is_an_option():
    assert kernelet_options().schema["batch_invariant"].default is False
