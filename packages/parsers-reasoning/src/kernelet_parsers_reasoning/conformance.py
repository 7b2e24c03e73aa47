"""The suites of the test kit, on this package."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

import pytest

from kernelet.contracts.parsing import ReasoningParserOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.reasoning_parser import ReasoningParserCapabilities, ReasoningParserSuite, Render, Sample
from kernelet_parsers_reasoning import renders

__all__ = [
    "TestDeepseekR1",
    "TestDeepseekV3",
    "TestErnie45",
    "TestGlm45",
    "TestGlm47",
    "TestGranite",
    "TestGraniteSpoken",
    "TestHunyuanA13b",
    "TestHyV3",
    "TestKimiK2",
    "TestMinimaxM2",
    "TestMistral",
    "TestOlmo3",
    "TestOpenaiGptoss",
    "TestPackage",
    "TestQwen3",
    "TestSeedOss",
    "TestStep3p5",
]

PLUGIN = "kernelet_parsers_reasoning.plugin"
TAGS = ("<think>", "</think>")


@cache
def offered_as(name: str) -> Offered[ReasoningParserOffer]:
    """The parser of a name; found once, since an offer does not change."""
    return find_offer(PLUGIN, ReasoningParserOffer, name)


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-parsers-reasoning"


class Family(ReasoningParserSuite):
    """A parser, and what its models write."""

    name: ClassVar[str] = ""
    write: ClassVar[staticmethod[[str, str], str]]

    @pytest.fixture
    def offered(self) -> Offered[ReasoningParserOffer]:
        return offered_as(self.name)

    @pytest.fixture
    def render(self) -> Render:
        return lambda message, _: self.write(message.reasoning, message.content)


def tagged(
    opening: str = "<think>",
    closing: str = "</think>",
    *,
    line: str = "",
    opened: bool = False,
    closed: str = "",
    prompt: str = "",
    tokens: bool = True,
    others: tuple[str, ...] = (),
) -> ReasoningParserCapabilities:
    """Of a family with tags.

    Args:
        opening: Tag.
        closing: Tag.
        line: What stands inside the tags, next to them.
        opened: Some prompts end with the opening tag.
        closed: The end of a prompt that has closed reasoning.
        prompt: The end of one that neither opens nor closes it.
        tokens: The tags are tokens.
        others: Further marks.
    """
    begin, end = opening + line, line + closing
    return ReasoningParserCapabilities(
        tokens=(opening, closing) if tokens else (),
        opened=begin if opened else "",
        closed=closed,
        stray=(closing, *others),
        prompt=prompt,
        samples=(
            Sample(text=f"{opening}step one", reasoning="step one", cut=True),
            Sample(text=f"weighing it{closing}Answer.", reasoning="weighing it", content="Answer.", prompt=begin),
            Sample(text=f"{begin}a{end}b {closing}c", reasoning="a", content="b c"),
            Sample(
                text=f"{begin}a{end}Some {opening[:-1]} and {closing[:-1]}",
                reasoning="a",
                content=f"Some {opening[:-1]} and {closing[:-1]}",
            ),
            Sample(text=f"{begin}{begin}a{end}{opening[:3]}", reasoning="a", content=opening[:3]),
        ),
    )


class TestDeepseekR1(Family):
    name = "deepseek_r1"
    write = staticmethod(renders.qwen3)
    capabilities = tagged(line="\n", opened=True, closed="<think>\n</think>")


class TestDeepseekV3(Family):
    name = "deepseek_v3"
    write = staticmethod(renders.bare)
    capabilities = tagged(opened=True, closed="<think></think>", prompt="<\uff5cAssistant\uff5c>")


class TestQwen3(Family):
    name = "qwen3"
    write = staticmethod(renders.qwen3)
    capabilities = tagged(line="\n", opened=True, closed="<think>\n\n</think>\n\n", prompt="<|im_start|>assistant\n")


class TestMistral(Family):
    name = "mistral"
    write = staticmethod(renders.mistral)
    capabilities = tagged("[THINK]", "[/THINK]", prompt="[/INST]")


class TestGranite(Family):
    name = "granite"
    write = staticmethod(renders.granite)
    capabilities = tagged(tokens=False, prompt="<|end_of_role|>", others=("</response>",))


class TestGraniteSpoken(Family):
    """Of the sentences of 3.2."""

    name = "granite"
    write = staticmethod(renders.granite_spoken)
    capabilities = ReasoningParserCapabilities(
        prompt="<|end_of_role|>",
        samples=(
            Sample(text="Here's my thought process: a Here's my response: b", reasoning="a", content="b"),
            Sample(text="Here is my view.", content="Here is my view."),
            Sample(text="Here is my thought", content="Here is my thought", cut=True),
        ),
    )


class TestOpenaiGptoss(Family):
    name = "openai_gptoss"
    write = staticmethod(renders.harmony)
    capabilities = ReasoningParserCapabilities(
        tokens=("<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|return|>", "<|call|>"),
        prompt="<|start|>assistant",
        stray=("<|end|>",),
        samples=(
            Sample(text="Hello.", content="Hello."),
            Sample(text="<|channel|>final<|message|>Hello.<|return|>", content="Hello."),
            Sample(text="<|channel|>analysis<|message|>step one", reasoning="step one", cut=True),
            Sample(text="<|channel|>analy", cut=True),
            Sample(
                text="<|channel|>analysis<|message|>a<|end|>"
                "<|start|>assistant<|channel|>commentary<|message|>First.<|end|>"
                "<|start|>assistant<|channel|>analysis<|message|> b<|end|>"
                "<|start|>assistant<|channel|>final<|message|> Last.",
                reasoning="a b",
                content="First. Last.",
            ),
        ),
    )


class TestGlm45(Family):
    name = "glm45"
    write = staticmethod(renders.glm46)
    capabilities = tagged(closed="\n<think></think>", prompt="<|assistant|>")


class TestGlm47(Family):
    name = "glm47"
    write = staticmethod(renders.glm47)
    capabilities = tagged(closed="<|assistant|></think>", prompt="<|assistant|>")


class TestKimiK2(Family):
    name = "kimi_k2"
    write = staticmethod(renders.bare)
    capabilities = tagged(prompt="<|im_middle|>")


class TestMinimaxM2(Family):
    name = "minimax_m2"
    write = staticmethod(renders.minimax_m2)
    capabilities = tagged(line="\n", opened=True, prompt="]~b]ai\n")


class TestOlmo3(Family):
    name = "olmo3"
    write = staticmethod(renders.bare)
    capabilities = tagged(opened=True, tokens=False, prompt="<|im_start|>assistant\n")


class TestSeedOss(Family):
    name = "seed_oss"
    write = staticmethod(renders.seed_oss)
    capabilities = tagged(
        "<seed:think>",
        "</seed:think>",
        closed="</seed:cot_budget_reflect>\n</seed:think>",
        prompt="<seed:bos>assistant\n",
    )


class TestStep3p5(Family):
    name = "step3p5"
    write = staticmethod(renders.step3)
    capabilities = tagged(line="\n", opened=True)


class TestHunyuanA13b(Family):
    name = "hunyuan_a13b"
    write = staticmethod(renders.hunyuan)
    capabilities = tagged(
        line="\n", tokens=False, closed="<think>\n\n</think>\n", prompt="<|extra_0|>", others=("</answer>",)
    )


class TestHyV3(Family):
    name = "hy_v3"
    write = staticmethod(renders.hy_v3)
    capabilities = tagged(
        "<think:opensource>",
        "</think:opensource>",
        opened=True,
        closed="<think:opensource></think:opensource>",
        prompt="<\uff5chy_Assistant:opensource\uff5c>",
    )


class TestErnie45(Family):
    name = "ernie45"
    write = staticmethod(renders.ernie)
    capabilities = tagged(line="\n", opened=True, prompt="<|im_start|>assistant\n", others=("</response>",))
