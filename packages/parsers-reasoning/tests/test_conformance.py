"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_parsers_reasoning.conformance import (
    TestDeepseekR1,
    TestDeepseekV3,
    TestErnie45,
    TestGlm45,
    TestGlm47,
    TestGranite,
    TestGraniteSpoken,
    TestHunyuanA13b,
    TestHyV3,
    TestKimiK2,
    TestMinimaxM2,
    TestMistral,
    TestOlmo3,
    TestOpenaiGptoss,
    TestPackage,
    TestQwen3,
    TestSeedOss,
    TestStep3p5,
)

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
