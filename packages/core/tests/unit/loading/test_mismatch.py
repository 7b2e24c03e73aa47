from __future__ import annotations

import pytest

from kernelet.loading.mapping import Target, WeightMap
from kernelet.loading.mismatch import listed, mismatch, sources_of


class Sink:
    """Two tensors in the place of ``quantized.weight``, and one more if it is there."""

    def piece(self, part=None):
        return self

    def stored(self, source, names=()):
        if source != "a.quantized.weight":
            return {}
        optional = {"more": "a.quantized.more"} if "a.quantized.more" in names else {}
        return {"words": "a.quantized.words", "scales": "a.quantized.scales"} | optional


WORDS = ["a.quantized.words", "a.quantized.scales"]
MAP = WeightMap(
    targets={name: Target(weight=Sink()) for name in ("a.plain.weight", "a.quantized.weight")},
    ignored={r".*\.skip": "not needed"},
)


def complaint(names):
    return mismatch(MAP, sources_of(MAP, names), names)


def test_what_fills_each_target():
    assert sources_of(MAP, WORDS) == {
        "a.plain.weight": {"": "a.plain.weight"},
        "a.quantized.weight": {"words": WORDS[0], "scales": WORDS[1]},
    }
    assert sources_of(MAP, ["a.quantized.more"])["a.quantized.weight"]["more"] == "a.quantized.more"


def test_what_fits():
    assert complaint([*WORDS, "a.plain.weight"]) == ""
    assert complaint([*WORDS, "a.plain.weight", "a.quantized.more", "b.skip"]) == ""


@pytest.mark.parametrize(
    "names, said",
    [
        (["a.plain.weight", WORDS[0]], "the checkpoint misses a.quantized.scales; fetch the model again"),
        (["a.plain.weight", *WORDS, "other"], "nothing takes other; the checkpoint is of another architecture"),
        (
            ["a.plain.words", "a.plain.zeros", *WORDS],
            "a.plain has words, zeros in the place of weight: it is quantized, and nothing says how. config.json",
        ),
        (
            ["a.plain.weight", "a.quantized.weight"],
            "a.quantized.weight is unquantized, and words, scales are expected in its place: quantization_config",
        ),
    ],
)
def test_what_does_not_fit(names, said):
    assert complaint(names).startswith(said)


def test_a_reason_is_followed_by_all_that_differs():
    end = ": nothing takes a.plain.words; missing are a.plain.weight, a.quantized.scales, a.quantized.words"
    assert complaint(["a.plain.words"]).endswith(end)


def test_few_of_many_names_are_listed():
    assert listed([str(number) for number in range(10)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
    assert listed(["a", "b"]) == "a, b"
