"""What the pages say of templates is so."""

from __future__ import annotations

import re

import pytest
from doc_examples import write_files
from workspace import ROOT

from kernelet.cli.plugin_template import template_kinds


def test_every_kind_has_a_row():
    page = (ROOT / "docs/plugins/index.md").read_text(encoding="utf-8")
    table = page.partition("| `kernelet plugins new` |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \| \S", table, re.MULTILINE)) == template_kinds().keys()


@pytest.mark.parametrize("name", [".github/workflows/test.yml", "ci/previous_core.py", "ci/plugin_names.py"])
def test_the_recipe_is_the_one_that_is_written(made, tmp_path, name):
    write_files(ROOT / "docs/plugins/ci.md", tmp_path)
    for project in made.projects.values():
        assert (project / name).read_text(encoding="utf-8") == (tmp_path / name).read_text(encoding="utf-8")


def test_the_license_is_the_core_s(made):
    for project in made.projects.values():
        assert (project / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
