"""The suite of ops: an override computes what the op's decomposition computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernelet.contracts.attention import Attention, AttentionSpec
from kernelet.contracts.op import OpOffer
from kernelet.contracts.plugins import PluginView
from kernelet.errors import PluginError
from kernelet.layers.ops import ELEMENTARY, OP_NAMES, make_op
from kernelet.sampling.ops import SAMPLING
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.offered import Offered
from kernelet.testing.op.cases import OpCase, elementary_cases, rounds_once
from kernelet.testing.op.composite_cases import composite_cases
from kernelet.testing.op.draw import Draw
from kernelet.testing.op.sampling_cases import sampling_cases
from kernelet.testing.search import SEARCH
from kernelet.testing.suite import Suite
from kernelet.testing.tensors import DTYPES, check_close, check_equal, check_unchanged
from kernelet.testing.verdict import ConformanceError, check

TOLERANCES: Mapping[str, float] = MappingProxyType(
    {"float64": 1e-12, "float32": 5e-6, "bfloat16": 1.5e-2, "float16": 2e-3}
)
"""Allowed error of an elementary op's result e is this times ``1 + |e|``; of a composite op's, four times as much."""

MANY_ROWS, FEWER_ROWS = 4099, 131
"""Rows of a long step, for elementary and for composite ops; neither is a multiple of any tile."""

Implementation = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class OpCapabilities:
    """What an op promises beyond its offer.

    Attributes:
        dtypes: Dtypes to try; empty: those of the offer, or all four. A platform without float64 names its own.
        tolerances: By dtype, instead of those of the kit.
        same_result: Computes what its decomposition computes. False for an op that changes what a model says, on
            purpose: then shapes, dtypes, independent rows and unchanged inputs are left to hold.
        batch_invariant: A row has the same bits in every batch.
        deterministic: The same input has the same bits each time, whatever its other rows hold.
    """

    dtypes: tuple[str, ...] = ()
    tolerances: Mapping[str, float] = field(default_factory=dict)
    same_result: bool = True
    batch_invariant: bool = False
    deterministic: bool = True


class OpSuite(Suite):
    """Fixtures ``offered``: ``find_offer("acme_kernelet.plugin", OpOffer)``; ``device``: what torch.device takes.

    An op that works only with an attention or with weight kernels of its own platform gives the fixtures ``attention``
    and ``plugins`` too.
    """

    capabilities: ClassVar[OpCapabilities] = OpCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[OpOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', OpOffer)")

    @pytest.fixture
    def device(self) -> Any:
        return "cpu"

    @pytest.fixture
    def attention(self) -> Callable[[AttentionSpec], Attention]:
        """Makes the attention that is given to ``qkv_rope_write`` and ``attention``."""
        return SlowAttention

    @pytest.fixture
    def plugins(self) -> PluginView | None:
        """Where layers get their weight kernels; None: the references."""
        return None

    @pytest.fixture
    def make(self, offered: Offered[OpOffer]) -> Callable[[], Implementation]:
        """Makes the op as the engine does, once a worker."""

        def make() -> Implementation:
            try:
                return make_op(offered.target, offered.settings)
            except PluginError as error:
                raise ConformanceError(f"the op {offered.offer.target} cannot be made: {error}") from error

        return make

    @pytest.fixture
    def cases(self, offered: Offered[OpOffer], attention: Callable[[AttentionSpec], Attention]) -> list[OpCase]:
        """All ways to call the op."""
        op = offered.offer.op
        names = (*OP_NAMES, *SAMPLING)
        check(op in names, f"there is no op {op!r} in the ladder: an offer names one of {', '.join(names)}")
        cases = (*elementary_cases(), *composite_cases(attention), *sampling_cases())
        return [case for case in cases if case.op == op]

    @pytest.fixture
    def draws(self, offered: Offered[OpOffer], device: Any, plugins: PluginView | None) -> list[Draw]:
        """Inputs of seven rows, in each dtype."""
        names = self.capabilities.dtypes or offered.offer.dtypes or DTYPES
        dtypes: list[torch.dtype] = [getattr(torch, name) for name in names]
        return [Draw(dtype=dtype, rounded=dtype, rows=range(7), device=device, plugins=plugins) for dtype in dtypes]

    def tolerance(self, case: OpCase, dtype: torch.dtype) -> float:
        """Allowed error of a result e over ``1 + |e|``."""
        name = str(dtype).removeprefix("torch.")
        given_one = self.capabilities.tolerances.get(name, TOLERANCES.get(name, 0.0))
        return given_one if case.op in ELEMENTARY else 4 * given_one

    def hold(self, case: OpCase, draw: Draw, implementation: Implementation) -> None:
        """Holds one call to the decomposition in float64.

        Raises:
            ConformanceError: naming op and case.
        """
        try:
            found = case.run(implementation, draw)
        except (ConformanceError, NotImplementedError):
            raise
        except Exception as error:
            raise ConformanceError(f"{case} in {draw.dtype} must be served, but it raised {error!r}") from error
        for name, expected in case.decomposed(draw.exact).items():
            says = f"{case}: the {name} must be what its decomposition computes"
            check_close(found[name], expected, self.tolerance(case, draw.dtype), f"{says}, in {draw.dtype}")
            if rounds_once(case.op, draw.dtype) and found[name].dtype == draw.dtype:
                off = (found[name].cpu().double() - expected).abs()
                limit = 0.55 * torch.finfo(draw.dtype).eps * expected.abs() + 1e-5
                check(bool((off <= limit).all()), "norms of 16-bit inputs must be computed in float32 and rounded once")

    def each(self, cases: list[OpCase], draws: list[Draw], make: Callable[[], Implementation]) -> Iterator[Any]:
        """Every case in every dtype, with an instance for each dtype."""
        for draw in draws:
            implementation = make()
            for case in cases:
                yield case, draw, implementation

    def test_is_its_decomposition(
        self, cases: list[OpCase], draws: list[Draw], make: Callable[[], Implementation]
    ) -> None:
        if not self.capabilities.same_result:
            pytest.skip("the op changes results on purpose")
        for case, draw, implementation in self.each(cases, draws, make):
            self.hold(case, draw, implementation)

    def test_random_rows(self, cases: list[OpCase], draws: list[Draw], make: Callable[[], Implementation]) -> None:
        if not self.capabilities.same_result:
            pytest.skip("the op changes results on purpose")
        made = [(draw, make()) for draw in draws]

        @settings(SEARCH, max_examples=30)
        @given(
            case=st.sampled_from(cases),
            pair=st.integers(0, len(made) - 1),
            rows=st.lists(st.integers(0, 1 << 16), min_size=1, max_size=40),
        )
        def holds(case: OpCase, pair: int, rows: list[int]) -> None:
            draw, implementation = made[pair]
            self.hold(case, replace(draw, rows=rows), implementation)

        holds()

    def test_many_rows(self, cases: list[OpCase], draws: list[Draw], make: Callable[[], Implementation]) -> None:
        """The first case and the last one: what goes wrong with the number of rows does so in each."""
        if not self.capabilities.same_result:
            pytest.skip("the op changes results on purpose")
        for case, draw, implementation in self.each([*cases[:1], *cases[1:][-1:]], draws, make):
            count = MANY_ROWS if case.op in ELEMENTARY else FEWER_ROWS
            rows = [index % 61 for index in range(count)]
            self.hold(replace(case, words=f"{case.words}, {count} rows"), replace(draw, rows=rows), implementation)

    def test_no_rows(self, cases: list[OpCase], draws: list[Draw], make: Callable[[], Implementation]) -> None:
        says = "a step without tokens has no rows, and must work"
        for case, draw, implementation in self.each(cases, draws, make):
            empty = replace(draw, rows=())
            expected = case.decomposed(empty)
            try:
                found = case.run(implementation, empty)
            except Exception as error:
                raise ConformanceError(f"{case}: {says}, but it raised {error!r}") from error
            for name, rows in expected.items():
                check(found[name].shape == rows.shape, f"{case}: {says}: the {name} has another shape")

    def test_shapes_and_dtypes(
        self, cases: list[OpCase], draws: list[Draw], make: Callable[[], Implementation]
    ) -> None:
        for case, draw, implementation in self.each(cases, draws, make):
            found = case.run(implementation, draw)
            for name, expected in case.decomposed(draw).items():
                tensor = found[name]
                check(isinstance(tensor, Tensor), f"{case}: the {name} must be a tensor")
                same_shape, same_dtype = tensor.shape == expected.shape, tensor.dtype == expected.dtype
                check(same_shape, f"{case}: the {name} must have the shape that its decomposition returns")
                check(
                    same_dtype,
                    f"{case}: the {name} must have the dtype that its decomposition returns, {expected.dtype} "
                    f"for a model in {draw.dtype}",
                )

    def test_what_is_given_stays(
        self, cases: list[OpCase], draws: list[Draw], make: Callable[[], Implementation]
    ) -> None:
        for case, draw, implementation in self.each(cases, draws, make):
            call = case.make(draw)
            with check_unchanged(f"{case}: what it is given must not be changed", *call.fixed):
                implementation(*call.arguments)

    def test_rows_do_not_depend_on_others(
        self, cases: list[OpCase], draws: list[Draw], make: Callable[[], Implementation]
    ) -> None:
        says = "a row must not depend on the other rows"
        for case, draw, implementation in self.each(cases, draws, make):
            among = case.run(implementation, draw)
            alone = case.run(implementation, replace(draw, rows=[2]))
            changed = case.run(implementation, replace(draw, rows=[100, 101, 2, 103, 104, 105, 106]))
            poisoned = case.run(implementation, replace(draw, poisoned=frozenset({0, 1, 3, 4, 5, 6})))
            tolerance = 2 * self.tolerance(case, draw.dtype)
            for name, rows in among.items():
                for other in (alone[name], changed[name][2:3]):
                    check_close(other, rows[2:3].cpu(), tolerance, f"{case}: {says}")
                if self.capabilities.batch_invariant:
                    check_equal(alone[name], rows[2:3], f"{case}: {says}: it promises the same bits in every batch")
                if self.capabilities.deterministic and not case.grouped:
                    check_equal(changed[name][2:3], rows[2:3], f"{case}: what other rows hold must not change a bit")
                check(bool(poisoned[name][2].isfinite().all()), f"{case}: NaN in one row must stay in it")

    def test_nan_shows(self, cases: list[OpCase], draws: list[Draw], make: Callable[[], Implementation]) -> None:
        """A request whose numbers broke is found by them."""
        for case, draw, implementation in self.each(cases, draws, make):
            broken = replace(draw, poisoned=frozenset({2}))
            found, expected = case.run(implementation, broken), case.decomposed(broken)
            for name, rows in expected.items():
                hidden = bool(rows[2].isnan().any()) and not bool(found[name][2].isnan().any())
                check(not hidden, f"{case}: NaN of a row must show in its {name}: a failed request is found by it")
