"""Where byte-level tokenizers cut a text before they merge, by the name in ``tokenizer.ggml.pre``. Data only.

The expressions are those of the tokenizer.json files that the names stand for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kernelet.errors import UnsupportedModelError

_ENDS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_SHORT_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LLAMA3 = rf"{_SHORT_WORDS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_ENDS}"
_QWEN2 = rf"{_SHORT_WORDS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_ENDS}"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASES = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+%s|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*%s"
_SLASHES = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_TEKKEN = rf"{_CASES % ('', '')}|\p{{N}}|{_SLASHES}"
_GPT4O = rf"{_CASES % (f'{_SHORT_WORDS}?', f'{_SHORT_WORDS}?')}|\p{{N}}{{1,3}}|{_SLASHES}"
_DEEPSEEK3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
)
_DEEPSEEK_LETTERS = (
    "[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d"
    "\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4"
    "\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
    "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
    "\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a"
    "\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2"
    "\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943]"
)
_CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_DEEPSEEK = (
    r"[\r\n]",
    rf"\s?{_DEEPSEEK_LETTERS}+",
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    r"\s+$",
    _CJK,
    r"\p{N}+",
)
_DEEPSEEK_CODER = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _CJK, r"\p{N}")


@dataclass(frozen=True, kw_only=True)
class Split:
    """How a text is cut.

    Attributes:
        first: Pre-tokenizers that come before the expressions.
        expressions: One after the other; what matches stands alone.
        gpt2: The expression of GPT-2 comes last.
        ignore_merges: A piece that is a token is taken without merging.
        bos: A bos token comes first where the file does not say.
        normalizer: Unicode's normal form.
    """

    first: tuple[Mapping[str, Any], ...] = ()
    expressions: tuple[str, ...] = ()
    gpt2: bool = False
    ignore_merges: bool = False
    bos: bool = False
    normalizer: str = ""

    def pre_tokenizer(self) -> dict[str, Any]:
        """In the form of tokenizer.json."""
        splits = [
            {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
            for expression in self.expressions
        ]
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": self.gpt2}
        return {"type": "Sequence", "pretokenizers": [*map(dict, self.first), *splits, level]}


_DIGITS = Split(first=({"type": "Digits", "individual_digits": True},), gpt2=True)
_GPT2 = Split(gpt2=True)
_BANDS = Split(expressions=(_LLAMA3,))
_WORDS = Split(expressions=(_LLAMA3,), ignore_merges=True, bos=True)
SPLITS: Mapping[str, Split] = MappingProxyType(
    {
        **dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "lfm2", "midm-2.0"), _WORDS),
        **dict.fromkeys(("dbrx", "smaug-bpe", "chatglm-bpe"), _BANDS),
        "glm4": Split(expressions=(_LLAMA3,), ignore_merges=True),
        **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), Split(expressions=(_QWEN2,), normalizer="NFC")),
        **dict.fromkeys(("stablelm2", "hunyuan", "megrez", "solar-open"), Split(expressions=(_QWEN2,))),
        **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "exaone4", "gigachat"), _GPT2),
        **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"), _DIGITS),
        "tekken": Split(expressions=(_TEKKEN,), ignore_merges=True, bos=True),
        **dict.fromkeys(("gpt-4o", "llama4"), Split(expressions=(_GPT4O,))),
        "deepseek-llm": Split(expressions=_DEEPSEEK),
        "deepseek-coder": Split(expressions=_DEEPSEEK_CODER),
        "deepseek-v3": Split(expressions=_DEEPSEEK3),
    }
)


def split_of(name: str | None) -> Split:
    """How a tokenizer of that name cuts.

    Raises:
        UnsupportedModelError: it is not known.
    """
    if name is not None and name in SPLITS:
        return SPLITS[name]
    served = ", ".join(sorted(SPLITS))
    said = (
        "does not say how its tokenizer cuts a text (tokenizer.ggml.pre)"
        if name in {None, "default"}
        else (f"has a tokenizer that cuts a text as {name!r} does, which is not served")
    )
    raise UnsupportedModelError(f"the file {said}; served are {served}: convert the model again, or use its checkpoint")
