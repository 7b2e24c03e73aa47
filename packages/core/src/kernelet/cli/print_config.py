"""``--print-config``: every value and who set it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kernelet.cli.output import print_table
from kernelet.engine.options import AUTO

if TYPE_CHECKING:
    from kernelet.engine.bootstrap import Configured
    from kernelet.engine.option_sources import ResolvedOptions
    from kernelet.serve.options import ResolvedServeOptions

SECRET = re.compile(
    r"(keys?|secrets?|passwords?|passphrase|credentials|(^|[._])token|(auth|access|api)_tokens)$", re.IGNORECASE
)
"""Names of settings whose values are not shown; ``max_tokens`` and ``api_key_file`` are."""


def print_config(model: str, resolved: ResolvedOptions) -> int:
    """Decides on an engine without starting it, and prints what was decided."""
    from kernelet.engine.bootstrap import configure_engine

    print_configured(configure_engine(model, resolved))
    return 0


def print_serving(model: str, resolved: ResolvedOptions, serving: ResolvedServeOptions) -> int:
    """The same for ``kernelet serve``, whose own options come first."""
    from kernelet.serve.launch import configure

    configured, plan = configure(model, resolved, serving.options)
    rows = [(name, show(getattr(serving.options, name)), source) for name, source in serving.sources.items()]
    rows.append(("serve.server", plan.server.offer.name, f"plugin {plan.server.plugin}"))
    rows.append(("serve.served_model_names", ", ".join(plan.served_model_names), "serve"))
    rows += [("serve.endpoint", f"{one.offer.name} at {one.offer.prefix}", one.plugin) for one in plan.endpoints]
    print_configured(configured, rows)
    return 0


def print_configured(configured: Configured, before: Sequence[tuple[str, str, str]] = ()) -> None:
    """The user's options with their sources, then what the model, the platform and plugins decided."""
    resolved, config = configured.resolved, configured.config
    rows = list(before)
    rows += [(name, show(hidden(getattr(resolved.options, name))), source) for name, source in resolved.sources.items()]
    model = config.model
    rows += [
        ("model.path", model.path, "model"),
        ("model.architecture", model.architecture, "model"),
        ("model.dtype", model.dtype, "model" if resolved.options.dtype == "auto" else resolved.sources["dtype"]),
        ("model.max_model_len", show(model.max_model_len), "model"),
        ("plugins.platform", configured.platform.name, reason(configured)),
        *(
            (f"plugins.{name}", show(getattr(config.plugins, name)), "the chat template")
            for name in ("tool_call_parser", "reasoning_parser")
            if getattr(resolved.options, name) == AUTO
        ),
    ]
    rows += [
        (recorded.change.path, show(recorded.change.value), f"{recorded.author}: {recorded.change.reason}")
        for recorded in configured.kernel.config_changes
    ]
    print_table(("OPTION", "VALUE", "SET BY"), rows)


def hidden(value: object) -> object:
    """Plugins' settings without what may be a secret."""
    if not isinstance(value, Mapping):
        return value
    return {
        key: hidden(entry) if isinstance(entry, Mapping) else "***" if SECRET.search(str(key)) else entry
        for key, entry in value.items()
    }


def reason(configured: Configured) -> str:
    """Why the platform was selected."""
    choice = configured.kernel.platform_choice
    return choice.reason if choice is not None else ""


def show(value: object) -> str:
    """A value in a cell."""
    return "-" if value is None else str(value)
