"""What is served and by whom: decided from the options and the plugins, before anything is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelet.contracts.plugins import Owned, PluginView
from kernelet.contracts.serving import EndpointOffer, Server, ServerOffer
from kernelet.errors import ConfigError
from kernelet.serve.endpoints import check_prefixes


@dataclass(frozen=True, kw_only=True)
class ServePlan:
    """The choice.

    Attributes:
        server: The selected server.
        server_class: Its class.
        endpoints: Those that were named, in order.
        served_model_names: The first is shown in answers.
        num_frontends: Processes that share the port.
    """

    server: Owned[ServerOffer]
    server_class: type[Server]
    endpoints: tuple[Owned[EndpointOffer], ...]
    served_model_names: tuple[str, ...]
    num_frontends: int


def make_plan(
    plugins: PluginView,
    server: str | None,
    endpoints: Sequence[str],
    served_model_names: Sequence[str],
    num_frontends: int = 1,
) -> ServePlan:
    """Selects the server and the endpoints, and checks the server's options.

    Raises:
        SelectionError: one of them does not exist; lists the choices.
        PluginError: the server cannot be imported.
        ConfigError: options of the server, prefixes, or names that do not fit.
    """
    chosen = plugins.select(ServerOffer, server).chosen
    found = tuple(plugins.select(EndpointOffer, name).chosen for name in dict.fromkeys(endpoints))
    check_prefixes(chosen, found)
    names = tuple(dict.fromkeys(served_model_names))
    if not all(name.strip() for name in names):
        raise ConfigError("--served-model-name: got an empty name")
    made: type[Server] = plugins.load(chosen)
    made.check_settings(plugins.settings(chosen.plugin))
    return ServePlan(
        server=chosen, server_class=made, endpoints=found, served_model_names=names, num_frontends=num_frontends
    )
