"""Products with the weights of an 8B model in the forms that formats have, beside ``F.linear``."""

from __future__ import annotations

import time
from typing import Any

import torch

from gpubench import offers
from gpubench.machine import Machine
from kernelet.contracts.op import DENSE, ScaleLevel, WeightKernelOffer, WeightScheme
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet.testing.weight_kernel.schemes import make_weights

SHAPES = ((6144, 4096), (28672, 4096))
"""Outputs and inputs: of queries, keys and values, and of the gated half of the MLP."""

SMALL_SHAPES = ((48, 128),)
ROWS, SMALL_ROWS = (1, 16, 128, 2048), (3,)
SCHEMES = {
    "dense": DENSE,
    "int4, groups of 128": WeightScheme(element="uint4", scales=(ScaleLevel("float16", (1, 128)),), zero_point="int"),
    "int8, rows": WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),)),
    "float8, float8 inputs": WeightScheme(
        element="e4m3fn",
        scales=(ScaleLevel("float32", (1, 0)),),
        activation="dynamic",
        activation_element="e4m3fn",
    ),
}
STORED_BITS = {"dense": 16, "uint4": 4.25, "int8": 8, "e4m3fn": 8}
"""Of an element, its scale included."""

ERRORS = {"": 2e-2, "e4m3fn": 8e-2}
"""Of a result, by what inputs are rounded to: norm of the difference over the norm."""


def rows(here: Machine, until: float) -> list[dict[str, Any]]:
    """A row for each form, shape, number of rows and kernel."""
    found: list[dict[str, Any]] = []
    available = offers.offered(WeightKernelOffer, here)
    for shape in SHAPES if here.is_real else SMALL_SHAPES:
        for label, scheme in SCHEMES.items():
            if time.monotonic() > until:
                found.append({"weight": label, "shape": list(shape), "note": "time was up"})
                continue
            found += _measured(here, label, scheme, shape, available, until)
    return found


def _measured(
    here: Machine, label: str, scheme: WeightScheme, shape: tuple[int, int], available: list[Any], until: float
) -> list[dict[str, Any]]:
    dtype = str(here.dtype).removeprefix("torch.")
    weights = {name: part.to(here.device) for name, part in make_weights(scheme, shape, here.dtype, 0).items()}
    dense = dequantize(weights, scheme).to(here.dtype)
    found = []
    for one in available:
        if "linear" not in one.offer.roles:
            continue
        support = one.target.supports("linear", scheme, dtype, shape)
        row = {"weight": label, "shape": list(shape), "kernel": one.offer.name}
        if not support.ok:
            found.append({**row, "note": support.reason})
            continue
        kernel = one.target(one.settings, "linear", scheme)
        prepared = kernel.prepare({name: part.clone() for name, part in weights.items()})  # it may repack them
        for count in ROWS if here.is_real else SMALL_ROWS:
            if time.monotonic() > until:
                break
            x = torch.randn(count, shape[1], device=here.device).to(here.dtype)
            found.append({**row, "rows": count, **_one(here, kernel, prepared, x, dense, scheme)})
    return found


def _one(
    here: Machine, kernel: Any, prepared: Any, x: torch.Tensor, dense: torch.Tensor, scheme: WeightScheme
) -> dict[str, Any]:
    def reference() -> torch.Tensor:
        return torch.nn.functional.linear(x, dense)

    nbytes = dense.numel() * STORED_BITS[scheme.element] / 8 + (x.numel() + len(x) * len(dense)) * x.itemsize
    figures = {
        "least_us": 1e6 * here.least(nbytes, 2 * len(x) * dense.numel()),
        "torch_us": 1e6 * here.seconds(reference),
    }
    try:
        got, wanted = kernel.apply(x, prepared, None).double(), reference().double()
        error = float((got - wanted).norm() / wanted.norm())
        figures["us"] = 1e6 * here.seconds(lambda: kernel.apply(x, prepared, None))
    except Exception as failure:  # noqa: BLE001 - one kernel's failure is a row of the table
        return {**figures, "note": f"failed: {type(failure).__name__}: {str(failure)[-300:]}", "failed": True}
    return {**figures, "error": error, "failed": not error <= ERRORS[scheme.activation_element or ""]}
