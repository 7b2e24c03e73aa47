from __future__ import annotations

import json
import platform
from importlib.metadata import version

from kernelet.cli import collect_env


def collect(kernelet, *arguments):
    code, out, _ = kernelet("collect-env", "--json", "--no-torch", *arguments)
    assert code == 0
    return json.loads(out)


def test_what_a_report_needs(kernelet):
    found = collect(kernelet)
    assert found["system"]["kernelet-core"] == version("kernelet-core")
    assert found["system"]["python"].endswith(platform.python_version())
    assert found["processor"]["machine"] == platform.machine()
    assert found["packages"]["msgspec"] == version("msgspec")
    assert found["packages"]["huggingface-hub"] == version("huggingface-hub")
    assert found["plugins"]["core"].startswith("active")
    assert found["plugins"]["kernelet.testing.null:plugin"].startswith("active")
    assert "bytes (" in found["limits"]["available memory"]


def test_people_read_sections(kernelet):
    code, out, _ = kernelet("collect-env", "--no-torch")
    assert code == 0
    titles = [line[3:] for line in out.splitlines() if line.startswith("## ")]
    assert titles == ["system", "processor", "limits", "packages", "torch", "plugins", "variables"]


def test_a_plugin_that_fails_is_told_of_and_stops_nothing(kernelet, monkeypatch):
    monkeypatch.setenv("KERNELET_PLUGINS", "core,kernelet.testing.null:no_such_plugin")
    found = collect(kernelet)
    assert any("failed" in text for text in found["plugins"].values())


def test_nothing_secret_is_shown(kernelet, monkeypatch):
    secrets = {
        "HF_TOKEN": "hf_abcdef",
        "KERNELET_SET": "kernelet.testing.null:plugin.memory_bytes=70000000;p.api_key=sesame;p.Password=xyzzy",
        "HF_ENDPOINT": "https://me:plugh@mirror.example/x",
    }
    shown = collect_env.variables(secrets | {"HOME": "/root", "AWS_SECRET_ACCESS_KEY": "plover"})
    text = json.dumps(shown)
    assert not any(word in text for word in ("hf_abcdef", "sesame", "xyzzy", "plugh", "plover"))
    assert set(shown) == set(secrets)
    assert "memory_bytes=70000000" in shown["KERNELET_SET"]
    assert shown["HF_ENDPOINT"] == "https://***@mirror.example/x"


def test_control_groups(tmp_path):
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text("0::/kubepods/a\n")
    own = tmp_path / "cgroup/kubepods/a"
    own.mkdir(parents=True)
    (own / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "cgroup/memory.max").write_text("max\n")
    found = collect_env.limits(tmp_path, tmp_path / "cgroup")
    assert found["cpu.max"] == "150000 100000"
    assert found["memory.max"] == "max"
    assert "pids.max" not in found


def test_processors_of_two_kinds(tmp_path):
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name : Some One\nflags : avx2 fma\n\nflags : other\n")
    assert collect_env.processor(tmp_path)["model"] == "Some One"
    assert collect_env.processor(tmp_path)["flags"] == "avx2 fma"
    (tmp_path / "cpuinfo").write_text("processor : 0\nFeatures : asimd\n")
    assert collect_env.processor(tmp_path)["flags"] == "asimd"


def test_a_torch_that_cannot_be_imported(monkeypatch):
    monkeypatch.setattr(collect_env, "TORCH", "raise ImportError('no libtorch')")
    assert collect_env.torch_build() == {"build": "ImportError: no libtorch"}
    monkeypatch.setattr(collect_env, "TORCH", "print('PyTorch built with:'); print('  - one')")
    assert collect_env.torch_build() == {"build": ["PyTorch built with:", "- one"]}
