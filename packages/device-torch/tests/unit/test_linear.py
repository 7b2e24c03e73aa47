from __future__ import annotations

import pytest
import torch

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, WeightKernelOffer, WeightScheme
from kernelet.testing.offered import Offered
from kernelet.testing.weight_kernel import WeightKernelCapabilities, WeightKernelSuite
from kernelet_device_torch.linear import LibraryLinear

SETTINGS = Settings(plugin="x")


class TestLibraryLinear(WeightKernelSuite):
    capabilities = WeightKernelCapabilities(shapes=((37, 24),))

    @pytest.fixture
    def offered(self):
        offer = WeightKernelOffer(name="x", target="x:y", roles=("linear", "grouped_linear", "embedding"))
        return Offered(offer=offer, settings=SETTINGS, target=LibraryLinear)


def test_quantized_weights_are_refused_with_a_reason():
    answer = LibraryLinear.supports("linear", WeightScheme(element="int8"), "float32", (4, 4))
    assert answer == (False, "serves unquantized weights only, not int8")
    assert LibraryLinear.supports("linear", DENSE, "float32", (4, 4)).ok


def test_rows_of_a_weight_that_is_also_multiplied():
    weight = torch.arange(6.0).view(3, 2)
    kernel = LibraryLinear(SETTINGS, "linear", DENSE)
    prepared = kernel.prepare({"weight": weight})
    assert kernel.has_rows("float32")
    assert torch.equal(kernel.rows(torch.tensor([2, 0]), prepared), weight[[2, 0]])
    assert prepared is weight
