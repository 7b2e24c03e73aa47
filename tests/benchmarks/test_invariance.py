from __future__ import annotations

from invariance import PROMPTS, differing, sentence


def test_which_texts_differ():
    assert differing([[1, 2], [3], [4]], [[1, 2], [5], [4]]) == [1]
    assert differing([[1]], [[1]]) == []


def test_sentences():
    assert len(set(PROMPTS)) == 16
    assert sentence("a", {"version": "1", "texts": 16, "differ": [2, 3]}) == "a 1: 2 of 16 texts differ [2, 3]"
    assert sentence("a", {"version": "1", "texts": 16, "differ": []}) == "a 1: 0 of 16 texts differ "
    assert sentence("b", {"missing": "gone"}) == "b: not measured: gone"
