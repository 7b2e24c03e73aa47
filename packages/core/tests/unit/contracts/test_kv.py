from __future__ import annotations

import inspect

import pytest

from kernelet.contracts import kv, kv_pages, kv_worker
from kernelet.contracts.kv import ROLES, KVConnectorContext, KVConnectorOffer, KVIdentity, KVStep, SchedulerSide
from kernelet.contracts.offer import Settings

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
