"""Whatever differs from what was locked, or from what the parent has, stops the start and is named with both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planted import Planted, good

NULL = "kernelet.testing.null:plugin"
REFUSED = "error: What is installed here is not what "
LIBRARY = Planted("", "", distribution="acme-library", requires=())


def needing(library=">=1.0", **changes):
    return good("one", requires=("kernelet-core>=0.1", f"acme-library{library}"), **changes)


@pytest.fixture(scope="session")
def lock_text(first_house):
    """The lock file of a plugin and a library that it needs."""
    first_house.uninstall()
    first_house.install(needing(), LIBRARY)
    return first_house.write_lock("--plugins", NULL)


@pytest.fixture
def locked(lock_text, house):
    """A house with that plugin and its lock file."""
    house.install(needing(), LIBRARY)
    house.lock.write_text(lock_text, encoding="utf-8")
    return house


def sides(house, name, before, after):
    """How a message names the lock file's side and this one."""
    return (
        f"{house.lock}: {name} {before} (sha256 ",
        f"; here: {name} {after} (sha256 ",
        f" in {house.site}",
    )


def refused(house, out, plugin, *parts):
    assert out.startswith(REFUSED + str(house.lock)), out
    for part in parts:
        assert part in out
    assert "write the file anew: kernelet plugins lock" in out
    assert not house.imported(plugin), "it was imported before it was refused"


def test_a_plugin_that_was_upgraded_after_the_lock(locked):
    assert "error" not in locked.locked()
    assert locked.imported(needing())
    locked.install(needing(version="1.1"), pip=True)
    out = locked.locked()
    refused(locked, out, needing(), "changed version, one: ", *sides(locked, "kernelet-one", "1.0", "1.1"))
    assert "error" not in locked.start()  # without the file it runs
    assert locked.imported(needing())


def test_changed_files_at_the_same_version(locked):
    module = locked.site / f"{needing().module}.py"
    module.write_text(module.read_text() + "\n# patched on the spot\n")
    parts = sides(locked, "kernelet-one", "1.0", "1.0")
    refused(locked, locked.locked(), needing(), "changed files at the same version, one: ", *parts)


def test_a_second_distribution_with_the_same_entry_point(locked):
    evil = good("one", distribution="acme-one", version="3.0")
    locked.install(evil)
    out = locked.locked()
    refused(locked, out, needing(), "missing plugin, one: ", f"{locked.lock}: kernelet-one 1.0", "acme-one 3.0 in ")
    assert "claimed by acme-one 3.0 and kernelet-one 1.0; neither was imported" in out
    assert not locked.imported(evil)
    # asked for by name it stops the start without a file too
    out = locked.start("--plugins", "+one,kernelet.testing.null:plugin")
    assert out.startswith("error: plugin 'one'")
    assert "claimed by acme-one 3.0 and kernelet-one 1.0" in out


def test_a_stale_egg_info_on_the_path(locked, tmp_path):
    info = tmp_path / "kernelet_one.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: kernelet-one\nVersion: 0.9\n")
    out = locked.locked(PYTHONPATH=str(tmp_path))
    hides = f"0.9 in {tmp_path} hides 1.0 in {locked.site}"
    refused(locked, out, needing(), "missing plugin, one: ", f"{locked.lock}: kernelet-one 1.0", hides)
    out = locked.start("--plugins", "+one,kernelet.testing.null:plugin", PYTHONPATH=str(tmp_path))
    assert out.startswith("error: plugin 'one'")
    assert hides in out


def test_an_additional_and_a_missing_plugin(locked):
    locked.install(good("two"))
    locked.uninstall("acme-library")
    out = locked.locked()
    refused(locked, out, needing(), "additional plugin, two: ", "not in it; here: kernelet-two 1.0 (sha256 ")
    assert f"missing requirement, acme-library: {locked.lock}: acme-library 1.0" in out


def test_a_changed_requirement(locked):
    locked.install(replace(LIBRARY, version="1.5"))
    out = locked.locked()
    refused(locked, out, needing(), "changed requirement, acme-library: ", *sides(locked, "acme-library", "1.0", "1.5"))


@pytest.mark.parametrize("lock", [True, False], ids=["locked", "not locked"])
def test_a_childs_code_that_differs_from_its_parents(house, elsewhere, tmp_path, lock):
    other = good("one", source=good("one").source + "\nEXTRA = 1\n")
    house.install(good("one"))
    elsewhere.install(good("one"))
    if lock:
        house.write_lock()
    digest = house.manifest(tmp_path / "manifest", locked=lock)
    assert elsewhere.child(tmp_path / "manifest") == digest
    elsewhere.install(other)
    out = elsewhere.child(tmp_path / "manifest")
    assert out.startswith("ManifestMismatchError this worker process and its parent do not run the same plugins")
    assert "one: its files differ: " in out
    assert f"in this worker process ({elsewhere.site})" in out
    assert f"in its parent ({house.site})" in out
    assert not elsewhere.imported(other)


def test_a_childs_requirement_that_differs_from_its_parents_lock_file(house, elsewhere, tmp_path):
    """The manifest does not know of it, the lock file does: it travels with the manifest."""
    for one in (house, elsewhere):
        one.install(needing(), LIBRARY)
    house.write_lock()
    digest = house.manifest(tmp_path / "manifest", locked=True)
    assert elsewhere.child(tmp_path / "manifest") == digest
    elsewhere.install(replace(LIBRARY, version="1.5"))
    out = elsewhere.child(tmp_path / "manifest")
    assert out.startswith(f"LockError What is installed here is not what {house.lock} says")
    assert f"changed requirement, acme-library: {house.lock}: acme-library 1.0 (sha256 " in out
    assert "; here: acme-library 1.5 (sha256 " in out
    assert not elsewhere.imported(needing())


def test_the_same_wheels_at_two_paths(house, elsewhere, tmp_path):
    """Equal manifests, equal lock files, and a start there with the file from here."""
    plugins = (needing(), LIBRARY, good("three"))
    for one in (house, elsewhere):
        one.install(*plugins, pip=True)
    assert house.write_lock("--plugins", NULL) == elsewhere.write_lock("--plugins", NULL)
    text = house.lock.read_text(encoding="utf-8")
    assert str(house.folder) not in text
    assert {'name = "one"', 'name = "three"', 'name = "acme-library"'} <= set(text.splitlines())
    assert house.manifest(tmp_path / "a") == elsewhere.manifest(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()  # the paths, which are shown
    assert "error" not in elsewhere.start(f"--locked={house.lock}")
