from __future__ import annotations

from kernelet.testing.attention.trees import LARGEST, TREES, masks_of


def test_masks_are_a_token_and_its_ancestors():
    assert masks_of((-1, 0, 0, 2, -1)).tolist() == [0b1, 0b11, 0b101, 0b1101, 0b10000]
    assert masks_of(()).tolist() == []


def test_every_tree_lists_ancestors_first():
    for parents in (*TREES.values(), LARGEST):
        assert all(-1 <= parent < token for token, parent in enumerate(parents))


def test_the_largest_has_all_bits():
    masks = masks_of(LARGEST)
    assert masks.dtype.name == "int64"
    assert len(masks) == 64
    assert masks[63] < 0 < masks[62]
