"""The bundle for machines with a device: how it is packed, and how its check goes on after a kernel that kills."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from importlib.metadata import files
from pathlib import Path

import gpu_bundle
import pytest
import torch
from gpubench import checking, report, step
from gpubench.machine import Machine

ROOT = Path(__file__).resolve().parents[2]
SUITE = """
import os, pytest

class TestPackage:
    def test_metadata(self): raise RuntimeError("suites of metadata are left out")

class TestKernels:
    @pytest.mark.parametrize("size", [1, 2])
    def test_right(self, size): pass
    def test_wrong(self): assert 1 == 2, "the result is wrong"
    def test_not_here(self): pytest.skip("no such device")
    def test_bad_pointer(self): os._exit(139)
    def test_poisons(self): raise RuntimeError("CUDA error: an illegal memory access was encountered")
    def test_after(self): pass
"""
NEEDED = (
    "sympy",
    "mpmath",
    "networkx",
    "jinja2",
    "markupsafe",
    "fsspec",
    "filelock",
    "typing_extensions",
    "setuptools",
)
"""By torch."""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    (tmp_path / "acme_conformance.py").write_text(SUITE)
    monkeypatch.setattr(checking, "modules", lambda _here: ["acme_conformance"])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT / "benchmarks" / "gpu")]))
    return Machine(device="cpu", name="none")


@pytest.mark.parametrize("processes", [1, 2])
def test_a_kernel_that_kills_fails_its_test_alone(suite, processes):
    found = checking.check(suite, time.monotonic() + 120, "", processes)
    assert {name.rpartition("::")[2]: outcome["outcome"] for name, outcome in found["outcomes"].items()} == {
        "test_right[1]": "passed",
        "test_right[2]": "passed",
        "test_wrong": "failed",
        "test_not_here": "skipped",
        "test_bad_pointer": "died",
        "test_poisons": "failed",
        "test_after": "passed",
    }
    assert (found["not_reached"], found["errors"]) == ([], [])
    messages = [outcome.get("message", "") for outcome in found["outcomes"].values()]
    assert any("the result is wrong" in message for message in messages)


def test_what_is_not_reached_is_named(suite, monkeypatch):
    monkeypatch.setattr(checking, "GRACE", 60.0)
    found = checking.check(suite, time.monotonic() + 0.1, "right", 1)
    names = [name.rpartition("::")[2] for name in found["not_reached"]]
    assert (names, found["outcomes"]) == (["test_right[1]", "test_right[2]"], {})
    assert found["errors"] == ["no test was reached in time"]


def test_a_kernel_that_hangs_fails_its_test_and_hides_no_other(suite, tmp_path, monkeypatch):
    hangs = "import os, time\n\nclass TestKernels:\n    def test_hangs(self): time.sleep(600)\n"
    (tmp_path / "acme_conformance.py").write_text(hangs + "    def test_bad_pointer(self): os._exit(139)\n")
    monkeypatch.setattr(checking, "GRACE", 0.5)
    found = checking.check(suite, time.monotonic() + 6, "", 2)
    said = {name.rpartition("::")[2]: (one["outcome"], one["message"][:10]) for name, one in found["outcomes"].items()}
    assert said == {"test_hangs": ("died", "it did not"), "test_bad_pointer": ("died", "status 139")}
    assert report.status({"check": found}) == 1


def test_a_suite_that_hangs_when_it_is_imported_is_an_error(suite, tmp_path, monkeypatch):
    (tmp_path / "acme_conformance.py").write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setattr(checking, "GRACE", 0.5)
    assert checking.check(suite, time.monotonic() + 1, "", 1)["errors"] == ["pytest did not find its tests in time"]


def test_no_test_at_all_is_an_error(suite):
    found = checking.check(suite, time.monotonic() + 60, "no_such_thing", 1)
    assert found["errors"] == ["no test matches 'no_such_thing'"]


def test_only_a_bundle_is_replaced(tmp_path, monkeypatch):
    def packs(out, _pythons):
        for name in ("gpubench", "site"):
            (out / name).mkdir(parents=True)

    monkeypatch.setattr(gpu_bundle, "_pack", packs)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("x")
    for taken in (mine, mine / "thesis.txt", ROOT / "benchmarks" / "gpu"):
        with pytest.raises(SystemExit, match="it is there, and no bundle: name another folder"):
            gpu_bundle.pack(taken, ["3.11"])
    assert (mine / "thesis.txt").exists()
    sources = tmp_path / "sources"
    (sources / "gpubench").mkdir(parents=True)
    with pytest.raises(SystemExit, match="it is there, and no bundle"):
        gpu_bundle.pack(sources, ["3.11"])
    for _ in range(2):
        gpu_bundle.pack(tmp_path / "new", ["3.11"])
    assert sorted(one.name for one in (tmp_path / "new").iterdir()) == ["gpubench", "site"]
    assert sorted(one.name for one in tmp_path.iterdir() if one.name[0] == ".") == []


def test_a_download_that_fails_leaves_the_older_bundle(tmp_path, monkeypatch):
    def packs(_out, _pythons):
        raise subprocess.CalledProcessError(1, "pip")

    (tmp_path / "gpubench").mkdir()
    (tmp_path / "site").mkdir()
    monkeypatch.setattr(gpu_bundle, "_pack", packs)
    with pytest.raises(subprocess.CalledProcessError):
        gpu_bundle.pack(tmp_path, ["3.11"])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["gpubench", "site"]


def gpubench(*arguments):
    """The command, where the machine is not looked at before arguments are."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "benchmarks" / "gpu")}
    command = [sys.executable, "-m", "gpubench", *arguments]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--seconds", "4"], "--seconds 4: expected 30 to 604800"),
        (["--seconds", "nan"], "--seconds nan: expected 30 to 604800"),
        (["--seconds", "1e99"], "--seconds 1e+99: expected 30 to 604800"),
        (["--processes", "-1"], "--processes -1: expected at least 0"),
        (["--parts", "check,nope"], "--parts: there is no 'nope'; choose of check"),
        (["--json", "/nowhere/at/all.json"], "--json /nowhere/at/all.json: it cannot be written: No such file"),
        (["--json", "/tmp"], "--json /tmp: it cannot be written: Is a directory"),
    ],
)
def test_arguments_are_checked_before_anything_runs(arguments, says):
    run = gpubench(*arguments)
    _, errors = run.communicate()
    assert run.returncode == 2
    assert says in errors
    assert "Traceback" not in errors


