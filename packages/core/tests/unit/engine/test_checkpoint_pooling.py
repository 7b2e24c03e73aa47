from __future__ import annotations

import json

import pytest

from kernelet.engine.checkpoint_pooling import CheckpointPooling, read_pooling


def write(folder, pooling, *kinds):
    """In the form in which such checkpoints come."""
    modules = [
        {"idx": index, "name": str(index), "path": f"{index}_{kind}" if index else "", "type": f"library.models.{kind}"}
        for index, kind in enumerate(("Transformer", *kinds))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return read_pooling(folder)


def flags(*on):
    every = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
    return {"word_embedding_dimension": 8} | {f"pooling_mode_{one}": one in on for one in every}


def test_a_model_that_says_nothing(tmp_path):
    assert read_pooling(tmp_path) == CheckpointPooling()


@pytest.mark.parametrize(
    "said, pooling",
    [
        (flags("lasttoken"), "last"),
        (flags("mean_tokens"), "mean"),
        ({"pooling_mode": "lasttoken"}, "last"),
        ({"pooling_mode": "mean"}, "mean"),
        (flags("lasttoken") | {"include_prompt": False}, "last"),
    ],
)
def test_what_it_says(tmp_path, said, pooling):
    assert write(tmp_path, said, "Pooling", "Normalize") == CheckpointPooling(pooling=pooling, normalize=True)
    assert write(tmp_path, said, "Pooling") == CheckpointPooling(pooling=pooling, normalize=False)


@pytest.mark.parametrize(
    "said, kinds, says",
    [
        (flags("cls_token"), ("Pooling",), "pools by cls_token"),
        (flags("mean_tokens", "max_tokens"), ("Pooling",), "mean_tokens and max_tokens"),
        (flags(), ("Pooling",), "pools by nothing"),
        ({"pooling_mode": ["mean", "lasttoken"]}, ("Pooling",), "mean and lasttoken"),
        (flags("mean_tokens") | {"include_prompt": False}, ("Pooling",), "leaves the instruction out"),
        (flags("mean_tokens"), ("Pooling", "Dense", "Normalize"), "pass through Dense"),
    ],
)
def test_what_is_not_served(tmp_path, said, kinds, says):
    assert says in write(tmp_path, said, *kinds).refused


@pytest.mark.parametrize("text", ["{", "3", '[{"name": "0"}]', '["x"]'])
def test_what_cannot_be_read(tmp_path, text):
    (tmp_path / "modules.json").write_text(text)
    assert "modules.json cannot be read" in read_pooling(tmp_path).refused


def test_a_pooling_that_is_not_there(tmp_path):
    write(tmp_path, {}, "Pooling")
    (tmp_path / "1_Pooling" / "config.json").unlink()
    assert "cannot be read" in read_pooling(tmp_path).refused


def test_only_a_norm(tmp_path):
    assert write(tmp_path, {}, "Normalize") == CheckpointPooling(normalize=True)
