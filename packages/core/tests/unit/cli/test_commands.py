from __future__ import annotations

import importlib.metadata
from types import SimpleNamespace

import pytest

from kernelet.cli.commands import GROUP, OWN, all_commands
from kernelet.cli.commands import Command as Entry
from kernelet.cli.main import main
from kernelet.contracts.commands import Command


class Point:
    def __init__(self, name, value, dist=None, summary=""):
        self.name, self.value = name, value
        self.dist = dist and SimpleNamespace(name=dist, metadata={"Summary": summary})

    def __lt__(self, other):
        return self.name < other.name


class Doubled(Command):
    """Prints the double."""

    def configure(self, parser):
        parser.add_argument("number", type=int)

    def run(self, options, context):
        print(2 * options.number, sorted(report.name for report in context.plugins().reports))
        return 7


@pytest.mark.parametrize("command", OWN, ids=lambda command: command.name)
def test_every_command_can_be_loaded(command):
    module = command.load()
    assert callable(module.configure)
    assert callable(module.run)


@pytest.fixture
def install(monkeypatch):
    def install(*points):
        def entry_points(group):
            assert group == GROUP
            return points

        monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)

    return install


def test_plugins_add_commands_but_take_no_name_of_the_cores(install, capsys):
    install(Point("quantize", "kernelet_tools.cli"), Point("run", "evil.run"))
    commands = all_commands()
    assert commands["quantize"].target == "kernelet_tools.cli"
    assert commands["run"].target == "kernelet.cli.run"
    assert "'run' is that of kernelet-core; evil.run has one of that name" in capsys.readouterr().err


def test_the_first_distribution_keeps_a_name(install, capsys):
    install(
        Point("try", "b.cli", "kernelet-b", "Tries b"),
        Point("try", "a.cli", "kernelet-a", "Tries a"),
        Point("try", "a.cli", "kernelet-a", "Tries a"),
    )
    found = all_commands()["try"]
    assert (found.target, found.help) == ("a.cli", "Tries a (kernelet-a)")
    assert capsys.readouterr().err.count("\n") == 1


def test_a_command_class_is_given_the_plugins(install, capsys):
    install(Point("double", f"{__name__}:Doubled", "kernelet-double", "Doubles"))
    assert main(["double", "21", "--plugins", "kernelet.testing.null:plugin"]) == 7
    printed = capsys.readouterr().out
    assert printed.startswith("42 [")
    assert "'core', 'kernelet.testing.null:plugin'" in printed
    assert main(["double", "21", "--plugins", "nope"]) == 1
    assert "nope" in capsys.readouterr().err


def test_a_target_may_name_an_object():
    assert Entry(name="x", target="kernelet.cli.commands:OWN", help="").load() is OWN
