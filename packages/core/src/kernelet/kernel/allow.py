"""Which plugins may run: the allow-list, names added to the default, and the block-list."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kernelet.config import PluginsConfig
from kernelet.errors import ConfigError, UnknownPluginError
from kernelet.kernel.discovery import Candidate


@dataclass(frozen=True, kw_only=True)
class AllowList:
    """What the operator said about plugins.

    Attributes:
        only: Nothing else may load; None: everything may.
        named: Names that the operator wrote out: their opt-in offers are active, and their failure stops the start.
        blocked: Names taken away, whatever else was said.
        required: Further names whose failure stops the start (the plugins of a manifest).
        report_only: Nobody's failure stops the start: whoever asks wants to hear of it.
        origin: Where ``only`` comes from, for messages.
    """

    only: frozenset[str] | None = None
    named: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    report_only: bool = False
    origin: str = "KERNELET_PLUGINS / --plugins"

    @classmethod
    def from_config(cls, config: PluginsConfig) -> AllowList:
        """Reads ``allow`` (None, or names of which some have a leading ``+``) and ``block``.

        Raises:
            ConfigError: a ``+`` without a name.
        """
        entries = [entry.strip() for entry in config.allow or () if entry.strip()]
        if "+" in entries:
            raise ConfigError(
                "KERNELET_PLUGINS / --plugins has a + without a name: write +NAME to add a plugin to the default"
            )
        plain = frozenset(entry for entry in entries if not entry.startswith("+"))
        added = frozenset(entry[1:].strip() for entry in entries if entry.startswith("+"))
        everything = config.allow is None or (bool(added) and not plain)
        return cls(
            only=None if everything else plain | added,
            named=plain | added,
            blocked=frozenset(name.strip() for name in config.block),
        )

    def refusal(self, name: str, *, always: bool = False) -> str:
        """Why a plugin must not be loaded; empty if it may. ``always``: only the block-list can take it away."""
        if name in self.blocked:
            return "named in KERNELET_PLUGINS_BLOCK / --plugins-block"
        if self.only is None or name in self.only or always:
            return ""
        return f"not in the list {self.origin}"

    def names(self, candidate: Candidate) -> bool:
        """Whether the operator wrote the plugin's name, or handed the plugin over."""
        return candidate.handed or candidate.name in self.named

    def must_load(self, candidate: Candidate) -> bool:
        """Whether the plugin's failure stops the start."""
        return not self.report_only and (self.names(candidate) or candidate.name in self.required)

    def check_names(self, candidates: Sequence[Candidate]) -> tuple[str, ...]:
        """Finds names that match nothing.

        Returns:
            Remarks about blocked names that are not installed: harmless, or a typing error.

        Raises:
            UnknownPluginError: a listed name is not installed; the message lists what is.
        """
        found = {candidate.name for candidate in candidates}
        missing = sorted((self.named | self.required) - found)
        if missing:
            raise UnknownPluginError(_missing_message(missing, candidates))
        return tuple(
            f"KERNELET_PLUGINS_BLOCK names {name!r}, which is not installed{close_to(name, found)}"
            for name in sorted(self.blocked - found)
        )


def _missing_message(missing: Sequence[str], candidates: Sequence[Candidate]) -> str:
    found = {candidate.name for candidate in candidates}
    names = ", ".join(f"{name!r}{close_to(name, found)}" for name in missing)
    lines = [
        f"  {candidate.name}: {candidate.origin}" + (f" ({candidate.problem})" if candidate.problem else "")
        for candidate in candidates
    ]
    return (
        f"No plugin is installed under the listed name {names}. Install its package in this environment or take the "
        "name out of KERNELET_PLUGINS / --plugins. Found:\n" + "\n".join(lines)
    )


def close_to(name: str, choices: Collection[str]) -> str:
    """`` (did you mean ...?)`` where a choice looks alike, else nothing."""
    matches = difflib.get_close_matches(name, sorted(choices), n=2)
    return f" (did you mean {' or '.join(matches)}?)" if matches else ""
