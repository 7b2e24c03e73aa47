"""The suite of packages: metadata that is right, and plugins that register the same everywhere and touch nothing."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import pytest
from packaging.version import InvalidVersion, Version

from kernelet.contracts.versions import API_VERSIONS, ApiVersion
from kernelet.hookspecs import DOMAINS
from kernelet.kernel.compat import CONTRACTS, CORE, version_mismatch
from kernelet.kernel.doctor.conformance import GROUP
from kernelet.testing.interpreter import call_fresh
from kernelet.testing.package.imports import undeclared
from kernelet.testing.package.metadata import Installed
from kernelet.testing.registration.probe import Facts
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import check

PLUGIN_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
RELATION = re.compile(r"(?P<domain>[a-z_]+):[^:,\s][^:,]*")
SECONDS = 0.3
"""What importing a plugin and calling its hooks may cost; a few milliseconds do."""
FACTS = pytest.StashKey[Facts]()


@dataclass(frozen=True, kw_only=True)
class PackageCapabilities:
    """What is special about a package.

    Attributes:
        device_modules: Top-level modules that are only there on machines with the device: no requirement brings them,
            and an implementation that cannot be imported for lack of one is not judged.
    """

    device_modules: frozenset[str] = frozenset()


class PackageSuite(Suite):
    """Fixture ``distribution``: the name of the installed distribution."""

    capabilities: ClassVar[PackageCapabilities] = PackageCapabilities()

    @pytest.fixture
    def distribution(self) -> str:
        raise NotImplementedError("give the fixture `distribution`: the name of your installed distribution")

    @pytest.fixture
    def installed(self, distribution: str) -> Installed:
        """Its metadata."""
        return Installed.find(distribution)

    @pytest.fixture
    def seen(self, installed: Installed, request: pytest.FixtureRequest) -> Facts:
        """What its plugins did in a process of their own; asked once a class."""
        stash: pytest.Stash = request.node.parent.stash
        if FACTS not in stash:
            stash[FACTS] = look(installed, self.capabilities)
        return stash[FACTS]

    @pytest.fixture
    def facts(self, seen: Facts) -> Facts:
        """The same, of plugins that load."""
        if seen.failure:
            pytest.skip("test_loads says what is wrong")
        return seen

    # --- metadata --------------------------------------------------------------------------------

    def test_names(self, installed: Installed) -> None:
        check(installed.plugins, "the distribution needs an entry point of the group kernelet.plugins")
        if installed.is_core:
            pytest.skip("the core's names are its own")
        package = installed.name.replace("-", "_")
        for name, value in installed.plugins.items():
            check(
                PLUGIN_NAME.fullmatch(name) and "kernelet" not in name,
                f"the plugin {name!r} must be named like platform-acme: kind and name, of small letters and digits "
                "with hyphens between them, without kernelet",
            )
            check(
                re.split(r"[.:]", value)[0] == package,
                f"the module of the plugin {name!r} must lie in the package {package}, named like its distribution",
            )
        for point in installed.points(GROUP):
            check(point.name in installed.plugins, f"kernelet.conformance must name an own plugin, not {point.name!r}")

    def test_version(self, installed: Installed) -> None:
        version = installed.metadata.version
        try:
            Version(version)
        except InvalidVersion:
            check(ok=False, sentence=f"the version {version!r} must be one that pip can compare (PEP 440)")
        for folder in installed.folders():
            text = (folder / "__init__.py").read_text(encoding="utf-8") if (folder / "__init__.py").exists() else ""
            stated = re.search(r"^__version__\s*(?::\s*\w+)?=\s*[\"']([^\"']+)[\"']", text, re.MULTILINE)
            check(
                stated is None or stated[1] == version,
                "the package's __version__ must be the version of its distribution",
            )

    def test_requires_the_core(self, installed: Installed) -> None:
        if installed.is_core:
            pytest.skip("it is the core")
        found = installed.core_requirements
        check(len(found) == 1, "the distribution must require kernelet-core, once")
        operators = {clause.operator for clause in found[0].specifier}
        check(
            operators - {"!="} == {">="},
            f"kernelet-core must be required from below and not from above, {CORE}>=X: the contracts' versions say "
            "what does not fit",
        )

    def test_declares_what_it_imports(self, installed: Installed) -> None:
        found = undeclared(
            installed.modules(), installed.packages, installed.required, self.capabilities.device_modules
        )
        check(not found, f"every import must be brought by a requirement, which {', '.join(found)} is not")

    def test_is_typed_and_licensed(self, installed: Installed) -> None:
        for package in installed.packages:
            typed = any((folder / "py.typed").is_file() for folder in installed.folders_of(package))
            check(typed, f"the package {package} must have a file py.typed (PEP 561)")
        headers = installed.metadata.metadata
        named = any(headers.get_all(name) for name in ("License-Expression", "License"))
        check(
            named and installed.license_files(),
            "the distribution must name its license and hold its text (license and license-files of pyproject.toml)",
        )

    def test_record_is_what_is_there(self, installed: Installed) -> None:
        if installed.editable:
            pytest.skip("a checkout that was installed in place: what its wheel holds shows where that is installed")
        damaged, unrecorded = installed.damaged(), installed.unrecorded()
        check(not damaged, f"files must be what the wheel's RECORD says, which {', '.join(damaged)} is not")
        check(not unrecorded, f"every file must be in the wheel's RECORD, which lacks {', '.join(unrecorded)}")

    # --- registration ----------------------------------------------------------------------------

    def test_imports_nothing_heavy(self, seen: Facts) -> None:
        names = ", ".join(dict.fromkeys(seen.heavy))
        check(
            not seen.heavy,
            "plugin.py must import kernelet.hookspecs, kernelet.contracts and plain data of kernelet packages that it "
            f"requires, not {names}: put it behind an import string",
        )

    def test_loads(self, seen: Facts) -> None:
        check(not seen.failure, f"every plugin of the distribution must load: {seen.failure}")

    def test_is_quick(self, facts: Facts) -> None:
        check(
            facts.seconds < SECONDS,
            "importing a plugin and calling its hooks must take milliseconds: every command waits for it",
        )

    def test_states_its_contracts(self, facts: Facts, installed: Installed) -> None:
        if installed.is_core:
            pytest.skip("it is the core")
        for domain, value in installed.apis.items():
            if not value.startswith(CONTRACTS):
                continue  # a domain that another plugin brought
            check(
                domain in API_VERSIONS and re.fullmatch(rf"kernelet\.contracts\.{domain}:v\d+", value),
                f"kernelet.api must name contracts as {domain} = kernelet.contracts.{domain}:v1, not {value!r}",
            )
            mismatch = version_mismatch(domain, stated(value), None, API_VERSIONS[domain])
            check(not mismatch, f"the contracts of kernelet.api must be served by this core: the package {mismatch}")
        for hook in facts.hooks:
            domain = domain_of(hook)
            check(
                not domain or domain in installed.apis,
                f"kernelet.api must name the contract of every hook: {hook} belongs to {domain}",
            )
        for offer in facts.offers:
            majors = {ApiVersion.parse(offer.api).major, stated(installed.apis.get(offer.domain, ""))}
            check(
                len(majors) == 1,
                f"the {offer.label} {offer.name!r} must have the major of {offer.domain} that kernelet.api states",
            )

    # --- re-entrancy -----------------------------------------------------------------------------

    def test_hooks_change_nothing(self, facts: Facts) -> None:
        check(not facts.changed, f"hooks must change nothing, but they changed {', '.join(facts.changed)}")

    def test_hooks_return_the_same_twice(self, facts: Facts) -> None:
        check(
            not facts.unequal,
            f"hooks that are called twice must return equal offers: {', '.join(facts.unequal)} was another",
        )

    def test_children_agree(self, facts: Facts) -> None:
        for method, unequal in facts.elsewhere.items():
            check(
                not unequal,
                f"hooks must return equal offers in every process: in a child by {method}, {', '.join(unequal)} is "
                "another",
            )

    # --- offers ----------------------------------------------------------------------------------

    def test_offers_are_data(self, facts: Facts) -> None:
        check(not facts.unplain, f"an offer must be plain data, the same bytes in every process: {facts.unplain}")
        for offer in facts.offers:
            for relation in (*offer.requires, *offer.conflicts):
                found = RELATION.fullmatch(relation)
                check(
                    found and found["domain"] in API_VERSIONS,
                    f"requires and conflicts must name offers as domain:name, which {relation!r} is not",
                )
                check(
                    relation != f"{offer.domain}:{offer.name}",
                    f"the {offer.label} {offer.name!r} must not require or exclude itself",
                )

    def test_options_explain_themselves(self, facts: Facts) -> None:
        check(not facts.options, "; ".join(facts.options))

    def test_offers_name_what_is_there(self, facts: Facts) -> None:
        check(not facts.targets, "; ".join(facts.targets))


def look(installed: Installed, capabilities: PackageCapabilities) -> Facts:
    """Loads the distribution's plugins in a fresh interpreter."""
    found = call_fresh(
        "kernelet.testing.registration.probe:look",
        list(installed.plugins),
        [package for one in (installed, *installed.bases) for package in one.packages],
        sorted(capabilities.device_modules),
    )
    return msgspec.convert(found, Facts)


def stated(value: str) -> int:
    """The major that a ``kernelet.api`` entry point names; 0: none."""
    _, _, version = value.partition(":v")
    return int(version) if version.isdigit() else 0


def domain_of(hook: str) -> str:
    """The domain of a hook; empty: a plugin brought it."""
    return next((d for d in DOMAINS if hasattr(importlib.import_module(f"kernelet.hookspecs.{d}"), hook)), "")
