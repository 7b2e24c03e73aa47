from __future__ import annotations

from kernelet.cli.print_config import print_configured
from kernelet.contracts.lifecycle import ConfigChange
from kernelet.engine.bootstrap import configure_engine
from kernelet.engine.option_sources import resolve_options
from kernelet.hookspecs import hookimpl


class Changer:
    name = "changer"

    @hookimpl
    def kernelet_configure(self, config):
        return (ConfigChange(path="cache.block_size", value=8, reason="eight is nice"),)


def test_a_plugins_change_is_shown_with_its_author(null_folder, capsys):
    print_configured(configure_engine(null_folder, resolve_options({}), [Changer()]))
    lines = capsys.readouterr().out.splitlines()
    (changed,) = [line for line in lines if line.startswith("cache.block_size")]
    assert changed.split(maxsplit=2)[1:] == ["8", "changer: eight is nice"]
    (platform,) = [line for line in lines if line.startswith("plugins.platform")]
    assert "named" in platform
