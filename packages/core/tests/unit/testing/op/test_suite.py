from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import Op, OpOffer
from kernelet.layers.ops import OP_NAMES
from kernelet.testing.offered import Offered
from kernelet.testing.op import OpCapabilities, OpSuite
from kernelet.testing.tensors import make_context


class TestDecompositions(OpSuite):
    """Each op's decomposition passes, as it stands."""

    capabilities = OpCapabilities(dtypes=("float64", "bfloat16"))

    @pytest.fixture(params=OP_NAMES)
    def offered(self, request):
        op = getattr(make_context().ops, request.param)
        offer = OpOffer(name="x", target="x:y", op=request.param)
        return Offered(offer=offer, settings=Settings(plugin="x"), target=op)


class Louder(Op):
    """Changes results on purpose."""

    def __call__(self, layer, residual, step):
        return layer.compose(residual, step) * float(self.settings["factor"])


class TestOnPurpose(OpSuite):
    capabilities = OpCapabilities(same_result=False)

    @pytest.fixture
    def offered(self):
        offer = OpOffer(name="x", target="x:y", op="decoder_layer")
        return Offered(offer=offer, settings=Settings(plugin="x", values={"factor": 2.0}), target=Louder)


def test_a_suite_without_its_fixture_says_which():
    with pytest.raises(NotImplementedError, match="find_offer"):
        OpSuite.offered.__wrapped__(None)
