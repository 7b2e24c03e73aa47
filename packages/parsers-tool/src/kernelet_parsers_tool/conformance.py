"""The suites of the test kit, on this package."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

import pytest

from kernelet.contracts.parsing import ToolParserOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.tool_parser import Render, Sample, ToolParserCapabilities, ToolParserSuite
from kernelet_parsers_tool import bare_samples, samples, templates

PLUGIN = "kernelet_parsers_tool.plugin"

DEEPSEEK = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
)
KIMI = (
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
)
HARMONY = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>")


def read(answers: tuple[samples.Answer, ...]) -> tuple[Sample, ...]:
    """Samples for the kit."""
    return tuple(Sample(**answer._asdict()) for answer in answers)


def without(pattern: str) -> Callable[[str], bool]:
    """Strings that do not have what ends a value."""
    ends = re.compile(pattern)
    return lambda text: ends.search(text) is None


def gemma_carries(text: str) -> bool:
    """Strings without the marker of strings, which does not begin at their end either."""
    return '<|"|>' not in text


class Family(ToolParserSuite):
    """One parser. Attributes: the name of its offer, and what writes an answer."""

    name: ClassVar[str]
    write: ClassVar[Render]

    @pytest.fixture
    def offered(self) -> Offered[ToolParserOffer]:
        return find_offer(PLUGIN, ToolParserOffer, self.name)

    @pytest.fixture
    def render(self) -> Render:
        return type(self).write


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-parsers-tool"


class TestHermes(Family):
    name, write = "hermes", templates.hermes
    capabilities = ToolParserCapabilities(tokens=("<tool_call>", "</tool_call>"), samples=read(samples.HERMES))


class TestGranite(Family):
    name, write = "granite", templates.granite
    capabilities = ToolParserCapabilities(tokens=("<|tool_call|>",), samples=read(samples.GRANITE))


class TestInternlm(Family):
    name, write = "internlm", templates.internlm
    capabilities = ToolParserCapabilities(
        tokens=("<|action_start|>", "<|action_end|>", "<|plugin|>"), samples=read(samples.INTERNLM)
    )


class TestJamba(Family):
    name, write = "jamba", templates.jamba
    capabilities = ToolParserCapabilities(tokens=("<tool_calls>", "</tool_calls>"), samples=read(samples.JAMBA))


class TestPhi4Mini(Family):
    name, write = "phi4_mini_json", templates.phi4_mini
    capabilities = ToolParserCapabilities(tokens=("<|tool_call|>", "<|/tool_call|>"), samples=read(samples.PHI4_MINI))


class TestLlama3Json(Family):
    name, write = "llama3_json", templates.llama3_json
    capabilities = ToolParserCapabilities(
        tokens=("<|python_tag|>",), content_before=False, content_between=False, samples=read(bare_samples.LLAMA3_JSON)
    )


class TestLlama4Pythonic(Family):
    name, write = "llama4_pythonic", templates.pythonic
    capabilities = ToolParserCapabilities(
        types="python",
        tokens=("<|python_start|>", "<|python_end|>"),
        content_before=False,
        content_between=False,
        samples=read(bare_samples.PYTHONIC),
    )


class TestOlmo3(Family):
    name, write = "olmo3", templates.olmo3
    capabilities = ToolParserCapabilities(
        types="python", tokens=("<function_calls>", "</function_calls>"), samples=read(bare_samples.OLMO3)
    )


class TestXlam(Family):
    name, write = "xlam", templates.xlam
    capabilities = ToolParserCapabilities(content_before=False, content_between=False, samples=read(bare_samples.XLAM))


class TestQwen3Coder(Family):
    name, write = "qwen3_coder", templates.qwen3_coder
    capabilities = ToolParserCapabilities(
        types="xml",
        tokens=("<tool_call>", "</tool_call>"),
        carries=without(r"</parameter>\s*(<parameter=|</function>|</tool_call>)|</function>\s*</tool_call>"),
        samples=read(samples.QWEN3_CODER),
    )


class TestStep3p5(TestQwen3Coder):
    name, write = "step3p5", templates.step3p5


class TestMinimaxM2(Family):
    name, write = "minimax_m2", templates.minimax_m2
    capabilities = ToolParserCapabilities(
        types="xml",
        tokens=("<minimax:tool_call>", "</minimax:tool_call>"),
        carries=without(
            r'</parameter>\s*(<parameter name="|</invoke>|</minimax:tool_call>)|</invoke>\s*</minimax:tool_call>'
        ),
        samples=read(samples.MINIMAX_M2),
    )


class TestGlm45(Family):
    name, write = "glm45", templates.glm45
    capabilities = ToolParserCapabilities(
        types="xml",
        tokens=("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
        carries=without(r"</arg_value>\s*(<arg_key>|</tool_call>)"),
        samples=read(samples.GLM45),
    )


class TestGlm47(TestGlm45):
    name, write = "glm47", templates.glm47


class TestDeepseekV3(Family):
    name, write = "deepseek_v3", templates.deepseek_v3
    capabilities = ToolParserCapabilities(tokens=DEEPSEEK, samples=read(samples.DEEPSEEK_V3))


class TestDeepseekV31(Family):
    name, write = "deepseek_v31", templates.deepseek_v31
    capabilities = ToolParserCapabilities(tokens=DEEPSEEK, samples=read(samples.DEEPSEEK_V31))


class TestKimiK2(Family):
    name, write = "kimi_k2", templates.kimi_k2
    capabilities = ToolParserCapabilities(tokens=KIMI, samples=read(samples.KIMI_K2))


class TestGemma4(Family):
    name, write = "gemma4", templates.gemma4
    capabilities = ToolParserCapabilities(
        types="python",
        tokens=("<|tool_call>", "<tool_call|>", '<|"|>'),
        carries=gemma_carries,
        samples=read(samples.GEMMA4),
    )


class TestMistral(Family):
    name, write = "mistral", templates.mistral_named
    capabilities = ToolParserCapabilities(tokens=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"), samples=read(samples.MISTRAL))


class TestMistralList(TestMistral):
    write = templates.mistral_list


class TestMistralWithIds(TestMistral):
    write = templates.mistral_with_ids


class TestHarmony(Family):
    name, write = "openai", templates.harmony
    capabilities = ToolParserCapabilities(
        tokens=HARMONY,
        content_between=False,
        content_after=False,
        parses_reasoning=True,
        prompt="<|start|>assistant",
        samples=read(samples.HARMONY),
    )