def test_what_is_ended_ends_its_processes(tmp_path):
    """The suites' processes name their folder in a variable, which the system shows."""

    def mine():
        found = []
        for file in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                found += [file] if f"GPUBENCH_RESULTS={tmp_path}".encode() in file.read_bytes() else []
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path))
        run = gpubench("--device", "interpreter", "--parts", "check", "--processes", "2", "--json", tmp_path / "x.json")
    until = time.monotonic() + 60
    while len(mine()) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    assert len(mine()) >= 2
    run.terminate()
    run.communicate(timeout=60)
    assert run.returncode == 128 + signal.SIGTERM
    assert mine() == []
    assert [one.name for one in tmp_path.iterdir()] == ["x.json"]


def test_a_suite_that_cannot_be_imported_fails(suite, tmp_path):
    (tmp_path / "acme_conformance.py").write_text("import no_such_module")
    (outcome,) = checking.check(suite, time.monotonic() + 60, "", 1)["outcomes"].values()
    assert outcome["outcome"] == "failed"
    assert "no_such_module" in outcome["message"]


def test_pytest_that_cannot_start_is_an_error(suite):
    found = checking.check(suite, time.monotonic() + 60, "not (an expression", 1)
    assert "pytest ended with 4" in found["errors"][0]


def test_the_model_is_that_of_eight_billion_parameters():
    """Llama 3 8B has 8,030,261,248."""
    reader = step.RandomReader(step.CONFIG, "cpu", torch.bfloat16)
    assert reader.nbytes() == 2 * 8_030_261_248
    small = step.RandomReader({**step.CONFIG, **step.SMALL}, "cpu", torch.float32)
    first, again = (small.read("lm_head.weight") for _ in range(2))
    assert first.equal(again)
    assert first.shape == small.shape("lm_head.weight")
    assert not first.equal(small.read("model.embed_tokens.weight"))


