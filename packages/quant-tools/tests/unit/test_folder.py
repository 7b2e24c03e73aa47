from __future__ import annotations

import json

from kernelet_quant_tools.folder import copy_files, write_config


def test_the_tokenizer_goes_along_and_weights_do_not(tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    out.mkdir()
    for name in (
        *("config.json", "tokenizer.json", "chat_template.jinja", "merges.txt", "tokenizer.model", "LICENSE", "NOTICE"),
        *("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "x.gguf", "README.md", "code.py"),
        *(".cache/a.json", ".gitattributes", "1_Pooling/config.json", "original/deep/params.json", "USE_POLICY.md"),
    ):
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    expected = {
        *("tokenizer.json", "chat_template.jinja", "merges.txt", "tokenizer.model", "LICENSE", "NOTICE"),
        *("1_Pooling/config.json", "USE_POLICY.md"),
    }
    assert set(copy_files(source, out)) == expected
    assert {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} == expected
    assert (out / "1_Pooling" / "config.json").read_text() == "1_Pooling/config.json"


def test_the_configuration_says_how_weights_are_stored(tmp_path):
    write_config({"model_type": "é"}, {"quant_method": "x"}, tmp_path)
    found = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert found == {"model_type": "é", "quantization_config": {"quant_method": "x"}}
