from __future__ import annotations

from kernelet.contracts.sampling import TokenLogprobs
from kernelet.text.logprobs import describe_logprobs


def test_chosen_first_with_real_bytes(exact):
    smile = exact.encode("🙂", add_special_tokens=False)[-4:]
    word = exact.token_to_id("a")
    described = [
        describe_logprobs(exact, TokenLogprobs([index, word, index], [-2.0, -0.5, -2.0], [3, 1, 3])) for index in smile
    ]
    assert all(list(position) == [index, word] for position, index in zip(described, smile, strict=True))
    chosen = [position[index] for position, index in zip(described, smile, strict=True)]
    assert b"".join(entry.bytes for entry in chosen).decode() == "🙂"
    assert chosen[0].decoded_token == "\ufffd"
    assert (chosen[0].logprob, chosen[0].rank) == (-2.0, 3)
    other = described[0][word]
    assert (other.logprob, other.rank, other.decoded_token, other.bytes) == (-0.5, 1, "a", b"a")


def test_spaces_are_kept(sentencepiece):
    space = sentencepiece.token_to_id("▁")
    assert describe_logprobs(sentencepiece, TokenLogprobs([space], [0.0], [1]))[space].bytes == b" "
