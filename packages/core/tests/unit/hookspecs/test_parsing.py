from __future__ import annotations


def test_documented(domain):
    domain.check_documented()


def test_parameters(domain):
    assert domain.parameters() == {"kernelet_tool_parsers": [], "kernelet_reasoning_parsers": []}


def test_returns(domain):
    assert domain.returns() == {
        "kernelet_tool_parsers": "Sequence[ToolParserOffer]",
        "kernelet_reasoning_parsers": "Sequence[ReasoningParserOffer]",
    }
