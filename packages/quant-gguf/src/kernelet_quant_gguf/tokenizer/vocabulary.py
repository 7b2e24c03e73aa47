"""Tokens of a file: their texts, what they are for, and the ids of special ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelet.errors import UnsupportedModelError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""``tokenizer.ggml.token_type``."""

ROLES = {
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unknown",
    "sep_token": "seperator",
    "pad_token": "padding",
    "mask_token": "mask",
}
"""Roles, by the name that GGUF has for them (the spelling is the format's)."""

ENDS = frozenset(
    {
        "<|eot_id|>",
        "<|im_end|>",
        "<|end|>",
        "<end_of_turn>",
        "<|endoftext|>",
        "<|eom_id|>",
        "<EOT>",
        "_<EOT>",
        "[EOT]",
        "<|end_of_text|>",
        "<end_of_utterance>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
    }
)
"""Control tokens that end a message in every model that has them: files rarely name more than one end."""


@dataclass(frozen=True)
class Vocabulary:
    """The tokens.

    Attributes:
        tokens: By id.
        types: Of each, see ``CONTROL``.
        scores: Of each; empty where merges decide.
        fields: All that the file says.
    """

    tokens: Sequence[str]
    types: Sequence[int]
    scores: Sequence[float]
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Vocabulary:
        """Reads and checks them; tokens at the end that nothing uses are left out.

        Raises:
            UnsupportedModelError: the file has no tokens, or lists that do not fit together.
        """
        tokens = fields.get("tokenizer.ggml.tokens")
        if not tokens:
            raise UnsupportedModelError("the file has no tokens (tokenizer.ggml.tokens): it is no whole model")
        types = fields.get("tokenizer.ggml.token_type") or [NORMAL] * len(tokens)
        scores = fields.get("tokenizer.ggml.scores") or []
        if len(types) != len(tokens) or len(scores) not in {0, len(tokens)}:
            raise UnsupportedModelError(
                f"the file has {len(tokens)} tokens, {len(types)} types and {len(scores)} scores of tokens"
            )
        count = len(tokens)
        while count and types[count - 1] == UNUSED:
            count -= 1
        return cls(tokens[:count], types[:count], scores[:count], fields)

    def role(self, role: str) -> int | None:
        """The id of a role; None: the file names none."""
        index = self.fields.get(f"tokenizer.ggml.{role}_token_id")
        return int(index) if index is not None and 0 <= index < len(self.tokens) else None

    def flag(self, name: str, otherwise: bool) -> bool:
        """What the file says of a switch."""
        return bool(self.fields.get(f"tokenizer.ggml.{name}", otherwise))

    @property
    def added(self) -> dict[int, str]:
        """Tokens that are found in a text before it is cut, by id."""
        named = {self.role(role) for role in ROLES.values()}
        return {
            index: token
            for index, (token, kind) in enumerate(zip(self.tokens, self.types, strict=True))
            if kind in {CONTROL, USER_DEFINED, UNKNOWN} or (index in named and kind != BYTE)
        }

    def is_special(self, index: int) -> bool:
        """Whether a token that was added is no text."""
        return self.types[index] != USER_DEFINED or self.tokens[index] in ENDS

    def proper(self) -> dict[str, int]:
        """Ids of the vocabulary proper: all but the added ones that follow it."""
        added = self.added
        count = len(self.tokens)
        while count and count - 1 in added:
            count -= 1
        found = {token: index for index, token in enumerate(self.tokens[:count])}
        if len(found) == count:
            return found
        twice = next(token for index, token in enumerate(self.tokens[:count]) if found[token] != index)
        raise UnsupportedModelError(f"the file has the token {twice!r} twice")

    def end_ids(self) -> list[int]:
        """Ids of all tokens that end a text."""
        named = [self.role(role) for role in ("eos", "eot", "eom")]
        found = [index for index, token in self.added.items() if token in ENDS]
        return list(dict.fromkeys(index for index in [*named, *found] if index is not None))

    def added_tokens(self) -> list[dict[str, Any]]:
        """In the form of tokenizer.json."""
        strip = self._strips()
        return [
            {
                "id": index,
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": index in strip,
                "normalized": False,
                "special": self.is_special(index),
            }
            for index, token in self.added.items()
        ]

    def _strips(self) -> set[int]:
        """Tokens that take the spaces after them: those of Phi-3's SentencePiece, which GGUF does not say."""
        if self.fields.get("general.architecture") != "phi3" or self.fields.get("tokenizer.ggml.model") != "llama":
            return set()
        return {index for index, token in self.added.items() if token not in {"<unk>", "<s>", "<|endoftext|>"}}

    def post_processor(self, *, bos: bool) -> dict[str, Any] | None:
        """Puts bos and eos around a text, as the file says; ``bos`` where it does not."""
        first = self.role("bos") if self.flag("add_bos_token", bos) else None
        last = self.role("eos") if self.flag("add_eos_token", otherwise=False) else None
        ends = [None if index is None else self.tokens[index] for index in (first, last)]
        if ends == [None, None]:
            return None

        def around(*texts: str) -> list[dict[str, Any]]:
            parts: list[dict[str, Any]] = []
            for kind, text in enumerate(texts):
                parts += [{"SpecialToken": {"id": ends[0], "type_id": kind}}] if ends[0] is not None else []
                parts.append({"Sequence": {"id": text, "type_id": kind}})
                parts += [{"SpecialToken": {"id": ends[1], "type_id": kind}}] if ends[1] is not None else []
            return parts

        named = {token: index for token, index in zip(ends, (first, last), strict=True) if token is not None}
        return {
            "type": "TemplateProcessing",
            "single": around("A"),
            "pair": around("A", "B"),
            "special_tokens": {
                token: {"id": token, "ids": [index], "tokens": [token]} for token, index in named.items()
            },
        }
