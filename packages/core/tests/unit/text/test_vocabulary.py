from __future__ import annotations

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from kernelet.errors import ParameterError
from kernelet.testing.null.model import null_config, write_model
from kernelet.text.tokenizer import Tokenizer
from kernelet.text.vocabulary import byte_vocabulary, token_vocabulary, vocabulary_of


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return Tokenizer.from_folder(write_model(tmp_path_factory.mktemp("model"), null_config()))


def test_tokens_are_their_bytes_and_special_ones_have_none(tokenizer):
    found = token_vocabulary(tokenizer, 270)
    assert len(found.token_bytes) == 270
    assert found.num_words == 9
    assert set(found.stop_token_ids) == set(tokenizer.eos_token_ids)
    for index in range(270):
        special = tokenizer.is_special(index) or index in tokenizer.eos_token_ids
        assert found.token_bytes[index] == (b"" if special else tokenizer.token_bytes(index))
    assert {found.token_bytes[index] for index in range(270)} == {b"", *(bytes([value]) for value in range(256))}
    assert set(found.token_bytes[len(tokenizer) :]) == {b""}, "columns that the tokenizer does not know"


def test_the_logits_may_have_fewer_columns(tokenizer):
    found = token_vocabulary(tokenizer, 100)
    assert len(found.token_bytes) == 100
    assert all(index < 100 for index in found.stop_token_ids)


def test_the_digest_is_of_everything():
    same = vocabulary_of([b"a", b"b"], (1,)).digest
    assert vocabulary_of((b"a", b"b"), [1]).digest == same
    others = [
        vocabulary_of([b"a", b"b"], ()),
        vocabulary_of([b"ab", b""], (1,)),
        vocabulary_of([b"b", b"a"], (1,)),
        vocabulary_of([b"a", b"b", b""], (1,)),
    ]
    assert same not in {one.digest for one in others}


def test_bytes():
    found = byte_vocabulary()
    assert found.token_bytes[:256] == tuple(bytes([value]) for value in range(256))
    assert (found.token_bytes[256], found.stop_token_ids, len(found.token_bytes)) == (b"", (256,), 257)


def words(decoder):
    backend = tokenizers.Tokenizer(models.WordLevel({f"w{index}": index for index in range(600)}, unk_token="w0"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if decoder is not None:
        backend.decoder = decoder
    return Tokenizer(backend)


def test_tokens_whose_text_depends_on_others_have_no_bytes():
    for decoder in (None, decoders.WordPiece()):
        with pytest.raises(ParameterError, match="depends on what stands before them"):
            token_vocabulary(words(decoder), 600)
    joined = words(decoders.Sequence([decoders.Replace("x", "y"), decoders.Fuse()]))
    assert token_vocabulary(joined, 600).token_bytes[:2] == (b"w0", b"w1")
