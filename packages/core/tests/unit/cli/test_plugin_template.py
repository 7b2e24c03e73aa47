from __future__ import annotations

import re
from importlib.resources import files

import jinja2
import pytest

from kernelet.cli.plugin_name import LONGEST, names_of
from kernelet.cli.plugin_template import COMMON, render, template_kinds
from kernelet.contracts.versions import API_VERSIONS

KINDS = template_kinds()
AUTHOR = {"name": "Jane Doe", "email": "jane@acme.example"}


def rendered(kind, name, author=AUTHOR):
    return render(KINDS[kind], names_of(kind, name, KINDS), author)


def test_each_folder_but_the_common_one_is_a_kind():
    folders = {folder.name for folder in files("kernelet").joinpath("templates").iterdir()}
    assert folders == KINDS.keys() | {COMMON}
    assert list(KINDS) == sorted(KINDS)
    for kind in KINDS.values():
        assert re.fullmatch(r"(a|an) .*[^.]", kind.summary)
        assert set(kind.api) <= set(API_VERSIONS)
        assert list(kind.api) == sorted(kind.api)
        assert set(kind.layers) <= KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ab", "a" * LONGEST])
def test_lines_fit_whatever_the_name(kind, name):
    for path, text in rendered(kind, name).items():
        assert "{" + "{" not in path
        if path.endswith(".py"):
            compile(text, path, "exec")
            assert not [line for line in text.splitlines() if len(line) > 120], path
            assert "from __future__ import annotations" in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_complete(kind):
    found = rendered(kind, "acme-thing")
    common = {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", ".gitignore", ".github/workflows/test.yml"}
    package = {f"src/acme_thing/{name}" for name in ("__init__.py", "plugin.py", "conformance.py", "py.typed")}
    assert common | package | {"tests/test_conformance.py"} <= found.keys()
    modules = {path.rpartition("/")[2].removesuffix(".py") for path in found if path.startswith("src/")}
    tested = {path.rpartition("/test_")[2].removesuffix(".py") for path in found if path.startswith("tests/unit/")}
    assert tested, "the implementation has a test of its own"
    assert tested <= modules
    assert all(re.search(rf"class {suite}\(", found["src/acme_thing/conformance.py"]) for suite in KINDS[kind].suites)


def test_the_readme_installs_what_it_runs():
    text = rendered("op", "acme-thing")["README.md"].partition("## Work on it")[2]
    (install,) = re.findall(r"pip install (.*)", text)
    for tool in ("build", "mypy", "ruff"):
        assert re.search(rf"^    .*\b{tool}\b", text.replace(install, ""), re.MULTILINE)
        assert tool in install.split()


def test_an_unknown_name_in_a_template_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        rendered("op", "acme-thing", author={})


def test_a_layer_gives_its_files_and_the_kind_its_own():
    platform, attention = rendered("platform", "acme-thing"), rendered("attention", "acme-thing")
    shared = "src/acme_thing/attention.py"
    assert platform[shared] == attention[shared]
    assert platform["src/acme_thing/plugin.py"] != attention["src/acme_thing/plugin.py"]
