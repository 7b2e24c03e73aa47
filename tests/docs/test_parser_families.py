"""docs/parser-families.md has each parser that the packages offer, with its other names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import pytest
from workspace import ROOT

from kernelet.contracts.parsing import ParserOffer
from kernelet_parsers_reasoning.plugin import kernelet_reasoning_parsers
from kernelet_parsers_tool.plugin import kernelet_tool_parsers

TEXT = (ROOT / "docs/parser-families.md").read_text(encoding="utf-8")
KINDS = {"Tool calls": kernelet_tool_parsers(), "Reasoning": kernelet_reasoning_parsers()}


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def by_target(offers: Sequence[ParserOffer]) -> set[frozenset[str]]:
    found = defaultdict(set)
    for offer in offers:
        found[offer.target].add(offer.name)
    return {frozenset(names) for names in found.values()}


@pytest.mark.parametrize("heading", KINDS)
def test_every_parser_has_its_row_with_all_of_its_names(heading: str):
    named = {frozenset(re.findall(r"`([^`]+)`", f"{parser} {others}")) for parser, others, *_ in rows(heading)}
    assert named == by_target(KINDS[heading])


@pytest.mark.parametrize("heading", KINDS)
def test_every_row_says_where_it_is_from_and_what_is_covered(heading: str):
    for row in rows(heading):
        assert len(row) == 5
        _, _, models, source, covered = row
        assert models
        assert source
        assert covered
