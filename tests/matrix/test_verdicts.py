"""A row that does not show what it must is red, whatever the reason."""

from __future__ import annotations

import pytest
from matrix_rows import Row
from matrix_verdicts import judge

TRUTH = {"tokens": [[[1, 2]], [[3], [4]]], "stats": {}}
REFUSAL = {"shows": "refused", "error": "SelectionError", "says": "no platform"}


def verdict(folder, got, truth=TRUTH, **row):
    found = {"log": [], "order": ["request-0", "request-1/0", "request-1/1"], **got}
    return judge(Row(name="a", wheels=(), **{"shows": "same tokens", **row}), found, truth, folder)


def same(**stats):
    return {"tokens": TRUTH["tokens"], "stats": stats}


@pytest.mark.parametrize(
    "got, row, seen",
    [
        (same(), {}, "same tokens"),
        (same(), {"shows": "reference"}, "4 tokens"),
        (
            same(prefix_hits=7, num_preempted=2),
            {"happened": ("prefix_hits",)},
            "same tokens; preempted 2, prefix hits 7",
        ),
        ({"tokens": [[[1, 2]], [[3], [5]]], "stats": {}}, {"shows": "other tokens"}, "other tokens"),
        (same() | {"order": ["request-10", "request-9/0"]}, {"happened": ("reordered",)}, "same tokens"),
        (same(external_hits=8) | {"before": TRUTH["tokens"]}, {}, "same tokens; external hits 8"),
        (same() | {"log": ["x: gave up block 3"]}, {"logged": "gave up block"}, "same tokens"),
        (same() | {"chosen": ["w5", "w7", "w5"]}, {"choice": ("w5", "w7", "w9")}, "same tokens"),
        ({"error": "SelectionError", "message": "there is no platform here"}, REFUSAL, "SelectionError"),
    ],
)
def test_green(tmp_path, got, row, seen):
    found = verdict(tmp_path, got, **row)
    assert (found.red, str(found)) == ("", seen)


@pytest.mark.parametrize(
    "got, row, red",
    [
        ({"tokens": [[[1, 2]], [[3], [5]]], "stats": {}}, {}, "requests [1] have other tokens"),
        (same() | {"before": [[[1, 2]], [[3], [5]]]}, {}, "requests [1] have other tokens"),
        (same(), {"shows": "other tokens"}, "should not be"),
        (same() | {"chosen": ["w5", "w6"]}, {"choice": ("w5",)}, "held to ['w5'] are ['w5', 'w6']"),
        (same(prefix_hits=0), {"happened": ("prefix_hits", "num_chunked")}, "prefix_hits, num_chunked did not happen"),
        (same() | {"order": ["request-9", "request-10"]}, {"happened": ("reordered",)}, "reordered did not happen"),
        (same() | {"order": []}, {"happened": ("reordered",)}, "reordered did not happen"),
        (same(), {"logged": "gave up"}, "the log does not hold 'gave up'"),
        (same(), {"leaves": "file"}, "there is no file, or nothing in it"),
        ({"crash": "Segmentation fault"}, {}, "the process ended: Segmentation fault"),
        ({"crash": "Segmentation fault"}, REFUSAL, "the process ended: Segmentation fault"),
        ({"error": "PluginError", "message": "broken"}, {}, "PluginError: broken"),
        (same(), REFUSAL, "it started, where SelectionError was expected"),
        (
            {"error": "PluginError", "message": "there is no platform"},
            REFUSAL,
            "refused with 'PluginError: there is no",
        ),
        ({"error": "SelectionError", "message": "another"}, REFUSAL, "not with SelectionError: ...no platform..."),
    ],
)
def test_red(tmp_path, got, row, red):
    found = verdict(tmp_path, got, **row)
    assert red in found.red
    assert str(found).startswith("RED: ")


def test_a_truth_without_tokens_proves_nothing(tmp_path):
    assert verdict(tmp_path, same(), truth={"error": "x", "message": "y"}).red == "its reference row has no tokens"
    empty = {"tokens": [[[]], [[], []]], "stats": {}}
    assert verdict(tmp_path, empty, truth=empty).red == "no tokens came"


def test_an_empty_file_is_nothing(tmp_path):
    (tmp_path / "file").touch()
    assert verdict(tmp_path, same(), leaves="file").red
    (tmp_path / "file").write_text("x")
    assert not verdict(tmp_path, same(), leaves="file").red