def test_nothing_is_faster_than_the_roofline_allows():
    here = Machine(device="cpu", name="none", bandwidth=1e12, peak=1e15)
    assert here.least(2e12, 1e15) == 2.0
    assert here.least(1e11, 5e14) == 0.5


@pytest.mark.parametrize(
    "results, status",
    [
        ({}, 0),
        ({"check": {"outcomes": {"a": {"outcome": "passed"}, "b": {"outcome": "skipped"}}, "errors": []}}, 0),
        ({"check": {"outcomes": {"a": {"outcome": "died"}}, "errors": []}}, 1),
        ({"check": {"outcomes": {}, "errors": ["pytest ended with 4"]}}, 1),
        ({"attention": [{"us": 1.0, "failed": False}], "step": [{"note": "time was up"}]}, 0),
        ({"products": [{"us": 1.0, "failed": True}]}, 1),
    ],
)
def test_the_status_says_whether_a_kernel_is_wrong(results, status):
    assert report.status(results) == status


def test_every_package_with_kernels_is_packed():
    names = {path.name for path in gpu_bundle.folders(ROOT)}
    assert {"core", "models-decoder", "attention-triton", "ops-triton", "device-triton", "attention-flex"} <= names
    assert not {"platform-cpu", "server-openai"} & names


def test_wheels_are_laid_out_as_python_finds_them(tmp_path):
    wheel = tmp_path / "acme-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("acme/__init__.py", "acme-1.0.dist-info/METADATA", "acme-1.0.data/scripts/acme"):
            archive.writestr(name, "x")
    site = tmp_path / "site"
    gpu_bundle.unpack([wheel], site)
    found = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert found == {"acme/__init__.py", "acme-1.0.dist-info/METADATA"}
    assert gpu_bundle.size_of(site) == 2


def bare_python(folder: Path) -> Path:
    """A Python that sees torch, triton, numpy and what these need, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in ("torch", "triton", "numpy", *NEEDED):
        for file in files(name) or ():
            top = packages / file.parts[0]
            if file.parts[0] != ".." and not top.exists():
                home = Path(str(file.locate())).parents[len(file.parts) - 1]
                top.symlink_to(home / file.parts[0])
    return folder / "bin" / "python"


@pytest.mark.long
def test_it_runs_where_only_torch_triton_and_numpy_are(tmp_path):
    bundle, results = tmp_path / "bundle", tmp_path / "results.json"
    gpu_bundle.pack(bundle, [f"{sys.version_info.major}.{sys.version_info.minor}"])
    assert gpu_bundle.size_of(bundle) < gpu_bundle.LARGEST
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHON"] = str(bare_python(tmp_path / "bare"))
    command = ["sh", bundle / "run.sh", "--device", "interpreter", "--json", results, "--seconds", "900"]
    command += ["--select", "test_knows_its_layer or test_empty_step or rms_norm"]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    found = json.loads(results.read_text())
    outcomes = {outcome["outcome"] for outcome in found["check"]["outcomes"].values()}
    assert outcomes == {"passed"} or outcomes == {"passed", "skipped"}
    assert {row["kernel"] for row in found["attention"]} >= {"triton", "flex"}
    assert all(row["error"] < 1e-5 for row in found["attention"])
    assert {row["kernel"] for row in found["products"]} >= {"triton-dense", "triton-quantized"}
    assert [row["error"] < 1e-5 for row in found["step"]] == [True]
