from __future__ import annotations

import base64
import hashlib
import importlib.metadata

import pytest

from kernelet.kernel.content import content_hash, distribution_hash
from kernelet.kernel.discovery import discover

ENTRY_POINT = "[kernelet.plugins]\np = pkg_for_hash.plugin\n"
FILES = {"pkg_for_hash/__init__.py": "", "pkg_for_hash/plugin.py": "x = 1\n", "pkg_for_hash/data.json": "{}"}


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


def test_hash_of_a_checkout_behind_an_import_hook(distributions):
    """scikit-build-core and setuptools record the hook, and the compiled module where it lies apart."""
    origin = '{"url": "file:///d", "dir_info": {"editable": true}}'
    hook = {"_editable_d.py": "", "_editable_d.pth": "import _editable_d"}
    distributions.write("d", entry_points=ENTRY_POINT, files=hook | FILES)
    (distributions.folder / "d-1.0.dist-info/direct_url.json").write_text(origin)
    (distributions.folder / "pkg_for_hash/plugin.py").write_text("x = 2\n")
    changed = FILES | {"pkg_for_hash/plugin.py": "x = 2\n"}
    assert hash_of(distributions) == required("d") == expected(changed)


def test_hash_of_a_single_module_without_record(distributions):
    distributions.write("d", entry_points="[kernelet.plugins]\np = single_for_hash\n", record=False)
    (distributions.folder / "single_for_hash.py").write_text("x = 1\n")
    assert hash_of(distributions) == expected({"single_for_hash.py": "x = 1\n"})


@pytest.mark.parametrize("change", [{"pkg_for_hash/plugin.py": "x = 2\n"}, {"pkg_for_hash/data.json": "[]"}])
def test_hash_sees_every_file(distributions, change):
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES | change)
    assert hash_of(distributions) == expected(FILES | change)
    assert hash_of(distributions) != expected(FILES)


def required(name):
    return distribution_hash(importlib.metadata.distribution(name))


@pytest.mark.parametrize("name", ["pkg_for_hash/extra.py", "pkg_for_hash/sub/plugin.py"])
def test_a_module_that_nobody_recorded_counts(distributions, name):
    """It could hide a recorded one."""
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES)
    (distributions.folder / name).parent.mkdir(exist_ok=True)
    (distributions.folder / name).write_text("x = 3\n")
    (distributions.folder / "pkg_for_hash/notes.txt").write_text("not importable")
    assert hash_of(distributions) == expected(FILES | {name: "x = 3\n"})


def test_a_file_that_is_gone_counts(distributions):
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES)
    (distributions.folder / "pkg_for_hash/data.json").unlink()
    assert hash_of(distributions) == expected({n: t for n, t in FILES.items() if n != "pkg_for_hash/data.json"})


def test_a_requirement_has_the_same_hash(distributions):
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES)
    assert required("d") == expected(FILES)


def record_of(distributions, files):
    rows = []
    for name, text in files.items():
        value = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={value},{len(text)}")
    (distributions.folder / "d-1.0.dist-info/RECORD").write_text("\n".join(rows) + "\n")


def test_of_a_requirement_the_recorded_hash_is_taken_while_the_size_is_right(distributions):
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES)
    record_of(distributions, FILES | {"d-1.0.dist-info/METADATA": "x", "../../bin/tool": "y"})
    assert required("d") == expected(FILES)
    data = distributions.folder / "pkg_for_hash/data.json"
    data.write_text("[]")
    assert required("d") == expected(FILES)  # two bytes as before: not read
    data.write_text("[1]")
    assert required("d") == expected(FILES | {"pkg_for_hash/data.json": "[1]"})


def test_a_requirement_in_a_checkout_is_read(distributions):
    distributions.write("pkg-for-hash", files={"_editable_d.pth": "/somewhere"}, entry_points="")
    for name, text in FILES.items():
        (distributions.folder / name).parent.mkdir(exist_ok=True)
        (distributions.folder / name).write_text(text)
    assert required("pkg-for-hash") == expected(FILES)


def test_a_contract_is_not_a_package_of_the_requirement(distributions):
    points = "[kernelet.api]\ncache = kernelet.contracts.cache:v1\n" + ENTRY_POINT
    distributions.write("d", entry_points=points, files={"_editable_d.pth": "/somewhere"})
    (distributions.folder / "pkg_for_hash").mkdir()
    (distributions.folder / "pkg_for_hash/__init__.py").write_text("")
    assert required("d") == expected({"pkg_for_hash/__init__.py": ""})


def test_nothing_is_known_of_a_requirement_without_files(distributions):
    distributions.write("no-such-package", record=False)
    assert required("no-such-package") == ""


def test_where_it_lies_does_not_count(distributions, tmp_path, monkeypatch):
    distributions.write("d", entry_points=ENTRY_POINT, files=FILES)
    before = hash_of(distributions)
    tmp_path.rename(f"{tmp_path}-moved")
    (moved,) = discover([f"{tmp_path}-moved"]).candidates
    assert content_hash(moved) == before
