from __future__ import annotations

import importlib.metadata

import pytest

from kernelet.cli.commands import GROUP, OWN, Command, all_commands


class Point:
    dist = None

    def __init__(self, name, value):
        self.name, self.value = name, value


@pytest.mark.parametrize("command", OWN, ids=lambda command: command.name)
def test_every_command_can_be_loaded(command):
    module = command.load()
    assert callable(module.configure)
    assert callable(module.run)


def test_plugins_add_commands_but_take_no_name_of_the_cores(monkeypatch):
    def entry_points(group):
        assert group == GROUP
        return [Point("quantize", "kernelet_tools.cli"), Point("run", "evil.run")]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    commands = all_commands()
    assert commands["quantize"].target == "kernelet_tools.cli"
    assert commands["run"].target == "kernelet.cli.run"


def test_a_target_may_name_an_object():
    assert Command(name="x", target="kernelet.cli.commands:OWN", help="").load() is OWN
