"""One distribution seen twice: a stale egg-info in front of the real one must not make a plugin vanish silently."""

from __future__ import annotations

import importlib
from importlib.metadata import Distribution

import pytest
from planted import Site, good

from kernelet.config import PluginsConfig
from kernelet.errors import PluginError
from kernelet.kernel import Kernel


@pytest.fixture
def front(tmp_path, monkeypatch):
    """A folder that is searched before the site."""
    folder = tmp_path / "front"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def write_egg_info(folder, entry_points=""):
    info = folder / "kernelet_one.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: kernelet-one\nVersion: 0.9\n")
    if entry_points:
        (info / "entry_points.txt").write_text(entry_points)
    importlib.invalidate_caches()


def test_a_stale_copy_that_hides_the_plugin(site, front):
    site.install(good("one"), good("two"))
    write_egg_info(front)
    kernel = Kernel.boot(PluginsConfig(), search_path=[str(front), str(site.folder)])
    report = next(r for r in kernel.reports if r.name == "one")
    assert report.state == "failed"
    for part in ("installed twice", f"0.9 in {front}", f"1.0 in {site.folder}", "remove what is in"):
        assert part in report.reason
    assert next(r for r in kernel.reports if r.name == "two").state == "active"


def test_asked_for_by_name_it_stops_the_start(site, front):
    site.install(good("one"))
    write_egg_info(front)
    with pytest.raises(PluginError, match="stale egg-info"):
        Kernel.boot(PluginsConfig(allow=("one",)), search_path=[str(front), str(site.folder)])


def test_a_second_version_behind_is_a_remark(site, front):
    Site(front).install(good("one", version="2.0"))
    site.install(good("one"))
    kernel = Kernel.boot(PluginsConfig(), search_path=[str(front), str(site.folder)])
    assert [(r.version, str(r.state)) for r in kernel.reports if r.name == "one"] == [("2.0", "active")]
    assert "kernelet-one is installed twice: 2.0" in kernel.notices[0]


def test_a_folder_that_is_searched_twice_is_no_duplicate(site):
    site.install(good("one"))
    kernel = Kernel.boot(PluginsConfig(), search_path=[*site.search_path, *site.search_path])
    assert [str(r.state) for r in kernel.reports if r.name == "one"] == ["active"]
    assert kernel.notices == ()


def test_damaged_metadata_hides_nobody_else(site):
    site.install(good("one"))
    info = site.folder / "broken-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[kernelet.plugins]\nbroken = broken\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\n")
    importlib.invalidate_caches()
    kernel = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    assert [r.name for r in kernel.reports] == ["core", "one"]
    assert len(kernel.notices) == 1
    assert "has entry points but no Name" in kernel.notices[0]
    assert f"metadata in {info} cannot be read" in kernel.notices[0]
    assert kernel.notices[0].endswith("reinstall the package or delete that folder")


def test_two_metadata_folders_in_one_place(site):
    """The code is there once; the version that counts is the one that Python reads."""
    site.install(good("one"))
    write_egg_info(site.folder, "[kernelet.plugins]\none = planted_kernelet_one\n")
    kernel = Kernel.boot(PluginsConfig(), search_path=site.search_path)
    (read,) = {d.version for d in [next(iter(Distribution.discover(name="kernelet-one", path=site.search_path)))]}
    assert [(r.version, str(r.state)) for r in kernel.reports if r.name == "one"] == [(read, "active")]
    (notice,) = kernel.notices
    egg = site.folder / "kernelet_one.egg-info"
    for part in ("kernelet-one has metadata twice", f"1.0 ({site.folder / 'kernelet_one-1.0.dist-info'})", f"({egg})"):
        assert part in notice
    assert notice.endswith(f"delete {egg}, or reinstall the package")
