from __future__ import annotations

import re
import tomllib
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.errors import LockError
from kernelet.hookspecs import hookimpl
from kernelet.kernel.lock import (
    Lock,
    LockedPlugin,
    LockedRequirement,
    from_text,
    make_lock,
    read_lock,
    requirement,
    this_platform,
    this_python,
    to_text,
)

PLUGIN = LockedPlugin(
    name="p",
    distribution="d",
    version="1.0",
    entry_point="d.plugin",
    sha256="a" * 64,
    requires=("numpy", "torch"),
    offers={"op:b": "b" * 64, "op:a": "c" * 64},
)
LOCK = Lock(
    lock=1,
    python="CPython 3.12",
    platform="linux x86_64",
    plugin=(PLUGIN,),
    requirement=(LockedRequirement(name="numpy", version="2.0", sha256="d" * 64),),
)


def test_a_file_is_plain_toml():
    found = tomllib.loads(to_text(LOCK))
    assert (found["lock"], found["python"], found["platform"]) == (1, "CPython 3.12", "linux x86_64")
    (plugin,) = found["plugin"]
    assert plugin["entry-point"] == "d.plugin"
    assert plugin["requires"] == ["numpy", "torch"]
    assert list(plugin["offers"]) == ["op:a", "op:b"]  # sorted
    assert found["requirement"] == [{"name": "numpy", "version": "2.0", "sha256": "d" * 64}]


def test_a_changed_version_changes_two_lines():
    import msgspec

    other = msgspec.structs.replace(LOCK, plugin=(msgspec.structs.replace(PLUGIN, version="1.1", sha256="e" * 64),))
    before, after = to_text(LOCK).splitlines(), to_text(other).splitlines()
    assert len(before) == len(after)
    assert [new for old, new in zip(before, after, strict=True) if old != new] == [
        'version = "1.1"',
        f'sha256 = "{"e" * 64}"',
    ]


text = st.text(st.characters(codec="utf-8"), max_size=8)
plugins = st.builds(
    LockedPlugin,
    name=text,
    distribution=text,
    version=text,
    entry_point=text,
    sha256=text,
    requires=st.lists(text, max_size=3).map(tuple),
    offers=st.dictionaries(text, text, max_size=3),
)
requirements = st.builds(LockedRequirement, name=text, version=text, sha256=text)


@given(text, text, st.lists(plugins, max_size=3), st.lists(requirements, max_size=3))
def test_what_is_written_is_read(python, platform, locked, required):
    lock = Lock(lock=1, python=python, platform=platform, plugin=tuple(locked), requirement=tuple(required))
    assert from_text(to_text(lock), "x.lock") == lock


@pytest.mark.parametrize(
    "content, message",
    [
        ("lock = 1\nlock = 2\n", "x.lock is no lock file"),
        ("python = 'p'\n", "x.lock is no lock file .*lock"),
        (to_text(LOCK).replace("lock = 1", "lock = 7"), "x.lock has format 7, this core reads format 1"),
        (to_text(LOCK) + "colour = 1\n", "x.lock is no lock file"),
        (to_text(LOCK).replace("python =", "pithon ="), "x.lock is no lock file"),
        (to_text(LOCK).replace('version = "1.0"', "version = 1"), "x.lock is no lock file .*plugin"),
    ],
)
def test_what_is_no_lock_file(content, message):
    with pytest.raises(LockError, match=message):
        from_text(content, "x.lock")


def test_reading_a_file(tmp_path):
    file = tmp_path / "a.lock"
    with pytest.raises(LockError, match=r"a\.lock cannot be read .*kernelet plugins lock -o .*a\.lock"):
        read_lock(str(file))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(LockError, match="no lock file"):
        read_lock(str(file))
    file.write_text(to_text(LOCK))
    found = read_lock(str(file))
    assert (found.file, found.lock) == (str(file), LOCK)


def test_a_requirement():
    found, path = requirement("numpy")
    assert found.version == version("numpy")
    assert re.fullmatch("[0-9a-f]{64}", found.sha256)
    assert path
    missing, path = requirement("no-such-distribution")
    assert (missing.version, missing.sha256, path) == ("", "", "")


class Plugin:
    @hookimpl
    def kernelet_engine_started(self):
        pass


def test_the_core_alone(boot):
    lock = boot().make_lock()
    (core,) = lock.plugin
    assert (core.name, core.distribution, core.version) == ("core", "kernelet-core", version("kernelet-core"))
    assert "executor:in-process" in core.offers
    assert (lock.python, lock.platform) == (this_python(), this_platform())


def test_an_object_cannot_be_locked(boot):
    with pytest.raises(LockError, match="is an object: hand it over as an import string"):
        boot(Plugin()).make_lock()


def test_what_fails_cannot_be_locked(distributions):
    from kernelet.config import PluginsConfig
    from kernelet.kernel import Kernel

    distributions.write("d", entry_points="[kernelet.plugins]\np = no_such_module\n")
    distributions.write("e", entry_points="[kernelet.plugins]\nq = no_such_module\n")
    kernel = Kernel.boot(PluginsConfig(block=("q",)), search_path=[str(distributions.folder)])
    with pytest.raises(LockError, match=r"(?s)cannot be locked:.*plugin 'p'.*no_such_module.*KERNELET_PLUGINS_BLOCK=p"):
        kernel.make_lock()


def test_a_requirement_that_is_missing_cannot_be_locked(distributions):
    from kernelet.config import PluginsConfig
    from kernelet.kernel import Kernel

    source = "from kernelet.hookspecs import hookimpl\n\n@hookimpl\ndef kernelet_engine_started():\n    pass\n"
    distributions.write(
        "d",
        metadata="Requires-Dist: no-such-distribution\nRequires-Dist: absent; extra == 'x'\n",
        entry_points="[kernelet.plugins]\np = plugin_of_lock\n",
        files={"plugin_of_lock.py": source},
    )
    kernel = Kernel.boot(PluginsConfig(), search_path=[str(distributions.folder)])
    with pytest.raises(
        LockError, match="no-such-distribution, which p requires, is not installed: pip install no-such"
    ):
        kernel.make_lock()


def test_records_that_do_not_run_are_left_out():
    assert make_lock([]).plugin == ()
