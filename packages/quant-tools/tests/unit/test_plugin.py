from __future__ import annotations

from importlib.metadata import entry_points

from kernelet.cli.commands import GROUP
from kernelet_quant_tools.plugin import kernelet_options


def test_options_have_defaults_and_help():
    schema = kernelet_options().schema
    assert set(schema) == {"shard_mb", "sample_rows"}
    assert all(option.default > 0 and option.help for option in schema.values())


def test_the_command_is_an_entry_point():
    (point,) = {point.value for point in entry_points(group=GROUP) if point.name == "quantize"}
    assert point == "kernelet_quant_tools.command:Quantize"
