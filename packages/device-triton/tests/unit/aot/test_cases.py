from __future__ import annotations

import pytest

from kernelet.errors import ConfigError
from kernelet_device_triton.aot.cases import installed, kernels_of, shared_sources
from kernelet_device_triton.targets import TARGETS

MODULE = """
def cases(target):
    yield target.name
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "acme_kernels"
    (folder / "device").mkdir(parents=True)
    for name in ("__init__.py", "configurations.py", "device/__init__.py", "device/add.py"):
        (folder / name).write_text("", encoding="utf-8")
    (folder / "cases.py").write_text(MODULE, encoding="utf-8")
    info = tmp_path / "acme_kernels-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: acme-kernels\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[kernelet.triton_kernels]\nacme-kernels = acme_kernels.cases\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_package_is_found_by_its_entry_point(package):
    (kernels,) = installed(["acme-kernels"])
    assert (kernels.package, list(kernels.cases(TARGETS["sm90"]))) == ("acme-kernels", ["sm90"])
    assert kernels in installed()


def test_one_that_is_not_installed_is_an_error_that_lists_the_others(package):
    with pytest.raises(ConfigError, match=r"no kernels of nobody are installed: choose among .*'acme-kernels'"):
        installed(["nobody", "acme-kernels"])


@pytest.mark.parametrize("name", ["device/add.py", "configurations.py", "cases.py"])
def test_a_change_of_any_source_changes_the_digest(package, name):
    before = kernels_of("acme-kernels", "acme_kernels.cases").digest
    assert kernels_of("acme-kernels", "acme_kernels.cases").digest == before
    (package / name).write_text(f"{(package / name).read_text()}# changed\n", encoding="utf-8")
    assert kernels_of("acme-kernels", "acme_kernels.cases").digest != before


def test_what_is_shared():
    assert {"elements.py", "compiling.py", "targets.py"} <= {path.name for path in shared_sources()}
    assert all(path.is_file() for path in shared_sources())
