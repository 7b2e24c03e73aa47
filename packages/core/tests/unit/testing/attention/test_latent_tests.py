from __future__ import annotations

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.offer import Settings
from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.attention.latent_faults import OnlyTheLatent, StoredValue
from kernelet.testing.attention.latent_tests import LatentTests
from kernelet.testing.attention.layers import AttentionCapabilities, Layers
from kernelet.testing.attention.steps import PagedRequests
from kernelet.testing.offered import Offered
from kernelet.testing.verdict import ConformanceError

LATENT = Layers(AttentionOffer(name="x", target="x:y", kinds=frozenset({"mla"})), AttentionCapabilities())


def requests(attention):
    offered = Offered(offer=LATENT.offer, settings=Settings(plugin="x"), target=attention)
    return lambda spec: PagedRequests(offered, spec, "cpu")


@pytest.mark.parametrize("test", ["test_latent_heads_in_any_number", "test_latent_value_is_of_the_key"])
def test_the_reference_passes(test):
    getattr(LatentTests(), test)(LATENT.spec(kind="mla"), LATENT, requests(SlowKept))


def test_a_value_that_is_stored_is_noticed():
    with pytest.raises(ConformanceError, match=r"whatever write_kv\(\) is given"):
        LatentTests().test_latent_value_is_of_the_key(LATENT.spec(kind="mla"), LATENT, requests(StoredValue))
    with pytest.raises(ConformanceError, match="must share its key"):
        LatentTests().test_latent_heads_in_any_number(LATENT.spec(kind="mla"), LATENT, requests(OnlyTheLatent))


def test_who_serves_no_latent_layers_is_not_asked(layers):
    with pytest.raises(pytest.skip.Exception, match="serves no layers of kind mla"):
        LatentTests.latent.__wrapped__(None, layers)
