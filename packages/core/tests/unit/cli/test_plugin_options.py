from __future__ import annotations

import argparse

import pytest

from kernelet.cli.plugin_options import add_plugin_options, boot
from kernelet.errors import UnknownPluginError


def test_plugins_boot_as_flags_say():
    parser = argparse.ArgumentParser()
    add_plugin_options(parser)
    names = {report.name for report in boot(parser.parse_args([])).reports if report.state == "active"}
    assert names == {"core", "kernelet.testing.null:plugin"}
    with pytest.raises(UnknownPluginError, match="nope"):
        boot(parser.parse_args(["--plugins", "nope"]))
