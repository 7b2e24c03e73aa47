"""Which tokens of a model folder are special, and which end a text.

The files and their order are those of `transformers`: tokenizer_config.json names the tokens; special_tokens_map.json
counts only where the former lists no ``added_tokens_decoder``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tokenizers import AddedToken

from kernelet.errors import TokenizerError
from kernelet.text.folder import read_json

if TYPE_CHECKING:
    from pathlib import Path

    import tokenizers

NAMED_TOKENS: Final = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """What the configuration files say about special tokens.

    Attributes:
        named: By role (``"bos_token"``, also a model's own roles): the variables of a chat template.
        extra: Special tokens without a role.
        added: Tokens with their id as written in tokenizer_config.json.
    """

    named: Mapping[str, AddedToken] = field(default_factory=dict)
    extra: tuple[AddedToken, ...] = ()
    added: Mapping[int, AddedToken] = field(default_factory=dict)

    @classmethod
    def from_folder(cls, folder: Path) -> SpecialTokens:
        """Read tokenizer_config.json and special_tokens_map.json.

        Raises:
            TokenizerError: A file is malformed.
        """
        config = read_json(folder / "tokenizer_config.json")
        if "added_tokens_decoder" not in config:
            config |= read_json(folder / "special_tokens_map.json")
        added = {int(index): _added_token(token) for index, token in config.get("added_tokens_decoder", {}).items()}
        extra = config.get("extra_special_tokens") or config.get("additional_special_tokens") or []
        named = {key: config[key] for key in config if key in NAMED_TOKENS}
        named |= {key: config[key] for key in config if key.endswith("_token") and isinstance(config[key], str)}
        if isinstance(extra, dict):
            named |= extra
            extra = []
        known = {token.content: token for token in added.values()}
        tokens = {key: _added_token(token) for key, token in named.items() if token is not None}
        return cls(
            named={key: known.get(token.content, token) for key, token in tokens.items()},
            extra=tuple(_added_token(token) for token in extra),
            added=added,
        )

    def add_to(self, backend: tokenizers.Tokenizer) -> None:
        """Make all of them special tokens of `backend`; those that it lacks get new ids.

        Raises:
            TokenizerError: A new token would not get the id that tokenizer_config.json gives it.
        """
        missing = {
            index: token for index, token in sorted(self.added.items()) if backend.token_to_id(token.content) is None
        }
        backend.add_tokens(list(missing.values()))
        for index, token in missing.items():
            if (given := backend.token_to_id(token.content)) != index:
                raise TokenizerError(
                    f"tokenizer_config.json gives {token.content!r} the id {index}, but with tokenizer.json it becomes "
                    f"{given}: save the tokenizer again so that both files agree"
                )
        backend.add_special_tokens([token for token in self.added.values() if token.special])
        backend.add_special_tokens([*self.named.values(), *self.extra])


def _added_token(value: Any) -> AddedToken:
    """A token from its JSON form: a string, or an object with the fields of `AddedToken`."""
    if isinstance(value, str):
        return AddedToken(value, special=True, normalized=False)
    fields = {key: value[key] for key in ("single_word", "lstrip", "rstrip", "normalized") if key in value}
    return AddedToken(value["content"], special=value.get("special", True), **fields)


def read_token_ids(folder: Path, key: str) -> tuple[int, ...]:
    """The ids under `key` (``"eos_token_id"``) of generation_config.json, else of config.json.

    Raises:
        TokenizerError: The value is neither an id nor a list of ids.
    """
    value = read_json(folder / "generation_config.json").get(key)
    if value is None:
        config = read_json(folder / "config.json")
        value = config.get(key, config.get("text_config", {}).get(key))
    ids = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(index, int) and not isinstance(index, bool) for index in ids):
        raise TokenizerError(f"{key} in {folder} should be an id or a list of ids, not {value!r}: correct the file")
    return tuple(ids)
