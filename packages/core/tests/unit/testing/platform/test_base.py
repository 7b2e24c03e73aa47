from __future__ import annotations

import pytest

from kernelet.contracts.platform import PlatformOffer
from kernelet.testing.null import NullPlugin
from kernelet.testing.null.platform import NullDevice
from kernelet.testing.offered import find_offer
from kernelet.testing.platform.base import PlatformBase, PlatformCapabilities, make_device
from kernelet.testing.platform.faults import null_suite
from kernelet.testing.verdict import ConformanceError

NULL = null_suite({})


class TestFixtures(PlatformBase):
    """What the tests of a suite are given."""

    offered, plugins, checkpoint = (vars(NULL)[name] for name in ("offered", "plugins", "checkpoint"))

    capabilities = PlatformCapabilities(torch=False, dtype="bfloat16", options={"block_size": 8, "max_num_seqs": 3})

    def test_the_engine_has_the_options_of_the_capabilities(self, configure):
        config = configure(max_num_seqs=5).config
        assert (config.model.dtype, config.cache.block_size, config.scheduler.max_num_seqs) == ("bfloat16", 8, 5)
        assert configure().platform.name == "null"

    def test_the_device_is_taken(self, running):
        assert type(running) is NullDevice


def test_what_is_no_device_is_said():
    offered = find_offer(NullPlugin(), PlatformOffer)
    object.__setattr__(offered, "target", lambda settings, rank: None)
    with pytest.raises(ConformanceError, match="is no Device"):
        make_device(offered)
