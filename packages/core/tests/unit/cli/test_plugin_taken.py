from __future__ import annotations

import sys

import pytest

from kernelet.cli.plugin_name import names_of
from kernelet.cli.plugin_taken import check_free
from kernelet.cli.usage import UsageError

KINDS = ("platform", "scheduler")
PLUGIN = "[kernelet.plugins]\nscheduler-acme-thing = acme_thing.plugin\n"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Makes a distribution that is installed: its metadata, its import packages and its entry points."""

    def write(name, packages, points=""):
        info = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        for package in packages:
            (tmp_path / package).mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (info / "top_level.txt").write_text("\n".join(packages), encoding="utf-8")
        (info / "entry_points.txt").write_text(points, encoding="utf-8")

    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return write


def check(name, *dependencies):
    check_free(names_of("scheduler", name, KINDS), dependencies)


@pytest.mark.parametrize("name", ["numpy", "Huggingface_Hub", "pytest", "no-such-library"])
def test_what_is_required(name):
    with pytest.raises(UsageError, match="require, which yours would replace"):
        check(name, "no-such-library>=2; python_version > '3'")


def test_a_free_name(install):
    install("other-thing", ["other"])
    check("acme-thing", "no-such-library")
    check("acme-other")


def test_a_distribution_that_is_installed(install):
    install("acme-thing", ["anything"], PLUGIN.replace("acme_thing", "anything"))
    with pytest.raises(UsageError, match="'acme-thing' is installed here and is another distribution"):
        check("Acme.Thing")


@pytest.mark.parametrize("package", ["acme_thing", "Acme_Thing"])
def test_an_import_name_that_is_installed(install, package):
    install("somebody", [package])
    with pytest.raises(UsageError, match="the import name 'acme_thing', which somebody installed here has"):
        check("acme-thing")


def test_the_plugin_itself_may_be_written_again(install):
    install("acme-thing", ["acme_thing"], PLUGIN)
    check("acme-thing")
