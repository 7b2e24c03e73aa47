"""docs/json-schema.md knows every keyword and format, and what it calls refused is."""

from __future__ import annotations

import json
import re

import pytest
from workspace import ROOT

from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.dialects import KEYWORDS, Dialect
from kernelet.structured.schema.formats import FORMATS
from kernelet.structured.schema.read import read_schema

PAGE = (ROOT / "docs/json-schema.md").read_text(encoding="utf-8")
ENFORCED, REFUSED, WRITTEN = re.split(r"^## .*$", PAGE, flags=re.MULTILINE)
EXAMPLES = re.findall(r"^\| `(\{.*\})` \|", REFUSED, re.MULTILINE)


@pytest.mark.parametrize("dialect", Dialect)
def test_every_keyword_is_there(dialect):
    assert not KEYWORDS[dialect].keys() - set(re.findall(r"`([^`]+)`", ENFORCED))


def test_every_format_is_there():
    rows = re.findall(r"^\| `([^`]+)` \| ?(.*?) ?\|$", WRITTEN, re.MULTILINE)
    assert dict(rows) == {name: form.left_out for name, form in FORMATS.items()}


def test_there_are_examples():
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("text", EXAMPLES)
def test_refused(text):
    with pytest.raises(UnenforcedError):
        read_schema(json.loads(text))
