from __future__ import annotations

import random

import gguf
import numpy as np
import pytest
from gguf_blocks import usual_bytes
from gguf_files import LLAMA, SHAPES, TOKENS, write_gguf

from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_gguf.file import GGUFFile


@pytest.fixture
def path(tmp_path):
    return write_gguf(tmp_path / "model.gguf", general__alignment=64, general__name="Ä", x__list=[1, 2], x__none=-1.5)


def test_it_is_read_as_the_formats_package_reads_it(path):
    ours, theirs = GGUFFile.read(path), gguf.GGUFReader(path)
    said = {name: field.contents() for name, field in theirs.fields.items() if not name.startswith("GGUF.")}
    assert {key: pytest.approx(value) if isinstance(value, float) else value for key, value in said.items()} == dict(
        ours.fields
    )
    assert ours.fields["tokenizer.ggml.tokens"] == TOKENS
    assert ours.fields["general.name"] == "Ä"
    assert ours.fields["llama.embedding_length"] == LLAMA["embedding_length"]
    data = path.read_bytes()
    for tensor in theirs.tensors:
        mine = ours.tensors[tensor.name]
        assert (mine.shape, mine.type.name) == (SHAPES[tensor.name], "F32")
        assert data[mine.begin : mine.begin + mine.nbytes] == tensor.data.tobytes()


def test_lists_of_texts_may_be_left_out(path):
    whole, part = GGUFFile.read(path), GGUFFile.read(path, texts=False)
    assert part.tensors == whole.tensors
    assert part.fields == {**whole.fields, "tokenizer.ggml.tokens": []}


def test_a_quantized_tensor(tmp_path):
    rows = usual_bytes("Q6_K", 3, 512, 1)
    file = GGUFFile.read(write_gguf(tmp_path / "q.gguf", {"blk.0.attn_v.weight": (rows, "Q6_K")}))
    tensor = file.tensors["blk.0.attn_v.weight"]
    assert (tensor.shape, tensor.type.name, tensor.nbytes) == ((3, 512), "Q6_K", 3 * 420)


def test_small_tensors_can_be_read(tmp_path):
    values = np.array([1.5, -2.0], dtype=np.float32)
    file = GGUFFile.read(write_gguf(tmp_path / "f.gguf", {"rope_freqs.weight": values}))
    assert file.floats("rope_freqs.weight", 2) == [1.5, -2.0]
    for name, count, reason in (("rope_freqs.weight", 3, r"F32 \[2\], expected F32 \[3\]"), ("x", 2, "is not there")):
        with pytest.raises(UnsupportedModelError, match=reason):
            file.floats(name, count)


@pytest.mark.parametrize(
    "change, error, message",
    [
        (lambda data: b"GGML" + data[4:], WeightsError, "does not begin with GGUF"),
        (lambda data: data[:5], WeightsError, "too short"),
        (lambda data: b"", WeightsError, "too short"),
        (lambda data: data[:-40], WeightsError, r"cut short: tensor blk.0.ffn_down.weight ends at byte"),
        (lambda data: data[:100], WeightsError, "ends inside its header"),
        (lambda data: data[:4] + b"\1\0\0\0" + data[8:], UnsupportedModelError, "version 1 of GGUF.*convert the model"),
        (lambda data: data[:4] + b"\7\0\0\0" + data[8:], UnsupportedModelError, "version 7 of GGUF.*upgrade"),
        (lambda data: data[:4] + b"\0\0\0\3" + data[8:], UnsupportedModelError, "big-endian.*convert it"),
        (lambda data: data[:8] + b"\xff" * 8 + data[16:], WeightsError, "damaged"),
        (lambda data: data[:16] + b"\xff" * 8 + data[24:], WeightsError, "ends inside its header|damaged"),
    ],
)
def test_a_damaged_file_is_one_error_that_names_it(path, change, error, message):
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(error, match=message) as caught:
        GGUFFile.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(WeightsError, match=r"absent\.gguf"):
        GGUFFile.read(tmp_path / "absent.gguf")


def test_a_type_that_is_not_served_names_the_tensor(tmp_path):
    rows = np.zeros((2, 66), dtype=np.uint8)
    path = write_gguf(tmp_path / "iq.gguf", {"blk.0.attn_v.weight": (rows, "IQ2_XXS")})
    with pytest.raises(UnsupportedModelError, match=r"blk\.0\.attn_v\.weight is stored as IQ2_XXS.*served are F32"):
        GGUFFile.read(path)


@pytest.mark.parametrize("seed", range(6))
def test_random_damage_of_the_header_raises_nothing_else(path, seed):
    data, chance = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(7000)] = chance.randrange(256)
        path.write_bytes(changed[: chance.choice([len(changed), chance.randrange(len(changed))])])
        assert str(path) in refusal(path)


def refusal(path):
    """What reading raises, which may be nothing but these two."""
    try:
        GGUFFile.read(path)
    except (WeightsError, UnsupportedModelError) as error:
        return str(error)
    return str(path)
