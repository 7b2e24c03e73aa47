from __future__ import annotations

from pathlib import Path

import pytest

from kernelet.config import env


def test_get():
    assert env.get("PLATFORM", {"KERNELET_PLATFORM": "cpu"}) == "cpu"
    assert env.get("PLATFORM", {"PLATFORM": "cpu"}) is None
    assert env.get("PLUGINS", {"KERNELET_PLUGINS": ""}) == ""


def test_get_reads_the_process(monkeypatch):
    monkeypatch.setenv("KERNELET_SOMETHING_ODD", "x")
    assert env.get("SOMETHING_ODD") == "x"
    monkeypatch.delenv("KERNELET_SOMETHING_ODD")
    assert env.get("SOMETHING_ODD") is None


@pytest.mark.parametrize(
    "text, names",
    [(None, None), ("", ()), (" , ", ()), ("a", ("a",)), ("a, +b ,c,", ("a", "+b", "c")), ("a,a", ("a", "a"))],
)
def test_names(text, names):
    assert env.names(text) == names


def test_cache_dir(monkeypatch):
    monkeypatch.setenv("KERNELET_CACHE_DIR", "~/mine")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("HOME", "/home/me")
    assert env.cache_dir() == Path("/home/me/mine")
    monkeypatch.setenv("KERNELET_CACHE_DIR", "")
    assert env.cache_dir() == Path("/xdg/kernelet")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert env.cache_dir() == Path("/home/me/.cache/kernelet")


def test_package_index(monkeypatch):
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    assert env.package_index() is None
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://b/simple")
    assert env.package_index() == "https://b/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "https://a/simple/")
    assert env.package_index() == "https://a/simple"


def test_variables():
    assert env.variables({"KERNELET_B": "", "KERNELET_A": "1", "KERNEL": "2", "PATH": "3"}) == [
        "KERNELET_A",
        "KERNELET_B",
    ]


def test_a_copy_of_all_variables(monkeypatch):
    monkeypatch.setenv("ACME", "1")
    found = env.all_variables()
    assert found["ACME"] == "1"
    found["ACME"] = "2"
    assert env.all_variables()["ACME"] == "1"


def test_variables_of_others(monkeypatch):
    monkeypatch.setenv("SOME_DRIVERS_DEVICES", "")
    assert env.of_system("SOME_DRIVERS_DEVICES") == ""
    assert env.of_system("SOME_DRIVERS_DEVICES", {}) is None
    assert env.of_system("A", {"A": "b"}) == "b"
