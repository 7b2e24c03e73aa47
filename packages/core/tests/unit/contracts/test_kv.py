from __future__ import annotations

import inspect

import pytest

from kernelet.contracts import kv, kv_pages, kv_worker
from kernelet.contracts.kv import (
    ROLES,
    KVConnectorContext,
    KVConnectorOffer,
    KVIdentity,
    KVStep,
    ScheduledKV,
    SchedulerSide,
)
from kernelet.contracts.offer import Settings
from kernelet.testing.kv_connector.pages import plain_layout

IDENTITY = KVIdentity(weights="w", dtype="bfloat16", kv_cache_dtype="auto", arithmetic="a")


class Least(SchedulerSide):
    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        return None

    def update_state_after_alloc(self, request, transfer, start, end, block_ids): ...

    def build_connector_meta(self, step):
        return b""


def context(role):
    return KVConnectorContext(
        identity=IDENTITY, role=role, engine_id="e", layouts=(), load_timeout=1.0, max_model_len=8
    )


@pytest.mark.parametrize("role", ROLES)
def test_roles(role):
    made = context(role)
    assert (made.saves, made.loads) == (role in {"producer", "both"}, role in {"consumer", "both"})


def test_the_least_connector_holds_nothing_and_needs_nothing():
    side = Least(Settings(plugin="p"), context("both"))
    side.validate_params({"anything": 1})
    handed = side.request_finished(None, 1, 0, ((),))
    assert (handed.holds_blocks, handed.kv_transfer_params) == (False, None)
    assert not side.has_pending_work()
    assert side.build_connector_meta(KVStep(step=0)) == b""


def test_an_offer_serves_every_role_and_takes_canonical_pages():
    offer = KVConnectorOffer(name="k", target="a:B", worker="a:C")
    assert offer.roles == frozenset(ROLES)
    assert offer.default_role in offer.roles
    assert offer.layouts == ("canonical",)


def test_every_name_of_the_domain_is_here():
    for module in (kv, kv_pages, kv_worker):
        own = {name for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__}
        classes = {name for name in own if inspect.isclass(getattr(module, name))}
        assert classes <= set(kv.__all__)


class Known:
    num_tokens = 40


@pytest.mark.parametrize("computed, scheduled, ready", [(0, 8, 8), (8, 32, 40), (39, 3, 40), (16, 0, 16)])
def test_what_a_step_leaves_is_known_and_computed(computed, scheduled, ready):
    """A token that the step samples is not known yet."""
    one = ScheduledKV(request=Known(), num_computed_tokens=computed, num_scheduled_tokens=scheduled, block_ids=())
    assert one.num_ready_tokens == ready


@pytest.mark.parametrize(
    "start, end, expected", [(0, 32, None), (16, 48, None), (32, 48, ((6,), (9, 3))), (32, 40, ((6,), (9,)))]
)
def test_blocks_that_hold_tokens_in_each_group(start, end, expected):
    """Two groups with blocks of 16 and 8 tokens; the second has dropped those before token 32."""
    layouts = [plain_layout(block_size=16), plain_layout(block_size=8)]
    blocks = ((4, 5, 6), (0, 0, 0, 0, 9, 3))
    one = ScheduledKV(request=Known(), num_computed_tokens=48, num_scheduled_tokens=0, block_ids=blocks)
    assert one.blocks_of(layouts, start, end) == expected
    for layout, ids, found in zip(layouts, blocks, expected or (), strict=False):
        slots = {(ids[p // layout.block_size], p % layout.block_size) for p in range(start, end)}
        assert {block for block, _ in slots} == set(found)
