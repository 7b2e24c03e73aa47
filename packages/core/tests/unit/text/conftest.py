"""Tiny tokenizers of each family, trained here, and model folders made of them."""

from __future__ import annotations

import json

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

from kernelet.text.special_tokens import SpecialTokens
from kernelet.text.tokenizer import Tokenizer

CORPUS = [
    "The quick brown fox jumps over the lazy dog. The dog sleeps; the fox runs.",
    "Ein Straßencafé in Zürich kostet 5 € pro Stück, naïve façade.",
    "def f(x):\n    return x  +  1\n\n\tprint('hello world')",
    "Привет, мир! こんにちは世界 🙂🙂 🌶 na ď",
]
SPECIALS = ["<unk>", "<s>", "</s>", "<|end|>"]
SENTENCEPIECE_DECODER = decoders.Sequence(
    [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
)


def named(*, bos: str = "<s>", eos: str = "</s>") -> SpecialTokens:
    return SpecialTokens(
        named={
            role: AddedToken(text, special=True, normalized=False)
            for role, text in (("bos_token", bos), ("eos_token", eos))
        }
    )


def make_byte_level() -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=SPECIALS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS, trainer)
    backend.add_tokens([AddedToken("<tool_call>", special=False, normalized=False)])
    backend.add_special_tokens(["<|extra|>"])
    return backend


def make_sentencepiece(decoder: decoders.Decoder = SENTENCEPIECE_DECODER) -> tokenizers.Tokenizer:
    """As converters write sentencepiece models: byte tokens are ordinary entries of the vocabulary."""
    trained = tokenizers.Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
    trained.train_from_iterator(CORPUS[:2], trainers.BpeTrainer(vocab_size=150, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    pieces = [*SPECIALS[:3], *(f"<0x{byte:02X}>" for byte in range(256)), *model["vocab"], "▁▁"]
    vocab = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    merges = [(*merge,) for merge in model["merges"]]
    backend = tokenizers.Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoder
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", vocab["<s>"])])
    backend.add_special_tokens(SPECIALS[:3])
    # Models list runs of space among the added tokens, though they are pieces of the vocabulary.
    backend.add_tokens([AddedToken("▁▁", normalized=False)])
    return backend


def make_wordpiece() -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[UNK]", "[SEP]"], show_progress=False)
    backend.train_from_iterator(CORPUS, trainer)
    return backend


@pytest.fixture(scope="session")
def byte_level() -> Tokenizer:
    return Tokenizer(make_byte_level(), named())


@pytest.fixture(scope="session")
def sentencepiece() -> Tokenizer:
    return Tokenizer(make_sentencepiece(), named())


@pytest.fixture(scope="session")
def wordpiece() -> Tokenizer:
    return Tokenizer(make_wordpiece())


@pytest.fixture(scope="session")
def regex_replace() -> Tokenizer:
    """Sentencepiece pieces behind a decoder that has no reading in bytes."""
    steps = [decoders.Replace(Regex("▁"), " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    return Tokenizer(make_sentencepiece(decoders.Sequence(steps)), named())


@pytest.fixture(scope="session")
def metaspace() -> Tokenizer:
    return Tokenizer(make_sentencepiece(decoders.Metaspace()), named())


@pytest.fixture(scope="session", params=["byte_level", "sentencepiece"])
def exact(request) -> Tokenizer:
    """The two families that must be exact."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session", params=["byte_level", "sentencepiece", "metaspace", "wordpiece", "regex_replace"])
def any_family(request) -> Tokenizer:
    return request.getfixturevalue(request.param)


@pytest.fixture
def write_folder(tmp_path):
    """Writes a model folder; files are given by name as JSON values."""

    def write(backend: tokenizers.Tokenizer, **files: object):
        backend.save(str(tmp_path / "tokenizer.json"))
        for name, value in files.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture(scope="session")
def make_backend():
    """Makes a fresh library tokenizer of a family."""
    return {"byte_level": make_byte_level, "sentencepiece": make_sentencepiece, "wordpiece": make_wordpiece}
