"""What a file says of a tokenizer, from tokenizer.json and the files beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.tokenizer.files import TEMPLATE
from kernelet_quant_gguf.tokenizer.sentencepiece import SPACE
from kernelet_quant_gguf.tokenizer.splits import SPLITS
from kernelet_quant_gguf.tokenizer.vocabulary import (
    BYTE,
    CONTROL,
    NORMAL,
    ROLES,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
)

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_PREFIX = "tokenizer.ggml"


def tokenizer_fields(folder: Path, vocab_size: int) -> dict[str, Any]:
    """All of it; empty where the folder has no tokenizer.

    Args:
        folder: Of the checkpoint.
        vocab_size: Rows of the embedding: so many tokens the file has.

    Raises:
        UnsupportedModelError: a tokenizer that a file cannot hold.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise UnsupportedModelError(f"{folder} has no tokenizer.json, which a GGUF file must hold")
    said, config = _json(path), _json(folder / "tokenizer_config.json")
    model = said["model"]
    if model.get("type", "BPE") != "BPE":
        raise UnsupportedModelError(f"{path}: a tokenizer of the kind {model.get('type')} cannot be written")
    is_sentencepiece = bool(model.get("byte_fallback"))
    texts, types = _tokens(said, vocab_size, bytes_too=is_sentencepiece)
    fields: dict[str, Any] = {f"{_PREFIX}.tokens": texts, f"{_PREFIX}.token_type": types}
    merges = [merge.split(" ", 1) if isinstance(merge, str) else merge for merge in model["merges"]]
    if is_sentencepiece:
        fields |= {f"{_PREFIX}.model": "llama", f"{_PREFIX}.pre": "default"}
        fields[f"{_PREFIX}.scores"] = _scores(texts, merges)
        fields[f"{_PREFIX}.add_space_prefix"] = _adds_space(path, said)
    else:
        fields |= {f"{_PREFIX}.model": "gpt2", f"{_PREFIX}.pre": _split_name(path, said)}
        fields[f"{_PREFIX}.merges"] = [" ".join(merge) for merge in merges]
    fields |= _roles(folder, config, {text: index for index, text in enumerate(texts)})
    return fields | _around(path, fields) | _templates(folder, config)


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _tokens(said: Mapping[str, Any], vocab_size: int, *, bytes_too: bool) -> tuple[list[str], list[int]]:
    texts = [f"[PAD{index}]" for index in range(vocab_size)]
    types = [UNUSED] * vocab_size

    def put(index: int, text: str, kind: int) -> None:
        if index >= vocab_size:
            raise UnsupportedModelError(f"the tokenizer has the token {index} ({text!r}), the model {vocab_size}")
        texts[index], types[index] = text, kind

    for text, index in said["model"]["vocab"].items():
        put(index, text, BYTE if bytes_too and _BYTE.fullmatch(text) else NORMAL)
    for token in said.get("added_tokens") or ():
        put(token["id"], token["content"], CONTROL if token.get("special") else USER_DEFINED)
    unknown = said["model"].get("unk_token")
    if unknown is not None and unknown in texts:
        types[texts.index(unknown)] = UNKNOWN
    return texts, types


def _scores(texts: list[str], merges: list[list[str]]) -> list[float]:
    """The piece that is merged first has the highest score."""
    ranks: dict[str, int] = {}
    for rank, merge in enumerate(merges):
        ranks.setdefault("".join(merge), rank)
    return [-float(ranks.get(text, 0)) for text in texts]


def _adds_space(path: Path, said: Mapping[str, Any]) -> bool:
    """Whether a text begins with a space that it does not have."""
    normalizer = said.get("normalizer") or {}
    steps = normalizer.get("normalizers", [normalizer] if normalizer else [])
    kinds = [step["type"] for step in steps]
    pre = said.get("pre_tokenizer") or {}
    if not kinds and pre.get("type") == "Metaspace" and pre.get("replacement") == SPACE:
        return bool(pre.get("prepend_scheme", "always") != "never")
    if kinds in (["Prepend", "Replace"], ["Replace"]) and pre.get("type") in {None, "Split"}:
        return "Prepend" in kinds
    raise UnsupportedModelError(f"{path}: its normalizer {kinds} and pre-tokenizer {pre.get('type')} cannot be written")


def _split_name(path: Path, said: Mapping[str, Any]) -> str:
    """Which of the known ways to cut it has."""
    wanted = _cuts(said.get("pre_tokenizer") or {}), bool(said["model"].get("ignore_merges"))
    for name, split in SPLITS.items():
        if (_cuts(split.pre_tokenizer()), split.ignore_merges) == wanted:
            return name
    raise UnsupportedModelError(f"{path}: it cuts texts as none of the tokenizers does that GGUF has a name for")


def _cuts(pre: Mapping[str, Any]) -> list[str]:
    """What a pre-tokenizer does, step by step."""
    found = []
    for step in pre.get("pretokenizers", [pre] if pre else []):
        if step["type"] == "Split":
            pattern = step["pattern"]
            found.append(f"{pattern.get('Regex') or pattern.get('String')} {step['behavior']}")
        elif step["type"] == "ByteLevel":
            found.append(f"bytes {step.get('use_regex', True)} {step.get('add_prefix_space', False)}")
        else:
            found.append(json.dumps(step, sort_keys=True))
    return found


def _roles(folder: Path, config: Mapping[str, Any], ids: Mapping[str, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for role, name in ROLES.items():
        token = config.get(role)
        text = token.get("content") if isinstance(token, Mapping) else token
        if text is not None and text in ids:
            found[f"{_PREFIX}.{name}_token_id"] = ids[text]
    said = _json(folder / "generation_config.json") or _json(folder / "config.json")
    ends = said.get("eos_token_id")
    listed = ends if isinstance(ends, list) else [ends] if ends is not None else []
    eos = found.setdefault(f"{_PREFIX}.eos_token_id", listed[0] if listed else None)
    others = [index for index in listed if index != eos]
    found |= {f"{_PREFIX}.{name}_token_id": index for name, index in zip(("eot", "eom"), others, strict=False)}
    return {key: value for key, value in found.items() if value is not None}


def _around(path: Path, fields: Mapping[str, Any]) -> dict[str, bool]:
    """Whether bos and eos are put around a text: asked of the tokenizer itself."""
    from tokenizers import Tokenizer

    backend = Tokenizer.from_file(str(path))
    plain = backend.encode("a", add_special_tokens=False).ids
    whole = backend.encode("a", add_special_tokens=True).ids
    place = next((at for at in range(len(whole)) if whole[at : at + len(plain)] == plain), 0)
    ends = whole[:place], whole[place + len(plain) :]
    named = [[fields.get(f"{_PREFIX}.{name}_token_id")] for name in ("bos", "eos")]
    if any(end and end != name for end, name in zip(ends, named, strict=True)):
        raise UnsupportedModelError(f"{path}: it puts {ends[0]} and {ends[1]} around a text, which cannot be written")
    return {f"{_PREFIX}.add_bos_token": bool(ends[0]), f"{_PREFIX}.add_eos_token": bool(ends[1])}


def _templates(folder: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    path = folder / "chat_template.jinja"
    said = path.read_text(encoding="utf-8") if path.is_file() else config.get("chat_template")
    if said is None:
        return {}
    named = {"default": said} if isinstance(said, str) else {one["name"]: one["template"] for one in said}
    found = {TEMPLATE if name == "default" else f"{TEMPLATE}.{name}": text for name, text in named.items()}
    others = [name for name in named if name != "default"]
    return found | ({f"{TEMPLATE}s": others} if others else {})
