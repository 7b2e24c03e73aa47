from __future__ import annotations

import pytest
from worker_doubles import TinyPlugins

from kernelet.contracts.plugins import Owned
from kernelet.contracts.quant import QuantOffer
from kernelet.errors import ConfigError, PluginError
from kernelet.worker.offered import make_offered

OFFER = QuantOffer(name="eight", target="method", online=True)


class Kind:
    def __init__(self, settings, word, error=None):
        if error is not None:
            raise error
        self.plugin, self.word = settings.plugin, word


def made(target, *arguments):
    plugins = TinyPlugins(OFFER, method=target)
    owned: Owned = plugins.select(QuantOffer, "eight").chosen
    return make_offered(plugins, owned, Kind, "odd thing", *arguments)


def test_it_is_made_of_its_settings_and_more():
    found = made(Kind, "word")
    assert (type(found), found.plugin, found.word) == (Kind, "tiny", "word")


@pytest.mark.parametrize("target", [dict, Kind.__init__])
def test_another_class_is_named(target):
    with pytest.raises(PluginError, match=r"^tiny: method of offer 'eight' is no Kind$"):
        made(target, "word")


def test_who_failed_is_named_and_what_is_refused_is_passed_on():
    with pytest.raises(PluginError, match=r"^odd thing 'eight' of plugin 'tiny' cannot be made: ValueError: bad$"):
        made(Kind, "word", ValueError("bad"))
    with pytest.raises(ConfigError, match=r"^bits is 3$"):
        made(Kind, "word", ConfigError("bits is 3"))
