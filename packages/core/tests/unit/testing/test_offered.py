from __future__ import annotations

import pytest

from kernelet.cache.eviction import LRUPolicy
from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.model import WeightFormatOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.errors import ConfigError
from kernelet.testing.null import NullPlugin
from kernelet.testing.offered import find_offer
from kernelet.testing.verdict import ConformanceError


def test_finds_an_offer_with_its_settings_and_target():
    found = find_offer(NullPlugin(), PlatformOffer, memory_bytes=77)
    assert found.offer.name == "null"
    assert found.settings["memory_bytes"] == 77
    assert found.target.__name__ == "NullDevice"
    assert find_offer("kernelet.testing.null:plugin", PlatformOffer).settings["memory_bytes"] == 1 << 26


def test_the_core_is_a_plugin_too():
    assert find_offer("kernelet.builtin", CachePolicyOffer, "lru").target is LRUPolicy


def test_says_what_there_is():
    with pytest.raises(ConformanceError, match="offers \\['null'\\], not 'nul'"):
        find_offer(NullPlugin(), PlatformOffer, "nul")
    with pytest.raises(ConformanceError, match="'platform-null' returns no WeightFormatOffer from its hook"):
        find_offer(NullPlugin(), WeightFormatOffer)
    with pytest.raises(ConfigError, match="no such option"):
        find_offer(NullPlugin(), PlatformOffer, memory=1)


def test_a_plugin_that_is_installed_has_its_own_name():
    from kernelet.contracts.model import ModelSourceOffer

    found = find_offer("kernelet_model_smollm2.plugin", ModelSourceOffer)
    assert found.settings.plugin == "model-smollm2"
    with pytest.raises(ConfigError, match="no such option"):
        find_offer("kernelet_model_smollm2.plugin", ModelSourceOffer, size=1)
