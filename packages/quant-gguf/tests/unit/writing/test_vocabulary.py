from __future__ import annotations

import json

import pytest
import tokenizers
from gguf_checkpoints import write_tokenizer
from gguf_files import SCORES, TOKENS, TYPES
from hypothesis import given
from hypothesis import strategies as st

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.tokenizer.files import tokenizer_config, tokenizer_json
from kernelet_quant_gguf.tokenizer.vocabulary import Vocabulary
from kernelet_quant_gguf.writing.vocabulary import tokenizer_fields


@pytest.fixture
def folder(tmp_path):
    write_tokenizer(tmp_path)
    return tmp_path


def change(folder, name="tokenizer.json", **said):
    path = folder / name
    path.write_text(json.dumps((json.loads(path.read_text()) if path.is_file() else {}) | said))


def test_a_byte_level_tokenizer(folder):
    said = tokenizer_fields(folder, 64)
    assert said["tokenizer.ggml.model"] == "gpt2"
    assert said["tokenizer.ggml.pre"] == "gpt-2"
    assert said["tokenizer.ggml.merges"] == ["a b", "ab c", "\u0120 a"]
    assert said["tokenizer.ggml.tokens"][:4] == ["<unk>", "<s>", "</s>", "a"]
    assert said["tokenizer.ggml.tokens"][-1] == "[PAD63]"
    assert said["tokenizer.ggml.token_type"][:4] + said["tokenizer.ggml.token_type"][-1:] == [3, 3, 3, 1, 5]
    ids = {key.split(".")[-1]: value for key, value in said.items() if key.endswith("_id")}
    assert ids == {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0}
    assert (said["tokenizer.ggml.add_bos_token"], said["tokenizer.ggml.add_eos_token"]) == (False, False)
    assert said["tokenizer.chat_template"] == "{{ messages }}"


def test_it_reads_back(folder):
    said = Vocabulary.of(tokenizer_fields(folder, 64))
    before = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    after = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(said)))
    for text in ("abc ab a", "<s>xyz</s> q", ""):
        assert after.encode(text).ids == before.encode(text).ids


def test_ends_of_messages_and_templates_beside(folder):
    change(folder, "generation_config.json", eos_token_id=[2, 5, 7])
    change(
        folder,
        "tokenizer_config.json",
        chat_template=[{"name": "default", "template": "a"}, {"name": "rag", "template": "b"}],
    )
    said = tokenizer_fields(folder, 64)
    assert (said["tokenizer.ggml.eot_token_id"], said["tokenizer.ggml.eom_token_id"]) == (5, 7)
    assert (said["tokenizer.chat_template.rag"], said["tokenizer.chat_templates"]) == ("b", ["rag"])
    assert Vocabulary.of(said).end_ids() == [2, 5, 7]
    (folder / "chat_template.jinja").write_text("c")
    assert tokenizer_fields(folder, 64)["tokenizer.chat_template"] == "c"


def test_what_is_put_around_a_text_is_found_by_asking(folder):
    around = Vocabulary.of(tokenizer_fields(folder, 64) | {"tokenizer.ggml.add_bos_token": True})
    change(folder, post_processor=around.post_processor(bos=True))
    assert tokenizer_fields(folder, 64)["tokenizer.ggml.add_bos_token"] is True
    wrong = json.loads(json.dumps(around.post_processor(bos=True)).replace("<s>", "</s>").replace("[1]", "[2]"))
    change(folder, post_processor=wrong)
    with pytest.raises(UnsupportedModelError, match=r"puts \[2\] and \[\] around a text"):
        tokenizer_fields(folder, 64)


@pytest.fixture(scope="module")
def sentencepiece(tmp_path_factory):
    said = {"model": "llama", "tokens": TOKENS, "token_type": TYPES, "scores": SCORES, "unknown_token_id": 0}
    said |= {"bos_token_id": 1, "eos_token_id": 2}
    folder = tmp_path_factory.mktemp("spm")
    found = Vocabulary.of({f"tokenizer.ggml.{key}": value for key, value in said.items()})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json(found)))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config(found)))
    return folder


def test_sentencepiece(sentencepiece):
    said = tokenizer_fields(sentencepiece, 264)
    assert said["tokenizer.ggml.tokens"] == TOKENS
    assert said["tokenizer.ggml.token_type"] == TYPES
    assert said["tokenizer.ggml.add_space_prefix"] is True
    assert said["tokenizer.ggml.add_bos_token"] is True
    assert said["tokenizer.ggml.scores"][-2] > said["tokenizer.ggml.scores"][-1]


@given(text=st.text(alphabet="ab \u00e9", max_size=12))
def test_sentencepiece_reads_back(sentencepiece, text):
    before = tokenizers.Tokenizer.from_file(str(sentencepiece / "tokenizer.json"))
    after = tokenizers.Tokenizer.from_str(
        json.dumps(tokenizer_json(Vocabulary.of(tokenizer_fields(sentencepiece, 264))))
    )
    assert after.encode(text).ids == before.encode(text).ids


@pytest.mark.parametrize(
    "said, message",
    [
        ({"pre_tokenizer": {"type": "Whitespace"}}, "cuts texts as none of the tokenizers"),
        ({"model": {"type": "WordPiece", "vocab": {}}}, "of the kind WordPiece"),
        ({"model": {"type": "BPE", "vocab": {"a": 64}, "merges": []}}, r"the token 64 \('a'\), the model 64"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(folder, said, message):
    change(folder, **said)
    with pytest.raises(UnsupportedModelError, match=message):
        tokenizer_fields(folder, 64)


def test_a_folder_without_a_tokenizer(tmp_path):
    with pytest.raises(UnsupportedModelError, match=r"no tokenizer\.json"):
        tokenizer_fields(tmp_path, 64)
