from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, Op, OpOffer, ScaleLevel, Support, WeightKernel, WeightKernelOffer, WeightScheme


class Kernel(WeightKernel):
    @classmethod
    def supports(cls, role, scheme, dtype, shape):
        return Support(scheme == DENSE, "dense only")

    def prepare(self, weights):
        return weights["weight"]

    def apply(self, x, prepared, bias):
        return x * prepared


def test_schemes_travel_between_processes():
    scheme = WeightScheme(
        element="int4",
        scales=(ScaleLevel("float16", (1, 128)), ScaleLevel("float32", (0, 0))),
        zero_point="int",
        permuted=True,
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(scheme), type=WeightScheme) == scheme
    assert hash(scheme) == hash(msgspec.structs.replace(scheme))


def test_dense_is_the_scheme_without_anything():
    assert WeightScheme() == DENSE
    assert (DENSE.element, DENSE.scales, DENSE.zero_point, DENSE.opaque) == ("dense", (), None, "")
    assert msgspec.structs.replace(DENSE, element="int8") != DENSE


def test_what_a_kernel_must_have():
    assert WeightKernel.__abstractmethods__ == {"supports", "prepare", "apply"}
    kernel = Kernel(Settings(plugin="p"), "linear", DENSE)
    assert (kernel.role, kernel.scheme, kernel.settings.plugin) == ("linear", DENSE, "p")
    assert kernel.apply(3, kernel.prepare({"weight": 2}), None) == 6


def test_a_kernel_without_experts_says_so():
    with pytest.raises(NotImplementedError, match="Kernel does not serve the role grouped_linear"):
        Kernel(Settings(plugin="p"), "linear", DENSE).apply_grouped(1, 1, 0)


def test_support():
    assert Support(True) == (True, "")
    assert not Kernel.supports("linear", WeightScheme(element="int8"), "float32", (1, 1)).ok


def test_offers_take_everything_unless_they_say_otherwise():
    assert OpOffer(name="a", target="m:A", op="rms_norm").dtypes == ()
    assert WeightKernelOffer(name="a", target="m:A").roles == ("linear",)


def test_an_op_that_is_a_class_has_its_plugins_settings():
    class Scaled(Op):
        def __call__(self, x, name):
            return x * self.settings["factor"]

    assert Op.__abstractmethods__ == {"__call__"}
    assert Scaled(Settings(plugin="p", values={"factor": 3}))(2, "silu") == 6
