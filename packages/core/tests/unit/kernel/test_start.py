from __future__ import annotations

import pytest

from kernelet.config import PluginsConfig
from kernelet.errors import LockError, PluginError, UnknownPluginError
from kernelet.kernel import Kernel
from kernelet.kernel.lock import to_text
from kernelet.kernel.start import start, start_from

SOURCE = """
import pathlib

from kernelet.contracts.executor import SchedulerOffer
from kernelet.hookspecs import hookimpl

pathlib.Path(__file__).with_suffix(".imported").touch()


@hookimpl
def kernelet_schedulers():
    return (SchedulerOffer(name="x", target="m:X", priority=PRIORITY),)
"""


@pytest.fixture
def site(distributions):
    """Installs the plugin with a priority, and tells whether it was imported since."""
    mark = distributions.folder / "plugin_of_start.imported"

    def install(version="1.0", priority="-100", name="p"):
        source = SOURCE.replace("PRIORITY", priority)
        points = f"[kernelet.plugins]\n{name} = plugin_of_start\n"
        distributions.write("d", version=version, entry_points=points, files={"plugin_of_start.py": source})
        mark.unlink(missing_ok=True)
        return [str(distributions.folder)]

    install.imported = mark.exists
    return install


@pytest.fixture
def lock_file(site, tmp_path_factory):
    file = tmp_path_factory.mktemp("lock") / "a.lock"
    kernel = Kernel.boot(PluginsConfig(), search_path=site())
    file.write_text(to_text(kernel.make_lock()))
    return str(file)


def test_a_locked_start(site, lock_file):
    found = start(PluginsConfig(locked=lock_file), (), site())
    assert found.lock.file == lock_file
    assert {record.name for record in found.booted.records if record.active} == {"core", "p"}


def test_what_differs_is_not_imported(site, lock_file, distributions):
    path = site(priority="-99")
    with pytest.raises(LockError, match="changed files at the same version, p"):
        start(PluginsConfig(locked=lock_file), (), path)
    assert not site.imported()


def test_what_is_blocked_is_missing(site, lock_file):
    with pytest.raises(LockError, match=r"missing plugin, p.*KERNELET_PLUGINS_BLOCK"):
        start(PluginsConfig(locked=lock_file, block=("p",)), (), site())


def test_a_typing_error_in_the_list_comes_first(site, lock_file):
    with pytest.raises(UnknownPluginError, match="'q'"):
        start(PluginsConfig(locked=lock_file, allow=("q",)), (), site())


def test_an_object_is_additional(site, lock_file):
    class Handed:
        name = "handed"

    with pytest.raises(LockError, match="additional plugin, handed"):
        start(PluginsConfig(locked=lock_file), (Handed(),), site())


def test_a_locked_plugin_that_fails_stops_the_start(site, tmp_path_factory, distributions):
    """Its files are right and it cannot be imported here: the start does not go on without it."""
    file = tmp_path_factory.mktemp("lock") / "a.lock"
    path = site()
    (distributions.folder / "plugin_of_start.py").write_text(
        "import json\nif hasattr(json, 'broken_now'):\n    raise OSError('not today')\n"
        + SOURCE.replace("PRIORITY", "1")
    )
    file.write_text(to_text(Kernel.boot(PluginsConfig(), search_path=path).make_lock()))
    import json
    import sys

    del sys.modules["plugin_of_start"]
    json.broken_now = True
    try:
        with pytest.raises(PluginError, match=r"not today.*lock file names it, so nothing starts without it"):
            start(PluginsConfig(locked=str(file)), (), path)
    finally:
        del json.broken_now


def test_a_child_checks_its_parents_lock_file(site, lock_file, tmp_path):
    """As data: the child may be on another host, where the file is not."""
    parent = Kernel.boot(PluginsConfig(locked=lock_file), search_path=site())
    manifest = type(parent.manifest).decode(parent.manifest.encode())
    assert start_from(manifest, PluginsConfig(), "worker", site()).lock == parent.manifest.lock
    import msgspec

    lock = msgspec.structs.replace(manifest.lock.lock, platform="elsewhere")
    changed = msgspec.structs.replace(manifest, lock=msgspec.structs.replace(manifest.lock, lock=lock))
    site()
    with pytest.raises(LockError, match="another environment, platform"):
        start_from(changed, PluginsConfig(), "worker", site())
    assert not site.imported()
