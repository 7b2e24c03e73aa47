from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from kernelet.config import KVTransferConfig
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.plugins import Choice, Owned
from kernelet.engine.request_checks import argument_validators, connector_params
from kernelet.testing.null.harness import null_engine_config

CONFIG = null_engine_config()
CONNECTOR = KVConnectorOffer(name="pull", target="t", worker="w", params=("remote",))


class Plugins:
    """One of each kind; the policy takes arguments if it is told to."""

    def __init__(self, *, takes=False):
        self.policy = SchedulerOffer(name="fcfs", target="p", takes_extra_args=takes)

    def select(self, kind, name=None):
        offer = self.policy if kind is SchedulerOffer else CONNECTOR
        assert name in {None, offer.name}
        return Choice(chosen=Owned(offer=offer, plugin=f"of-{offer.name}"), reason="")

    def load(self, owned, target=None):
        return SimpleNamespace(validate_params=owned.offer.name.upper)


def test_a_policy_checks_arguments_if_it_takes_some():
    assert argument_validators(Plugins(), CONFIG) == {}
    assert set(argument_validators(Plugins(takes=True), CONFIG)) == {"of-fcfs"}


def test_connectors_that_run_check_their_parameters():
    assert connector_params(Plugins(), CONFIG) == []
    (found,) = connector_params(Plugins(), replace(CONFIG, kv_transfer=KVTransferConfig(connectors=("pull",))))
    assert (found.name, found.keys, found.validate()) == ("pull", ("remote",), "PULL")
