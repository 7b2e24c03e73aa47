from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from kernelet.errors import ConfigError
from kernelet_device_triton.aot.cases import installed, kernels_of, shared_sources
from kernelet_device_triton.targets import TARGETS

MODULE = """
from kernelet_device_triton.aot.cases import Case

def cases(target):
    yield Case(kernel="add", function=None, layer=target.name, tile="16", constants={"b": 1, "a": 2}, types={})
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "acme_kernels"
    (folder / "device").mkdir(parents=True)
    for name in ("__init__.py", "device/__init__.py", "device/add.py"):
        (folder / name).write_text("", encoding="utf-8")
    (folder / "cases.py").write_text(MODULE, encoding="utf-8")
    info = tmp_path / "acme_kernels-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: acme-kernels\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[kernelet.triton_kernels]\nacme-kernels = acme_kernels.cases\n")
    for name in [one for one in sys.modules if one.partition(".")[0] == folder.name]:  # of the test before
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_package_is_found_by_its_entry_point(package):
    (kernels,) = installed(["acme-kernels"])
    assert kernels.package == "acme-kernels"
    assert [case.layer for case in kernels.cases(TARGETS["sm90"])] == ["sm90"]
    assert kernels in installed()


def test_one_that_is_not_installed_is_an_error_that_lists_the_others(package):
    with pytest.raises(ConfigError, match=r"no kernels of nobody are installed: choose among .*'acme-kernels'"):
        installed(["nobody", "acme-kernels"])


def test_a_change_of_a_kernel_changes_the_digest(package):
    before = kernels_of("acme-kernels", "acme_kernels.cases").digest
    assert kernels_of("acme-kernels", "acme_kernels.cases").digest == before
    (package / "device/add.py").write_text("# changed\n", encoding="utf-8")
    assert kernels_of("acme-kernels", "acme_kernels.cases").digest != before


@pytest.mark.parametrize(
    "change", [{"constants": {"a": 2, "b": 3}}, {"num_warps": 8}, {"types": {"x": "*fp32"}}, {"fused": False}]
)
def test_a_change_of_a_compilation_changes_the_digest(package, change):
    kernels = kernels_of("acme-kernels", "acme_kernels.cases")
    same, other = (
        replace(kernels, cases=lambda target, more=more: (replace(case, **more) for case in kernels.cases(target)))
        for more in ({"constants": {"a": 2, "b": 1}}, change)
    )
    assert same.digest == kernels.digest != other.digest


def test_what_is_shared():
    assert {"elements.py", "compiling.py", "targets.py"} <= {path.name for path in shared_sources()}
    assert all(path.is_file() for path in shared_sources())
