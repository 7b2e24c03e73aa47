"""``--print-config``: every value and who set it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.cli.output import print_table

if TYPE_CHECKING:
    from kernelet.engine.bootstrap import Configured
    from kernelet.engine.option_sources import ResolvedOptions


def print_config(model: str, resolved: ResolvedOptions) -> int:
    """Decides on an engine without starting it, and prints what was decided."""
    from kernelet.engine.bootstrap import configure_engine

    print_configured(configure_engine(model, resolved))
    return 0


def print_configured(configured: Configured) -> None:
    """The user's options with their sources, then what the model, the platform and plugins decided."""
    resolved, config = configured.resolved, configured.config
    rows = [(name, show(getattr(resolved.options, name)), source) for name, source in resolved.sources.items()]
    model = config.model
    rows += [
        ("model.path", model.path, "model"),
        ("model.architecture", model.architecture, "model"),
        ("model.dtype", model.dtype, "model" if resolved.options.dtype == "auto" else resolved.sources["dtype"]),
        ("model.max_model_len", show(model.max_model_len), "model"),
        ("plugins.platform", configured.platform.name, reason(configured)),
    ]
    rows += [
        (recorded.change.path, show(recorded.change.value), f"{recorded.author}: {recorded.change.reason}")
        for recorded in configured.kernel.config_changes
    ]
    print_table(("OPTION", "VALUE", "SET BY"), rows)


def reason(configured: Configured) -> str:
    """Why the platform was selected."""
    choice = configured.kernel.platform_choice
    return choice.reason if choice is not None else ""


def show(value: object) -> str:
    """A value in a cell."""
    return "-" if value is None else str(value)
