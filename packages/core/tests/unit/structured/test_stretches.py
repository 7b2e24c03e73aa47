from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.request.structured import Exit, FreeState, Marker, MarkerState
from kernelet.structured.stretches import FreeText, MarkerChoice, Step, check_exits, check_markers
from kernelet.structured.token_index import TokenIndex
from kernelet.testing.grammar_engine.vocabulary import make_vocabulary

LETTERS = [a + b + c for a in ["", *"abc"] for b in ["", *"abc"] for c in "abc"]
TEXTS = list(dict.fromkeys(LETTERS))
SPECIAL, MARK, STOP = len(TEXTS), len(TEXTS) + 1, len(TEXTS) + 2
INDEX = TokenIndex(make_vocabulary([*(text.encode() for text in TEXTS), b"", b"", b""], [STOP]))
"""Every text of up to three letters, a token without text, one that is a marker, and one that ends texts."""
MARKERS = st.lists(st.text("abc", min_size=1, max_size=4), max_size=3, unique=True).filter(
    lambda texts: not any(a != b and b.startswith(a) for a in texts for b in texts)
)


def ids_of(mask):
    return np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()


def first_end(text, markers):
    """Where the first of some markers ends; None: there is none."""
    return min((found.end() for marker in markers if (found := re.search(marker, text))), default=None)


@given(exits=MARKERS, words=st.lists(st.sampled_from(range(len(TEXTS) + 2)), max_size=12))
def test_free_text_ends_where_a_marker_ends_first(exits, words):
    states = [Exit(marker=Marker(text=text), next=number) for number, text in enumerate(exits)]
    states.append(Exit(marker=Marker(token_id=MARK), next=99))
    free = FreeText(INDEX, FreeState(exits=tuple(states)))
    text, place = "", b""
    for word in words:
        allowed = []
        for token_id, token in enumerate([*TEXTS, ""]):
            inside = any(text.endswith(marker[:size]) for marker in exits for size in range(1, len(marker)))
            end = first_end(text + token, exits)
            if (token or not inside) and end in {None, len(text) + len(token)}:
                allowed.append(token_id)
        assert ids_of(free.mask(place)) == [*allowed, MARK]
        step = free.step(place, word)
        assert (step is not None) == (word in [*allowed, MARK])
        if step is None:
            continue
        if word == MARK:
            assert step.exit.next == 99
            return
        text += TEXTS[word] if word < len(TEXTS) else ""
        end = first_end(text, exits)
        assert (step.exit is not None) == (end == len(text))
        if step.exit is not None:
            ended = [number for number, marker in enumerate(exits) if text.endswith(marker)]
            assert step.exit.next == max(ended, key=lambda number: len(exits[number]))  # the one that began first
            return
        place = step.place


@given(excluded=MARKERS, words=st.lists(st.sampled_from(range(len(TEXTS) + 2)), max_size=12))
def test_what_is_excluded_never_comes(excluded, words):
    markers = [*(Marker(text=text) for text in excluded), Marker(token_id=MARK)]
    free = FreeText(INDEX, FreeState(excludes=tuple(markers)))
    text, place = "", b""
    for word in words:
        inside = any(text.endswith(marker[:size]) for marker in excluded for size in range(1, len(marker)))
        allowed = [
            token_id
            for token_id, token in enumerate([*TEXTS, ""])
            if (token or not inside) and first_end(text + token, excluded) is None
        ]
        assert ids_of(free.mask(place)) == allowed
        step = free.step(place, word)
        assert (step is not None) == (word in allowed)
        if step is not None:
            text, place = text + [*TEXTS, ""][word], step.place


@pytest.mark.parametrize("token_id", [-1, STOP, STOP + 1])
def test_no_text_ends_or_leaves_the_vocabulary(token_id):
    assert FreeText(INDEX, FreeState()).step(b"", token_id) is None
    assert MarkerChoice(INDEX, MarkerState(exits=(Exit(marker=Marker(text="a")),))).step(b"", token_id) is None


@given(texts=MARKERS.filter(bool), words=st.lists(st.sampled_from(range(len(TEXTS) + 2)), max_size=6))
def test_a_choice_of_markers_is_one_of_them(texts, words):
    exits = [Exit(marker=Marker(text=text), next=number) for number, text in enumerate(texts)]
    exits.append(Exit(marker=Marker(token_id=MARK), next=99))
    choice = MarkerChoice(INDEX, MarkerState(exits=tuple(exits)))
    text = ""
    for word in words:
        fits = [index for index, token in enumerate(TEXTS) if any(one.startswith(text + token) for one in texts)]
        allowed = fits if text else [*fits, MARK]
        assert ids_of(choice.mask(text.encode())) == allowed
        step = choice.step(text.encode(), word)
        assert (step is not None) == (word in allowed)
        if step is None:
            continue
        if word == MARK:
            assert step.exit.next == 99
            return
        text += TEXTS[word]
        if text in texts:
            assert step.exit.next == texts.index(text)
            return
        assert step == Step(text.encode())


def test_the_only_marker_is_forced():
    only = MarkerChoice(INDEX, MarkerState(exits=(Exit(marker=Marker(text="abc")),)))
    assert (only.forced(b""), only.forced(b"a")) == (b"abc", b"bc")
    two = MarkerChoice(INDEX, MarkerState(exits=(Exit(marker=Marker(text="a")), Exit(marker=Marker(token_id=MARK)))))
    assert two.forced(b"") == b""


@pytest.mark.parametrize(
    "markers, words",
    [
        ((Marker(),), "neither text nor token"),
        ((Marker(text="a"), Marker(text="ab")), "'a' begins 'ab'"),
        ((Marker(text="a"), Marker(text="a")), "'a' begins 'a'"),
        ((Marker(token_id=1), Marker(token_id=1)), "two markers at once"),
    ],
)
def test_markers_that_cannot_be_told_apart(markers, words):
    with pytest.raises(ValueError, match=words):
        check_markers(markers)


def test_exits_lead_somewhere():
    check_exits((Exit(marker=Marker(text="a")), Exit(marker=Marker(text="b"), next=1)), 2)
    with pytest.raises(ValueError, match="state 2 of 2"):
        check_exits((Exit(marker=Marker(text="a"), next=2),), 2)
