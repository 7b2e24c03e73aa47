"""What a cache of another dtype than the layer's must give back."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionSpec
from kernelet.testing.attention.kept import FORMS, LARGEST, changes_of, kept, magnitudes
from kernelet.testing.attention.layers import Layers
from kernelet.testing.attention.steps import PagedRequests, Requests, hold
from kernelet.testing.suite import Suite
from kernelet.testing.tensors import check_close
from kernelet.testing.verdict import check


class KeptTests(Suite):
    """Part of ``AttentionSuite``."""

    @pytest.fixture(params=FORMS)
    def form(self, request: pytest.FixtureRequest, layers: Layers) -> AttentionSpec:
        """A layer whose cache is kept so."""
        spec = layers.plain(**changes_of(request.param))
        if spec is None:
            pytest.skip(f"the offer keeps no cache as {request.param}")
        return spec

    def test_each_dtype_is_kept_so(self, form: AttentionSpec, layers: Layers, requests: Requests) -> None:
        for dtype in layers.dtypes:
            spec = replace(form, dtype=dtype)
            if layers.serves(spec):
                says = f"keys and values must be computed with as they were stored, as {form.cache_form} of {dtype}"
                hold(requests(spec), ({"a": 7, "b": 1}, {"a": 1, "b": 2, "c": 9}), layers.tolerance(spec), says)

    def test_elements_are_the_nearest(self, form: AttentionSpec, layers: Layers, requests: Requests) -> None:
        """Numbers half way between two elements, and just beside that."""
        table = magnitudes() if form.cache_dtype == "e4m3fn" else torch.arange(128, dtype=torch.float64)
        middle = (table[1:] + table[:-1]) / 2
        grid = torch.cat([middle, -middle, middle * (1 - 2**-10), middle * (1 + 2**-10), table])
        vectors = _vectors(grid * 0.25, form)
        says = f"an element must be the number of {form.cache_dtype} that is nearest, ties to even"
        mine = requests(form, num_blocks=len(vectors) + 1, scales=(0.5, 0.25))
        check_close(give_back(mine, vectors), expected(mine, vectors), layers.tolerance(form), says)

    def test_what_is_too_large(self, form: AttentionSpec, layers: Layers, requests: Requests) -> None:
        if form.cache_scales != "tensor":
            pytest.skip("a scale of each token fits all that it has")
        numbers = torch.tensor([224.0, 232.0, -240.0, 1e4, -3e4, torch.inf, -torch.inf])
        mine, vectors = requests(form, scales=(1.0, 0.5)), _vectors(numbers, form)
        says = f"what is too large for {form.cache_dtype} must become its largest number, {LARGEST[form.cache_dtype]}"
        check_close(give_back(mine, vectors), expected(mine, vectors), layers.tolerance(form), says)

    def test_each_vector_has_its_own_scale(self, form: AttentionSpec, layers: Layers, requests: Requests) -> None:
        if form.cache_scales != "token_head":
            pytest.skip("it has one scale of all vectors")
        ramp = torch.arange(1, form.head_size + 1).double() / form.head_size
        factors = torch.tensor([1.0, 1e3, 1e-3, 0.0, 1e-30, -7.0, 1e-44, 2.0], dtype=torch.float64)
        vectors = (factors[:, None] * ramp).view(-1, 1, form.head_size).repeat_interleave(form.num_kv_heads, 1)
        vectors[:, 0] *= 0.01
        mine = requests(form)
        says = "each token and head must have a scale of its own, of its own vector alone"
        found, wanted = give_back(mine, vectors), expected(mine, vectors)
        most = wanted.abs().amax(-1, keepdim=True).clamp(min=1e-35)
        check_close(found.cpu() / most, wanted / most, layers.tolerance(form), says)

    def test_nan_stays(self, form: AttentionSpec, requests: Requests) -> None:
        for part in ("key", "value"):
            mine = requests(form)
            step = mine.plan({"a": 3, "b": 2})
            row = step.rows("a").start + 1
            getattr(step, part)[row, 0, 0] = torch.nan
            found = mine.run(step)
            says = f"NaN among {part}s must come back as NaN, to those that see it"
            a, b = found[step.rows("a")], found[step.rows("b")]
            check(bool(a[1:, 0, 0].isnan().all()) and bool(b.isfinite().all()), says)


def _vectors(numbers: Tensor, spec: AttentionSpec) -> Tensor:
    """float64 [tokens, kv_heads, head_size] that hold the numbers; where each has a scale, that is a power of two."""
    has_own = spec.cache_scales == "token_head"
    size = spec.head_size - has_own
    count = -(-len(numbers) // (size * spec.num_kv_heads)) * spec.num_kv_heads
    held = torch.zeros(count * size, dtype=torch.float64)
    held[: len(numbers)] = numbers
    largest = torch.full((count, int(has_own)), LARGEST[spec.cache_dtype] * 0.25, dtype=torch.float64)
    return torch.cat((held.view(count, size), largest), 1).view(-1, spec.num_kv_heads, spec.head_size)


def give_back(mine: PagedRequests, vectors: Tensor) -> Tensor:
    """Values as they come back to requests of one token, which see nothing else."""
    step = mine.plan({f"r{index}": 1 for index in range(len(vectors))})
    step.value.copy_(vectors.to(mine.dtype))
    return mine.run(step)[:, :: mine.spec.num_heads // mine.spec.num_kv_heads]


def expected(mine: PagedRequests, vectors: Tensor) -> Tensor:
    """What these must be."""
    return kept(vectors.to(mine.dtype), mine.spec, mine.scales[1])
