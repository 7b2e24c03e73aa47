"""Checks, from metadata alone, that a plugin was built for this core; done before anything of it is imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from kernelet.contracts.versions import API_VERSIONS, ApiVersion
from kernelet.errors import PluginError
from kernelet.kernel.discovery import Candidate

CORE = "kernelet-core"
CONTRACTS = "kernelet.contracts."


def core_version() -> str:
    """Version of the running core.

    Raises:
        PluginError: if the core runs from a folder that was never installed.
    """
    try:
        return version(CORE)
    except PackageNotFoundError:
        raise PluginError(f"{CORE} has no metadata here; install it (pip install -e packages/core)") from None


def oldest_major(newest: ApiVersion) -> int:
    """The oldest major that the core serves of a domain."""
    return max(1, newest.major - 1)


def incompatibility(candidate: Candidate, core: str, api: Mapping[str, ApiVersion] = API_VERSIONS) -> str:
    """One line that says what the plugin needs and what is here; empty when it fits."""
    needs = _core_mismatch(candidate, core) or _contract_mismatch(candidate, api)
    return f"{candidate.distribution} {candidate.version} {needs}" if needs else ""


def _core_mismatch(candidate: Candidate, core: str) -> str:
    for line in candidate.requirements:
        try:
            requirement = Requirement(line)
        except InvalidRequirement as error:
            return f"has a requirement that cannot be read, {line!r}: {' '.join(str(error).split())}"
        if canonicalize_name(requirement.name) != CORE:
            continue
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if not requirement.specifier.contains(core, prereleases=True):
            return f"needs {CORE}{requirement.specifier}, here is {core}"
    return ""


def _contract_mismatch(candidate: Candidate, api: Mapping[str, ApiVersion]) -> str:
    for domain, value in candidate.api:
        module, _, text = value.partition(":")
        try:
            wanted = ApiVersion.parse(text)
        except ValueError:
            wanted = None
        if wanted is None or (domain in api and module != CONTRACTS + domain):
            form = f"{CONTRACTS}{domain}" if domain in api or module.startswith(CONTRACTS) else "package.module"
            return f"names the contract {domain} as {value!r}, which is not of the form {form}:v1"
        if not module.startswith(CONTRACTS):
            continue  # a contract that another plugin owns
        if domain not in api:
            return f"needs the contract {domain} {text}, this core has none of that name"
        if mismatch := version_mismatch(domain, wanted.major, None, api[domain]):
            return mismatch
    return ""


def version_mismatch(domain: str, major: int, minor: int | None, here: ApiVersion) -> str:
    """Why a contract version cannot be served, empty if it can. ``minor`` None: only the major was stated."""
    oldest = oldest_major(here)
    served = f"v{here.major}" if oldest == here.major else f"v{oldest} and v{here.major}"
    if not oldest <= major <= here.major:
        return f"needs the contract {domain} v{major}, this core serves {served}"
    if minor is not None and major == here.major and minor > here.minor:
        return f"needs the contract {domain} {major}.{minor}, this core has {here}"
    return ""


def upgrade_hint(candidate: Candidate) -> str:
    """What to do about an incompatible plugin."""
    if not all(map(_readable, candidate.requirements)):
        name = candidate.distribution
        return f"the distribution is broken: tell its author, or reinstall it: pip install --force-reinstall {name}"
    return f"upgrade the older of the two: pip install -U {CORE} {candidate.distribution}"


def _readable(requirement: str) -> bool:
    try:
        Requirement(requirement)
    except InvalidRequirement:
        return False
    return True
