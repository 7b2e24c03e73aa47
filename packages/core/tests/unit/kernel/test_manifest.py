from __future__ import annotations

import msgspec
import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts.executor import SchedulerOffer
from kernelet.errors import ManifestMismatchError
from kernelet.kernel import Kernel
from kernelet.kernel.compat import core_version
from kernelet.kernel.digest import offer_digest
from kernelet.kernel.discovery import discover
from kernelet.kernel.lock import Lock, LockFile
from kernelet.kernel.manifest import Manifest, ManifestEntry, check_installed, compare
from kernelet.kernel.record import Record
from kernelet.kernel.report import State

ENTRY_POINT = "[kernelet.plugins]\np = pkg_for_hash.plugin\n"
FILES = {"pkg_for_hash/__init__.py": "", "pkg_for_hash/plugin.py": "x = 1\n", "pkg_for_hash/data.json": "{}"}


def entry(name="p", **fields):
    base = {
        "distribution": "d",
        "version": "1",
        "entry_point": "m",
        "content": "c" * 64,
        "path": "/a",
        "offers": {"op:x": "1"},
    }
    return ManifestEntry(name=name, **(base | fields))


def manifest(*entries, core="1"):
    return Manifest(core=core, plugins=entries)


def test_digest_leaves_paths_out():
    assert manifest(entry()).digest == manifest(entry(path="/somewhere/else")).digest


@pytest.mark.parametrize(
    "other",
    [
        manifest(entry(), core="2"),
        manifest(),
        manifest(entry(version="2")),
        manifest(entry(distribution="e")),
        manifest(entry(entry_point="n")),
        manifest(entry(content="d" * 64)),
        manifest(entry(offers={"op:x": "2"})),
        manifest(entry(offers={})),
        manifest(entry(), entry("q")),
    ],
)
def test_digest_and_comparison_see_everything_else(other):
    mine = manifest(entry())
    assert mine.digest != other.digest
    with pytest.raises(ManifestMismatchError) as caught:
        compare(mine, other, here="rank 1", there="rank 0")
    assert "rank 1" in str(caught.value)
    assert "rank 0" in str(caught.value)
    assert str(caught.value).count("\n  ") == 1  # one line for the one difference


def test_comparison_names_paths_and_who_has_what():
    with pytest.raises(ManifestMismatchError) as caught:
        compare(manifest(entry(version="2", path="/b")), manifest(entry(), entry("q")), here="worker", there="parent")
    assert "p: version is '2' in worker (/b), '1' in parent (/a)" in str(caught.value)
    assert "q: only parent has it (d 1 /a), worker does not" in str(caught.value)


def test_equal_manifests_compare():
    compare(manifest(entry()), manifest(entry(path="/b")))


def test_a_part_of_it():
    """Files of a plugin that nobody needs there may change."""
    whole = msgspec.structs.replace(
        manifest(entry("a"), entry("b"), entry("c")),
        lock=LockFile(file="a.lock", lock=Lock(lock=1, python="p", platform="q")),
    )
    assert whole.only({"a", "c", "other"}) == manifest(entry("a"), entry("c"))


def test_encoding():
    one = manifest(entry(), entry("q"))
    assert Manifest.decode(one.encode()) == one


@pytest.fixture
def installed(distributions):
    """Records of what is installed, none imported, and the entry of the one plugin."""
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES)
    (candidate,) = discover([str(distributions.folder)]).candidates
    record = Record(candidate=candidate)
    found = entry(version="1.0", entry_point="pkg_for_hash.plugin", content=record.content_hash(), path="/elsewhere")
    return record, found


def test_not_installed(installed):
    record, found = installed
    check_installed(manifest(found, core=core_version()), [record], here="here", there="there")
    with pytest.raises(ManifestMismatchError, match="here lacks plugins that there runs:\n  q: there has d 1"):
        check_installed(manifest(found, entry("q")), [record], here="here", there="there")


@pytest.mark.parametrize(
    "other", [{"version": "2"}, {"distribution": "e"}, {"entry_point": "m"}, {"content": "0" * 64}]
)
def test_a_difference_is_found_before_anything_is_imported(installed, other):
    record, found = installed
    changed = msgspec.structs.replace(found, **other)
    with pytest.raises(ManifestMismatchError, match="here and there do not run the same plugins:\n  p: "):
        check_installed(manifest(changed, core=core_version()), [record], here="here", there="there")
    record.refuse(State.FAILED, "claimed by two")  # the start says so by itself
    check_installed(manifest(changed, core=core_version()), [record], here="here", there="there")


def test_the_lock_file_travels_and_does_not_count():
    locked = LockFile(file="a.lock", lock=Lock(lock=1, python="p", platform="q"))
    one = Manifest(core="1", plugins=(entry(),), lock=locked)
    assert Manifest.decode(one.encode()).lock == locked
    assert one.digest == manifest(entry()).digest


def test_manifest_of_a_kernel(distributions):
    source = "from kernelet.contracts.executor import SchedulerOffer\nfrom kernelet.hookspecs import hookimpl\n\n"
    source += "@hookimpl\ndef kernelet_schedulers():\n    return (SchedulerOffer(name='x', target='m:X'),)\n"
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES | {"pkg_for_hash/plugin.py": source})
    kernel = Kernel.boot(PluginsConfig(), search_path=[str(distributions.folder)])
    core, plugin = kernel.manifest.plugins
    assert (core.name, core.distribution) == ("core", "kernelet-core")
    assert set(core.offers) >= {"executor:fcfs", "cache:lru"}
    assert plugin.offers == {"executor:x": offer_digest(SchedulerOffer(name="x", target="m:X"))}
    assert plugin.path == str(distributions.folder)
