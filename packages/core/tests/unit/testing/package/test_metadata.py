from __future__ import annotations

from dataclasses import replace

import pytest

from kernelet.testing.package.faults import GOOD, PACKAGE
from kernelet.testing.package.metadata import Installed, sha256
from kernelet.testing.planter import PlantedDistribution, plant
from kernelet.testing.verdict import ConformanceError


@pytest.fixture
def install(tmp_path, monkeypatch):
    def install(**changes):
        plant(tmp_path, replace(GOOD, **changes))
        monkeypatch.syspath_prepend(str(tmp_path))
        return Installed.find("Acme_kernelet.scheduler-calm")

    return install


def test_what_it_says_of_itself(install):
    found = install(requires=("kernelet-core>=0.1", "kernelet-core[testing]; extra == 'testing'", "NumPy>=1"))
    assert found.name == GOOD.name
    assert found.plugins == {"scheduler-calm": f"{PACKAGE}.plugin"}
    assert found.packages == (PACKAGE,)
    assert set(found.apis) == {"lifecycle", "executor"}
    assert found.required == {"kernelet-core", "numpy"}
    assert [str(one.specifier) for one in found.core_requirements] == [">=0.1"]
    assert not found.editable
    assert not found.is_core


def test_what_it_builds_on(install, tmp_path):
    """Packages for kernelet that it requires in any case; their packages are found without plugins and records too."""
    needs = ("kernelet-core>=0.1", "acme-base>=1", "numpy>=1", "acme-extra; extra == 'more'")
    found = install(requires=needs)
    plant(tmp_path, PlantedDistribution(name="acme-base", files={"acme_base/__init__.py": ""}, entry_points={}))
    assert [one.name for one in found.bases] == ["acme-base"]
    assert found.bases[0].packages == ("acme_base",)
    (tmp_path / "acme_base-1.0.dist-info" / "RECORD").write_text("")
    assert found.bases[0].packages == ("acme_base",)


def test_what_is_there(install, tmp_path):
    found = install()
    assert found.folders() == [tmp_path / PACKAGE]
    assert [path.name for path in found.modules()] == ["__init__.py", "plugin.py", "policy.py"]
    assert found.license_files() == ["LICENSE"]
    assert found.damaged() == found.unrecorded() == []
    (tmp_path / PACKAGE / "extra.py").write_text("")
    (tmp_path / PACKAGE / "policy.py").write_text("other")
    (tmp_path / PACKAGE / "py.typed").unlink()
    assert found.damaged() == [f"{PACKAGE}/py.typed", f"{PACKAGE}/policy.py"]
    assert found.unrecorded() == [f"{PACKAGE}/extra.py"]


def test_without_a_record(install, tmp_path):
    found = install()
    (tmp_path / GOOD.info / "RECORD").unlink()
    with pytest.raises(ConformanceError, match="install its wheel"):
        found.recorded()


def test_a_checkout_that_was_installed_in_place(install):
    assert install(metadata={"direct_url.json": '{"url": "file:///x", "dir_info": {"editable": true}}'}).editable


def test_what_is_not_installed():
    with pytest.raises(ConformanceError, match="'kernelet-nothing' is not installed"):
        Installed.find("kernelet-nothing")


def test_the_core():
    found = Installed.find("kernelet-core")
    assert found.is_core
    assert found.plugins == {"core": "kernelet.builtin"}
    assert "kernelet" in found.packages


def test_hash_as_record_writes_it(tmp_path):
    (tmp_path / "empty").write_text("")
    assert sha256(tmp_path / "empty") == "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
