"""A script's engine that is held to a lock file."""

from __future__ import annotations

import pytest
from planted import good

from kernelet import LLM, SamplingParams
from kernelet.config import PluginsConfig
from kernelet.errors import LockError
from kernelet.kernel import Kernel
from kernelet.kernel.lock import to_text
from kernelet.testing.null import NullPlugin, write_model

NULL = "kernelet.testing.null:plugin"


@pytest.fixture
def engine(site, tmp_path, monkeypatch):
    """Makes an engine with one planted plugin and the null platform; the current folder has their lock file."""
    monkeypatch.chdir(tmp_path)
    model = str(write_model(tmp_path / "model"))
    site.install(good("one"))
    kernel = Kernel.boot(PluginsConfig(allow=("one",)), plugins=[NULL])
    (tmp_path / "kernelet.lock").write_text(to_text(kernel.make_lock()))
    return lambda **options: LLM(model, **{"plugins": ["one", NULL], "platform": "null", **options})


@pytest.mark.parametrize("locked", [True, "kernelet.lock", None, False])
def test_what_is_locked_runs(engine, locked):
    with engine(locked=locked) as llm:
        assert llm.generate("x", SamplingParams(max_tokens=1, ignore_eos=True))[0].outputs[0].token_ids


def test_changed_files_do_not(engine, site):
    module = site.folder / f"{good('one').module}.py"
    module.write_text(module.read_text() + "# changed\n")
    with pytest.raises(LockError, match=r"changed files at the same version, one: kernelet.lock: kernelet-one 1.0"):
        engine(locked=True)
    with engine():
        pass


def test_an_object_does_not(engine):
    with pytest.raises(LockError, match=r"additional plugin, platform-null: .*only import strings can be locked"):
        engine(plugins=["one", NULL, NullPlugin()], locked=True)


def test_a_file_that_is_not_there(engine):
    with pytest.raises(LockError, match=r"lock file other\.lock cannot be read"):
        engine(locked="other.lock")
