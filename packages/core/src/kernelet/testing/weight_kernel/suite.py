"""The suite of weight kernels: dequantize and multiply is the truth, whatever a kernel makes of a weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernelet.contracts.op import DENSE, Role, Support, WeightKernel, WeightKernelOffer, WeightScheme
from kernelet.testing.offered import Offered
from kernelet.testing.search import SEARCH
from kernelet.testing.suite import Suite
from kernelet.testing.tensors import TOLERANCES, check_close, check_equal, check_unchanged
from kernelet.testing.verdict import ConformanceError, check
from kernelet.testing.weight_kernel.cases import QUANTIZED_INPUTS, Case, WeightKernelCapabilities
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet.testing.weight_kernel.schemes import SCHEMES, describe, make_weights, strange_ones

EXPERTS = 3
MANY_ROWS = 1031
LONG_TABLE, LONGER_TABLE = 512, 33000
"""Rows of embedding tables; those of the longer one, which is dense, are more than 16 bits count."""


class WeightKernelSuite(Suite):
    """Fixtures ``offered``: ``find_offer("acme_kernelet.plugin", WeightKernelOffer)``; ``device``: for torch.device.

    A kernel for opaque weights gives their scheme in its capabilities, and overrides ``make_weights`` and
    ``dequantize``.
    """

    capabilities: ClassVar[WeightKernelCapabilities] = WeightKernelCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[WeightKernelOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', WeightKernelOffer)")

    @pytest.fixture
    def device(self) -> Any:
        return "cpu"

    def make_weights(
        self, scheme: WeightScheme, shape: tuple[int, ...], dtype: torch.dtype, seed: int
    ) -> dict[str, Tensor]:
        """Random tensors of a weight, as ``prepare`` is given them."""
        return make_weights(scheme, shape, dtype, seed)

    def dequantize(self, weights: Mapping[str, Tensor], scheme: WeightScheme) -> Tensor:
        """Their truth: float64 [..., out, in]."""
        return dequantize(weights, scheme)

    @pytest.fixture
    def ask(self, offered: Offered[WeightKernelOffer]) -> Callable[[Role, WeightScheme, str, tuple[int, ...]], Support]:
        """Asks the kernel as the engine does."""

        def ask(role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
            target = offered.target
            is_kernel = isinstance(target, type) and issubclass(target, WeightKernel)
            check(is_kernel, f"{offered.offer.target} is no WeightKernel: derive it from the contract's class")
            try:
                answer = target.supports(role, scheme, dtype, shape)
            except Exception as error:
                raise ConformanceError(
                    f"supports() must answer for every scheme: for {describe(scheme)} it raised {error!r}"
                ) from error
            check(isinstance(answer, Support), "supports() must return a Support")
            return cast("Support", answer)

        return ask

    @pytest.fixture
    def cases(
        self,
        offered: Offered[WeightKernelOffer],
        device: Any,
        ask: Callable[[Role, WeightScheme, str, tuple[int, ...]], Support],
    ) -> list[Case]:
        """All that the kernel supports of what the suite asks for."""
        promised = self.capabilities
        asked = (
            (role, scheme, dtype, (EXPERTS, *shape) if role == "grouped_linear" else shape)
            for role in offered.offer.roles
            for scheme in (*SCHEMES, *promised.schemes)
            for dtype in promised.dtypes
            for shape in promised.shapes
        )
        return [self.case(offered, device, *question) for question in asked if ask(*question).ok]

    def case(
        self,
        offered: Offered[WeightKernelOffer],
        device: Any,
        role: Role,
        scheme: WeightScheme,
        dtype: str,
        shape: tuple[int, ...],
    ) -> Case:
        """A weight in a role, with how to make it."""

        def make(seed: int) -> dict[str, Tensor]:
            made = self.make_weights(scheme, shape, getattr(torch, dtype), seed)
            return {name: tensor.to(device) for name, tensor in made.items()}

        tolerance = self.capabilities.tolerances.get(dtype, TOLERANCES.get(dtype, 0.0))
        if scheme.activation is not None:
            tolerance = max(tolerance, QUANTIZED_INPUTS.get(scheme.activation_element or "", 0.0))
        return Case(
            role=role,
            scheme=scheme,
            dtype=dtype,
            shape=shape,
            tolerance=tolerance,
            create=lambda: offered.target(offered.settings, role, scheme),
            make=make,
            dequantize=lambda weights: self.dequantize(weights, scheme),
            device=torch.device(device),
        )

    def test_supports_says_why_not(
        self,
        offered: Offered[WeightKernelOffer],
        ask: Callable[[Role, WeightScheme, str, tuple[int, ...]], Support],
        cases: list[Case],
    ) -> None:
        for role in offered.offer.roles:
            some = any(case.role == role for case in cases)
            check(some, f"the offer has the role {role}, but supports() refuses every scheme in it")
            for scheme in (*SCHEMES, *self.capabilities.schemes):
                for dtype in self.capabilities.dtypes:
                    shape = (EXPERTS, 48, 128) if role == "grouped_linear" else (48, 128)
                    answer = ask(role, scheme, dtype, shape)
                    check(answer.ok or answer.reason.strip(), "supports() must say why it refuses: give a reason")
                    check(ask(role, scheme, dtype, shape) == answer, "supports() must depend on its arguments alone")

    def test_supports_refuses_what_it_does_not_know(
        self, ask: Callable[[Role, WeightScheme, str, tuple[int, ...]], Support], cases: list[Case]
    ) -> None:
        for case in cases:
            for strange in strange_ones(case.scheme):
                answer = ask(case.role, strange, case.dtype, case.shape)
                check(
                    not answer.ok,
                    "supports() must look at every property of a scheme, and refuse what it does not know",
                )

    def test_knows_its_layer(self, offered: Offered[WeightKernelOffer], cases: list[Case]) -> None:
        for case in cases:
            made = case.create()
            kept = (made.settings, made.role, made.scheme) == (offered.settings, case.role, case.scheme)
            check(kept, "an instance must keep settings, role and scheme: call super().__init__()")

    def test_is_the_dequantized_weight(self, cases: list[Case]) -> None:
        for case in cases:
            kernel, prepared, weights = case.prepared()
            x = case.inputs(5)
            found = case.compute(kernel, x, prepared)
            says = f"a {case} must be used as if it were dequantized"
            case.check(found, weights, x, None, says)
            if case.keeps_dtype:
                check(found.dtype == case.torch_dtype, f"a {case} must return {case.dtype}, not {found.dtype}")

    def test_random_weights_and_inputs(self, cases: list[Case]) -> None:
        @settings(SEARCH, max_examples=40)
        @given(index=st.integers(0, len(cases) - 1), rows=st.integers(1, 40), seed=st.integers(0, 1 << 16))
        def holds(index: int, rows: int, seed: int) -> None:
            case = cases[index]
            kernel, prepared, weights = case.prepared(seed)
            x = case.inputs(rows, seed)
            says = f"a {case} must be used as if it were dequantized"
            case.check(case.compute(kernel, x, prepared), weights, x, None, says)

        if cases:
            holds()

    def test_rows_of_a_dense_table_are_exact(self, cases: list[Case]) -> None:
        for case in cases:
            if case.role == "embedding" and case.scheme == DENSE:
                kernel, prepared, weights = case.prepared()
                ids = torch.tensor([case.shape[0] - 1, 0, 3, 0], device=case.device)
                says = "an embedding must return the rows of its table, bit by bit, in the order of the ids"
                check_equal(kernel.apply(ids, prepared, None), weights["weight"][ids], says)

    def test_rows_of_a_linear_weight(self, cases: list[Case]) -> None:
        for case in cases:
            kernel, prepared, weights = case.prepared()
            if case.role != "linear" or not kernel.has_rows(case.dtype):
                continue
            last = case.shape[0] - 1
            for ids in (torch.tensor([last, 0, 3, 0, 7]), torch.arange(last + 1), torch.empty(0, dtype=torch.int64)):
                found = kernel.rows(ids.to(case.device), prepared)
                says = f"rows() must return rows of the weight, in the order of the ids: a {case}"
                check_close(found, case.dequantize(weights)[ids], case.tolerance, says)
                if case.scheme == DENSE:
                    check_equal(found, weights["weight"][ids.to(case.device)], f"{says}, bit by bit")

    def test_ids_at_the_end_of_a_table(
        self,
        offered: Offered[WeightKernelOffer],
        device: Any,
        ask: Callable[[Role, WeightScheme, str, tuple[int, ...]], Support],
    ) -> None:
        if "embedding" not in offered.offer.roles:
            pytest.skip("the kernel serves no embeddings")
        widths = [width for _, width in self.capabilities.shapes]
        for scheme in (*SCHEMES, *self.capabilities.schemes):
            length, width = (LONGER_TABLE, min(widths)) if scheme == DENSE else (LONG_TABLE, widths[0])
            dtypes = [name for name in self.capabilities.dtypes if ask("embedding", scheme, name, (length, width)).ok]
            for dtype in dtypes[:1]:
                case = self.case(offered, device, "embedding", scheme, dtype, (length, width))
                weights = case.make(0)
                kernel = case.create()
                prepared = kernel.prepare(dict(weights))
                ids = torch.tensor([length - 1, 0, length - 2, length // 2, 101, 300, length - 1], device=case.device)
                says = f"every row of a table must be found by its id, the last of {length} too: a {case}"
                try:
                    found = kernel.apply(ids, prepared, None)
                except Exception as error:
                    raise ConformanceError(f"{says} raised {error!r}") from error
                case.check(found, case.make(0), ids, None, says)

    def test_bias(self, cases: list[Case]) -> None:
        for case in cases:
            bias = case.bias()
            if bias is not None:
                kernel, prepared, weights = case.prepared()
                x = case.inputs(4)
                found = case.compute(kernel, x, prepared, bias)
                check_close(
                    found, case.truth(weights, x, bias), case.tolerance, "a bias must be added once to each row"
                )

    def test_any_number_of_rows(self, cases: list[Case]) -> None:
        for case in cases:
            kernel, prepared, weights = case.prepared()
            for rows in (0, 1, 2, 33):
                x = case.inputs(rows)
                says = f"any number of rows must work: {rows} rows of a {case}"
                case.check_any(kernel, prepared, weights, x, says)

    def test_many_rows(self, cases: list[Case]) -> None:
        """One weight of each scheme in each role."""
        for case in {(case.role, case.scheme): case for case in reversed(cases)}.values():
            kernel, prepared, weights = case.prepared()
            some = case.inputs(37)
            x = some[torch.arange(MANY_ROWS, device=some.device) % len(some)]
            says = f"every row must be computed, of {MANY_ROWS} rows too: a {case}"
            case.check_any(kernel, prepared, weights, x, says)

    def test_prepare_takes_nothing_away(self, cases: list[Case]) -> None:
        for case in cases:
            given = case.make(0)
            before = dict(given)
            case.create().prepare(given)
            same = given.keys() == before.keys() and all(given[name] is before[name] for name in before)
            check(same, "prepare() must not change the mapping that it is given: the loader holds it too")

    def test_what_is_kept_is_as_good(self, cases: list[Case]) -> None:
        for case in cases:
            kernel, prepared, _ = case.prepared()
            layout, other = kernel.layout(case.dtype), case.create()
            same = type(layout) is str and other.layout(case.dtype) == layout
            check(same, "layout() must name the form of prepared weights, the same each time")
            if not layout:
                continue
            exported = kernel.export(prepared)
            plain = all(tensor.is_contiguous() for tensor in exported.values())
            check(plain, "export() must give contiguous tensors")
            restored = other.restore({name: tensor.cpu().clone() for name, tensor in exported.items()})
            x = case.inputs(5)
            says = f"restore() must compute the same bits as what export() was given: a {case}"
            check_equal(case.compute(other, x, restored), case.compute(kernel, x, prepared), says)

    def test_rows_do_not_depend_on_others(self, cases: list[Case]) -> None:
        for case in cases:
            kernel, prepared, _ = case.prepared()
            x = case.inputs(7)
            among = case.compute(kernel, x, prepared)[2:3]
            alone = case.compute(kernel, case.inputs(7)[2:3], prepared)
            says = "a row must not depend on the other rows of its batch"
            check_close(among, alone.cpu(), 2 * case.tolerance, says)
            if self.capabilities.batch_invariant:
                check_equal(among, alone, f"{says}: it promises the same bits in every batch, also for a {case}")
            if case.role != "embedding":
                x[:2], x[3:] = torch.nan, torch.inf
                poisoned = case.compute(kernel, x, prepared)[2:3]
                check(bool(poisoned.isfinite().all()), "NaN in one row must stay in it")
                if self.capabilities.deterministic:
                    check_equal(
                        poisoned, among, "what other rows of the same batch hold must not change a bit of a row"
                    )

    def test_each_row_has_its_own_scale(self, cases: list[Case]) -> None:
        """Inputs that are multiples of their row's scale lose nothing."""
        for case in cases:
            scheme = case.scheme
            if case.role == "embedding" or (scheme.activation, scheme.activation_element) != ("dynamic", "int8"):
                continue
            kernel, prepared, weights = case.prepared()
            x = case.inputs_that_are_exact(7)
            found = case.compute(kernel, x, prepared)
            check(not found[0].any(), "a row of zeros must stay zeros where inputs are quantized")
            says = "inputs must be rounded with a scale a row, its largest magnitude over 127"
            tolerance = self.capabilities.tolerances.get(case.dtype, TOLERANCES[case.dtype])
            check_close(found, case.truth(weights, x), tolerance, f"{says}: multiples of it lose nothing")

    def test_what_is_given_stays(self, cases: list[Case]) -> None:
        for case in cases:
            kernel, prepared, _ = case.prepared()
            x, bias = case.inputs(4), case.bias()
            with check_unchanged("input and bias must not be changed", x, bias):
                first = case.compute(kernel, x, prepared, bias)
            kept = first.clone()
            case.compute(kernel, case.inputs(4, seed=1), prepared, bias)
            check(torch.equal(first, kept), "a result must be memory of its own: the next call must not overwrite it")

    def test_strided_inputs(self, cases: list[Case]) -> None:
        for case in cases:
            kernel, prepared, weights = case.prepared()
            x = case.inputs(6)
            views = [x[::2], x.repeat_interleave(2, -1)[..., ::2]]
            if case.role != "embedding":
                views += [x.T.contiguous().T, x[:1].expand(4, -1), torch.cat((x, x), 1)[:, : x.shape[1]]]
            for view in views:
                found = case.compute(kernel, view, prepared)
                says = "inputs may be views: strides must be respected"
                case.check(found, weights, view, None, says)

    def test_weights_may_change(self, cases: list[Case]) -> None:
        for case in cases:
            kernel, _, _ = case.prepared(seed=0)
            again = kernel.prepare(case.make(1))
            x = case.inputs(3)
            says = "prepare() may run again: then the new weight counts"
            case.check(case.compute(kernel, x, again), case.make(1), x, None, says)

    def test_layers_are_apart(self, cases: list[Case]) -> None:
        for case in cases:
            made = [case.prepared(seed) for seed in (0, 1)]
            x = case.inputs(3)
            for kernel, prepared, weights in made:
                says = "two layers of one kernel must share nothing"
                case.check(case.compute(kernel, x, prepared), weights, x, None, says)

    def test_sums_are_wide_enough(
        self,
        offered: Offered[WeightKernelOffer],
        device: Any,
        ask: Callable[[Role, WeightScheme, str, tuple[int, ...]], Support],
    ) -> None:
        """4096 ones: a sum in 16 bits stops at 256 or 2048."""
        for role in offered.offer.roles:
            for dtype in self.capabilities.dtypes:
                shape = (EXPERTS, 16, 4096) if role == "grouped_linear" else (16, 4096)
                if role == "embedding" or not ask(role, DENSE, dtype, shape).ok:
                    continue
                case = self.case(offered, device, role, DENSE, dtype, shape)
                kernel = case.create()
                ones = torch.ones(shape, dtype=case.torch_dtype, device=case.device)
                x = torch.ones(3, 4096, dtype=case.torch_dtype, device=case.device)
                found = case.compute(kernel, x, kernel.prepare({"weight": ones}))
                says = f"sums of {dtype} products must be wider than 16 bits"
                check_close(found, torch.full(found.shape, 4096.0), case.tolerance, says)
