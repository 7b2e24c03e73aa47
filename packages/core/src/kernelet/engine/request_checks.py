"""What plugins check of each request, in the frontend."""

from __future__ import annotations

from kernelet.config import EngineConfig
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.sampling import LogitsProcessorOffer
from kernelet.request.extra_args import Validators, by_plugin
from kernelet.request.kv_params import ConnectorParams


def argument_validators(plugins: PluginView, config: EngineConfig) -> Validators:
    """Checks of ``extra_args`` by plugin: those of the logits processors that run, and of the order of requests."""
    found = [plugins.select(LogitsProcessorOffer, name).chosen for name in config.plugins.logits_processors]
    checks = [(owned.plugin, plugins.load(owned).validate_params) for owned in found]
    policy = plugins.select(SchedulerOffer, config.scheduler.policy).chosen
    if policy.offer.takes_extra_args:
        checks.append((policy.plugin, plugins.load(policy).validate_params))
    return by_plugin(checks)


def connector_params(plugins: PluginView, config: EngineConfig) -> list[ConnectorParams]:
    """Who checks ``kv_transfer_params``: the KV connectors that run."""
    found = [plugins.select(KVConnectorOffer, name).chosen for name in config.kv_transfer.connectors]
    return [
        ConnectorParams(name=owned.offer.name, keys=owned.offer.params, validate=plugins.load(owned).validate_params)
        for owned in found
    ]
