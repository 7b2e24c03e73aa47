from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import WeightKernelOffer
from kernelet.testing.offered import Offered
from kernelet.testing.weight_kernel import ReferenceKernel, WeightKernelCapabilities, WeightKernelSuite


class TestReference(WeightKernelSuite):
    capabilities = WeightKernelCapabilities(dtypes=("float64", "bfloat16"), shapes=((37, 40),))

    @pytest.fixture
    def offered(self):
        offer = WeightKernelOffer(name="x", target="x:y", roles=("linear", "grouped_linear", "embedding"))
        return Offered(offer=offer, settings=Settings(plugin="x"), target=ReferenceKernel)

    def test_every_scheme_was_tried(self, cases):
        assert len(cases) == 3 * 30 * 2


def test_a_suite_without_its_fixture_says_which():
    with pytest.raises(NotImplementedError, match="find_offer"):
        WeightKernelSuite.offered.__wrapped__(None)
