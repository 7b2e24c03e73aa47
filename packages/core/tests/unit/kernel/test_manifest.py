from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.model import ModelSourceOffer
from kernelet.errors import ManifestMismatchError, PluginError
from kernelet.kernel import Kernel
from kernelet.kernel.discovery import discover
from kernelet.kernel.manifest import Manifest, ManifestEntry, check_installed, compare, content_hash, offer_digest

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


def hash_of(distributions, name="p"):
    (candidate,) = discover([str(distributions.folder)]).candidates
    return content_hash(candidate)


def expected(files):
    """The documented hash, computed apart: names and bytes, sorted by name."""
    lines = [f"{name}\0{hashlib.sha256(text.encode()).hexdigest()}\n" for name, text in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def test_hash_of_an_installed_wheel(distributions):
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES)
    assert hash_of(distributions) == expected(FILES)


def test_hash_of_a_checkout_is_the_same(distributions):
    """An editable installation records a .pth file only; compiled files do not count."""
    distributions.write("d", entry_points=ENTRY_POINT, files={"_editable_d.pth": "/somewhere"})
    for name, text in FILES.items():
        (distributions.folder / name).parent.mkdir(exist_ok=True)
        (distributions.folder / name).write_text(text)
    cache = distributions.folder / "pkg_for_hash/__pycache__"
    cache.mkdir()
    (cache / "plugin.cpython-311.pyc").write_bytes(b"x")
    assert hash_of(distributions) == expected(FILES)


def test_hash_of_a_single_module_without_record(distributions):
    distributions.write("d", entry_points="[kernelet.plugins]\np = single_for_hash\n", record=False)
    (distributions.folder / "single_for_hash.py").write_text("x = 1\n")
    assert hash_of(distributions) == expected({"single_for_hash.py": "x = 1\n"})


@pytest.mark.parametrize("change", [{"pkg_for_hash/plugin.py": "x = 2\n"}, {"pkg_for_hash/data.json": "[]"}])
def test_hash_sees_every_file(distributions, change):
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES | change)
    assert hash_of(distributions) == expected(FILES | change)
    assert hash_of(distributions) != expected(FILES)


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


def test_encoding():
    one = manifest(entry(), entry("q"))
    assert Manifest.decode(one.encode()) == one


def test_not_installed(distributions):
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES)
    candidates = discover([str(distributions.folder)]).candidates
    check_installed(manifest(entry()), candidates, here="here", there="there")
    with pytest.raises(ManifestMismatchError, match="here lacks plugins that there runs:\n  q: there has d 1"):
        check_installed(manifest(entry(), entry("q")), candidates, here="here", there="there")


def test_offer_digests_do_not_depend_on_the_order_of_sets_and_mappings():
    kinds = ["full", "sliding", "cross", "tree"]
    first = AttentionOffer(name="a", target="m:A", kinds=frozenset(kinds))
    second = AttentionOffer(name="a", target="m:A", kinds=frozenset(reversed(kinds)))
    assert offer_digest(first) == offer_digest(second)
    models = {"a": "1", "b": "2"}
    swapped = MappingProxyType(dict(reversed(models.items())))
    assert offer_digest(ModelSourceOffer(name="s", target="m:S", models=models)) == offer_digest(
        ModelSourceOffer(name="s", target="m:S", models=swapped)
    )


@pytest.mark.parametrize("field, value", [("name", "b"), ("target", "m:B"), ("priority", 1), ("requires", ("op:x",))])
def test_offer_digests_see_every_field(field, value):
    offer = SchedulerOffer(name="a", target="m:A")
    assert offer_digest(offer) != offer_digest(replace(offer, **{field: value}))


def test_offers_are_plain_data():
    @dataclass(frozen=True, kw_only=True)
    class Odd(SchedulerOffer):
        thing: object = field(default_factory=object)

    with pytest.raises(PluginError, match="offers are plain data"):
        offer_digest(Odd(name="a", target="m:A"))


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
