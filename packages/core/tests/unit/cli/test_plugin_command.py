from __future__ import annotations

import argparse

import pytest

from kernelet.cli.plugin_command import Context, PluginCommand
from kernelet.contracts.commands import Command
from kernelet.contracts.executor import SchedulerOffer
from kernelet.errors import ModelNotFoundError


class Asks(Command):
    def configure(self, parser):
        parser.add_argument("model")

    def run(self, options, context):
        before = context.plugins()
        self.config = context.engine(options.model)
        self.kept = context.plugins() is not before
        self.offers = [owned.offer.name for owned in context.plugins().offers(SchedulerOffer)]
        return 3


def parsed(command, *arguments):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return parser.parse_args(arguments)


def test_it_is_given_the_configuration_of_an_engine(null_folder):
    asks = Asks()
    command = PluginCommand(asks)
    assert command.run(parsed(command, str(null_folder))) == 3
    assert (asks.config.model.path, asks.kept) == (str(null_folder), True)
    assert "fcfs" in asks.offers


def test_plugins_are_booted_once(null_folder):
    context = Context(parsed(PluginCommand(Asks()), str(null_folder)))
    assert context.plugins() is context.plugins()
    with pytest.raises(ModelNotFoundError):
        context.engine("no/such/model/here")
