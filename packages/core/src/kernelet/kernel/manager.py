"""The kernel of one process: plugins loaded once, registries sealed, selections with their reasons."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from kernelet.config import EngineConfig, PluginsConfig
from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.contracts.lifecycle import ProcessRole
from kernelet.contracts.model import HFConfig, ModelArchitectureOffer, ModelInfo, ModelSource, ModelSourceOffer
from kernelet.contracts.offer import Offer, Settings
from kernelet.contracts.op import OpOffer, Role, WeightKernelOffer, WeightScheme
from kernelet.contracts.platform import PlatformChoice, PlatformConfig, PlatformOffer
from kernelet.contracts.plugins import Choice, Owned
from kernelet.errors import ConfigError, PluginError
from kernelet.kernel import deprecations, drift, models
from kernelet.kernel.boot import fail, resolve_settings
from kernelet.kernel.configure import Changes, RecordedChange
from kernelet.kernel.failure import Contained, Failure
from kernelet.kernel.kinds import KINDS, kind_of
from kernelet.kernel.lifecycle import Lifecycle
from kernelet.kernel.loader import import_target
from kernelet.kernel.lock import Lock, make_lock, read_lock
from kernelet.kernel.manifest import Manifest, make_manifest
from kernelet.kernel.older.adapt import as_today
from kernelet.kernel.record import Record
from kernelet.kernel.report import PluginReport
from kernelet.kernel.select import attention, ops, pick, relations
from kernelet.kernel.select import platform as platforms
from kernelet.kernel.settings import NO_ORIGINS, Origins
from kernelet.kernel.start import Start, start, start_from

O = TypeVar("O", bound=Offer)  # noqa: E741 - for Offer
logger = logging.getLogger("kernelet.kernel")


class Kernel:
    """The plugins of one process; implements ``kernelet.contracts.plugins.PluginView``.

    A process may hold several, with different plugins; nothing of a kernel is global.

    Attributes:
        config: What the operator said about plugins.
        role: What this process does.
        hooks: The facade over the active plugins' hooks.
        lifecycle: Tells plugins what happens: ``process_started``, ``engine_started``, ...
        notices: Remarks about installed metadata, for people.
        platform_choice: Why the platform was selected, and why others were not; None before ``select_platform``.
        platform_config: The selected platform's configuration half; None before ``select_platform``.
        config_changes: What ``configure`` changed, by whom.
    """

    def __init__(self, start: Start, config: PluginsConfig, role: ProcessRole) -> None:
        """Use ``Kernel.boot`` or ``Kernel.from_manifest``."""
        self.config = config
        self.role = role
        self.notices = start.notices
        self.platform_choice: Choice[PlatformOffer] | None = None
        self.platform_config: PlatformConfig | None = None
        self.config_changes: tuple[RecordedChange, ...] = ()
        self.hooks = start.booted.hooks
        self._booted = start.booted
        self._allow = start.allow
        self._lock = start.lock
        self._registry = start.booted.registry
        self._platform: PlatformChoice | None = None
        self._selected: dict[str, Owned[Any]] = {}
        self._friends = ops.Friends()
        self._manifest: Manifest | None = None
        self.lifecycle = Lifecycle(self.hooks, role, self._take_out, self._note)

    @classmethod
    def boot(
        cls,
        config: PluginsConfig,
        *,
        role: ProcessRole = ProcessRole.FRONTEND,
        plugins: Sequence[object] = (),
        search_path: Sequence[str] | None = None,
        report_only: bool = False,
    ) -> Kernel:
        """Discovers, checks and loads plugins, collects their options and offers, and seals the registries.

        Args:
            config: Allow-list, block-list, names and options.
            role: What this process does.
            plugins: Plugins that a script hands over, as objects or import strings; they count as named.
            search_path: Folders in which distributions are looked for; None means ``sys.path``.
            report_only: No plugin's failure stops the start; ``reports`` has it.

        Raises:
            UnknownPluginError: a listed name is not installed; the message lists what is.
            LockError: what would run is not what the lock file ``config.locked`` says.
            PluginError: a plugin that was asked for by name cannot run.
            ConfigError: an option that no plugin has, or of the wrong type.
        """
        return cls(start(config, plugins, search_path, report_only=report_only), config, role)

    @classmethod
    def from_manifest(
        cls,
        manifest: Manifest,
        config: PluginsConfig,
        *,
        role: ProcessRole = ProcessRole.WORKER,
        search_path: Sequence[str] | None = None,
    ) -> Kernel:
        """Loads exactly the plugins of a manifest, in a child process.

        Raises:
            ManifestMismatchError: this process has other plugins; names both sides.
            LockError: they are not what the parent's lock file says.
            PluginError: one of them cannot run here, or only exists as an object of the parent.
        """
        return cls(start_from(manifest, config, role, search_path), config, role)

    @property
    def reports(self) -> tuple[PluginReport, ...]:
        """What became of each plugin, sorted by name."""
        return tuple(record.report() for record in sorted(self._booted.records, key=lambda r: r.name))

    @property
    def manifest(self) -> Manifest:
        """The plugins that run here, with the content of their files."""
        if self._manifest is None:
            self._manifest = make_manifest(self._booted.records, self._lock)
        return self._manifest

    def make_lock(self) -> Lock:
        """What runs here, and what it requires, for a lock file.

        Raises:
            LockError: something of it cannot be locked.
        """
        return make_lock(self._booted.records)

    def check_lock(self, file: str) -> None:
        """Holds what runs here to a lock file.

        Raises:
            LockError: naming both sides of every difference.
        """
        locked = read_lock(file)
        drift.check_installed(locked, self._booted.records)
        drift.check_offers(locked, self._booted.records)

    # --- PluginView ------------------------------------------------------------------------------

    def offers(self, kind: type[O]) -> tuple[Owned[O], ...]:
        """All active offers of a kind, sorted by name."""
        return self._registry.offers(kind)

    def settings(self, plugin: str) -> Settings:
        """A plugin's options, defaults filled in.

        Raises:
            PluginError: if no such plugin is active.
        """
        try:
            return self._booted.settings[plugin]
        except KeyError:
            raise PluginError(f"plugin {plugin!r} is not active here") from None

    def load(self, owned: Owned[Any], target: str | None = None) -> Any:
        """Imports ``offer.target`` or another import string of the offer; a target of an older major is adapted.

        Raises:
            PluginError: whatever went wrong, naming plugin, distribution and import string.
        """
        record = self._record(owned.plugin)
        found = import_target(owned.offer.target if target is None else target, record.candidate)
        deprecations.note_target(record, found)
        return found if target else as_today(owned.offer, found, record.candidate)

    def select(self, kind: type[O], name: str | None = None) -> Choice[O]:
        """Named, else the one with the highest priority.

        Raises:
            SelectionError: it does not exist, nothing is offered, or several are equally good; lists the choices.
        """
        return self._chosen(kind, pick.select(self._request(kind), self.offers(kind), name))

    def select_attention(self, spec: AttentionSpec) -> Choice[AttentionOffer]:
        """The best attention for a layer on the selected platform.

        Raises:
            SelectionError: none fits, with every reason, or the named one does not.
        """
        request = self._request(AttentionOffer, f"layers of kind {spec.kind}", f"--attention-backend {spec.kind}=NAME")
        choice = attention.select_attention(
            request, self.offers(AttentionOffer), spec, self.select_platform(), self.config.attention
        )
        return self._chosen(AttentionOffer, choice)

    def select_weight_kernel(
        self, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]
    ) -> Choice[WeightKernelOffer]:
        """The best kernel for a weight on the selected platform.

        Raises:
            SelectionError: none supports it, with every reason, or the named one does not.
        """
        purpose = f"{role} weights {scheme.describe()} {list(shape)} in {dtype}"
        choice = ops.select_weight_kernel(
            self._request(WeightKernelOffer, purpose, f"--weight-kernel {role}=NAME"),
            self.offers(WeightKernelOffer),
            role,
            scheme,
            dtype,
            shape,
            self.select_platform().capabilities,
            self._friends,
            self.config.kernels,
            self.load,
        )
        return self._chosen(WeightKernelOffer, choice)

    def select_op(self, op: str, dtype: str) -> Choice[OpOffer] | None:
        """The best override of an op; None: use its decomposition.

        Raises:
            SelectionError: several are equally good.
        """
        platform = self.select_platform()
        choice = ops.select_op(
            self._request(OpOffer, op),
            self.offers(OpOffer),
            op,
            dtype,
            platform.capabilities,
            self._platform_plugin(),
            self._friends,
        )
        return choice and self._chosen(OpOffer, choice)

    # --- what only the process's start uses -----------------------------------------------------

    def use_settings(self, settings: Mapping[str, Mapping[str, object]], origins: Origins = NO_ORIGINS) -> None:
        """All options of plugins, in place of those that it booted with; ConfigError if one cannot be."""
        self._booted.settings = resolve_settings(self._booted.records, settings, origins)
        self.config = dataclasses.replace(self.config, settings=settings)

    def select_platform(self) -> PlatformChoice:
        """The platform: named, else the single available one of the highest priority. Selected once.

        Raises:
            SelectionError: none, several, or one that failed; lists them and the flag.
            PluginError: its configuration half cannot be made.
        """
        if self._platform is not None:
            return self._platform
        request, offers = self._request(PlatformOffer), self.offers(PlatformOffer)
        if self.config.platform is not None:
            choice = platforms.named_platform(request, offers, self.config.platform, self.load)
        else:
            choice = platforms.best_platform(request, self.probe_platforms())
        owned = choice.chosen
        facts = None
        with Contained() as box:
            config = self.load(owned, owned.offer.config)(self.settings(owned.plugin))
            facts = platforms.describe_platform(owned.offer.name, config)
        if facts is None or box.failure:
            reason = box.failure.reason if box.failure else ""
            raise PluginError(
                f"Platform {owned.offer.name!r} (plugin {owned.plugin}) was selected and failed: {reason}. "
                f"No other takes its place unasked."
            ) from (box.failure.error if box.failure else None)
        self._platform, self.platform_choice, self.platform_config = facts, choice, config
        self._chosen(PlatformOffer, choice)
        self._friends = ops.friends_of(owned.plugin, self._booted.records, self._allow)
        ops.check_options(self.config.settings, self._booted.records, self._friends)
        return facts

    def probe_platforms(self) -> tuple[platforms.Probed, ...]:
        """Probes every platform and notes in the reports which declined or failed; raises nothing."""
        probed = tuple(platforms.probe(owned, self.load) for owned in self.offers(PlatformOffer))
        for one in probed:
            self._record(one.owned.plugin).remarks["platform", one.owned.offer.name] = one.remark
        return probed

    def configure(self, config: EngineConfig) -> EngineConfig:
        """The configuration with the changes of the platform, then of plugins by name; names the selected platform.

        Raises:
            ConfigError: it cannot work on the platform, or two authors want different values.
            PluginError: a plugin that was asked for by name failed.
        """
        platform = self.select_platform()
        config = dataclasses.replace(config, plugins=dataclasses.replace(config.plugins, platform=platform.name))
        changes = Changes(config)
        assert self.platform_config is not None
        with Contained() as box:
            changes.apply(self._platform_plugin(), self.platform_config.check_and_update_config(config))
        self._settle(self._platform_plugin(), box.failure)
        for answer in self.hooks.lifecycle.configure(changes.config):
            with Contained() as box:
                if answer.failure is None:
                    changes.apply(answer.plugin, answer.value)
            self._settle(answer.plugin, answer.failure or box.failure)
        self.config_changes = tuple(changes.recorded)
        return changes.config

    def model_source(self, name: str) -> ModelSource | None:
        """The source of a model's name, or of the file of that path; None: no plugin knows it.

        Raises:
            PluginError: the source cannot be made.
        """
        return models.model_source(name, self.offers(ModelSourceOffer), self.load, self.settings)

    def absent_sources(self) -> str:
        """Plugins that might know a model's name and do not run here, for messages."""
        return models.absent_sources(self._booted.records)

    def architecture(
        self, names: Sequence[str], hf_config: HFConfig
    ) -> tuple[Owned[ModelArchitectureOffer], ModelInfo]:
        """Who serves a checkpoint's ``architectures``, and what the frontend must know of the model.

        Raises:
            UnsupportedModelError: nobody, or not this configuration.
            PluginError: the plugin's description failed.
        """
        owned, info = models.architecture(
            names, hf_config, self.offers(ModelArchitectureOffer), self.load, self._booted.records
        )
        self._selected[f"model:{owned.offer.name}"] = owned
        return owned, info

    def check_selected(self) -> None:
        """Checks ``requires`` and ``conflicts`` of everything selected so far, together; called when the plan is made.

        Raises:
            SelectionError: listing all that does not fit.
        """
        unselected = {kind: self.offers(kind.offer) for kind in KINDS if not kind.flag}
        present = {kind.key(o.offer) for kind, offers in unselected.items() for o in offers}
        running = {kind.key(o.offer): o for kind, offers in unselected.items() if kind.all_run for o in offers}
        relations.check_relations(self._selected | running, present)

    def make_all(self, kind: type[Offer], *arguments: object) -> list[tuple[str, Any]]:
        """Makes the object of every offer of a kind, with its offer's name; a plugin that cannot make its own goes.

        Args:
            kind: The kind.
            arguments: What the contract gives its classes beside the settings.

        Raises:
            PluginError: that plugin was asked for by name, or something of it is in use.
        """
        made: dict[str, Any] = {}
        for owned in self.offers(kind):
            if owned in self.offers(kind):  # not of a plugin that went meanwhile
                with Contained() as box:
                    made[owned.offer.name] = self.load(owned)(self.settings(owned.plugin), *arguments)
                if box.failure:
                    self._take_out(owned.plugin, box.failure)
        return [(owned.offer.name, made[owned.offer.name]) for owned in self.offers(kind)]

    # --- inside ----------------------------------------------------------------------------------

    def _record(self, plugin: str) -> Record:
        return next(record for record in self._booted.records if record.name == plugin and record.plugin is not None)

    def _request(self, kind: type[Offer], purpose: str = "", how: str = "") -> pick.Request:
        return pick.Request(kind=kind_of(kind), records=self._booted.records, purpose=purpose, how=how)

    def _chosen(self, kind: type[Offer], choice: Choice[O]) -> Choice[O]:
        self._selected[kind_of(kind).key(choice.chosen.offer)] = choice.chosen
        return choice

    def _platform_plugin(self) -> str:
        return self.platform_choice.chosen.plugin if self.platform_choice else ""

    def _settle(self, plugin: str, failure: Failure | None) -> None:
        """A configuration that cannot work stops the start, whoever says so; another failure takes its plugin out."""
        if failure and isinstance(failure.error, ConfigError):
            raise ConfigError(f"plugin {plugin!r}: {failure.reason}") from failure.error
        if failure:
            self._take_out(plugin, failure)

    def _take_out(self, plugin: str, failure: Failure) -> None:
        """A plugin failed after its offers were registered: it goes wholly, or the start stops."""
        record = self._record(plugin)
        fail(record, failure)
        if self._allow.must_load(record.candidate):
            raise PluginError(f"{record.message()}. It was asked for by name.") from failure.error
        in_use = sorted(key for key, owned in self._selected.items() if owned.plugin == plugin)
        if in_use:
            raise PluginError(f"{record.message()}. {', '.join(in_use)} of it is in use.") from failure.error
        self._booted.host.unregister(plugin)
        self._registry = self._registry.without(plugin)
        self._manifest = None
        logger.warning("%s", record.message())

    def _note(self, plugin: str, failure: Failure) -> None:
        logger.warning("plugin %r failed while stopping: %s", plugin, failure.reason)
