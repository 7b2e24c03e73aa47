from __future__ import annotations

import pytest


@pytest.fixture
def lock(kernelet, tmp_path, monkeypatch):
    """Runs the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: kernelet("plugins", "lock", *arguments)


def test_a_file_is_written_once(lock, tmp_path):
    code, out, err = lock()
    assert (code, err) == (0, "")
    assert out.startswith("kernelet.lock: 2 plugins, ")
    text = (tmp_path / "kernelet.lock").read_text()
    assert '\nname = "kernelet.testing.null:plugin"\ndistribution = ""\n' in text
    assert lock()[1].startswith("kernelet.lock: unchanged, 2 plugins, ")
    assert (tmp_path / "kernelet.lock").read_text() == text


def test_checking_it(lock, monkeypatch):
    code, _, err = lock("--check", "-o", "a.lock")
    assert code == 1
    assert "a.lock cannot be read" in err
    lock("-o", "a.lock")
    assert lock("--check", "-o", "a.lock") == (0, "a.lock: what is installed here is what it says\n", "")
    monkeypatch.setenv("KERNELET_PLUGINS", "core")
    code, out, err = lock("--check", "-o", "a.lock")
    assert (code, out) == (1, "")
    assert "missing plugin, kernelet.testing.null:plugin: a.lock: kernelet.testing.null:plugin" in err


def test_a_locked_start(lock, kernelet, null_folder, monkeypatch):
    lock()
    run = ("run", null_folder, "--prompt", "x", "--max-tokens", 1)
    assert kernelet(*run, "--locked")[0] == 0
    monkeypatch.setenv("KERNELET_LOCKED", "1")
    assert kernelet(*run)[0] == 0
    monkeypatch.setenv("KERNELET_PLUGINS_BLOCK", "core")
    code, _, err = kernelet(*run)
    assert code == 1
    assert "missing plugin, core: kernelet.lock: kernelet-core " in err
    assert "does not run: named in KERNELET_PLUGINS_BLOCK" in err
    assert kernelet("model", "list")[0] == 1


def test_what_is_installed_can_be_looked_at_whatever_the_file_says(lock, kernelet, monkeypatch):
    monkeypatch.setenv("KERNELET_LOCKED", "no-such-file")
    assert kernelet("plugins", "list")[0] == 0
    assert lock("-o", "new.lock")[0] == 0


@pytest.mark.parametrize(
    "output, message",
    [
        ("missing/a.lock", "the folder missing does not exist: make it, or name another file: -o FILE"),
        (".", "is a folder: name a file in it, -o kernelet.lock"),
    ],
)
def test_where_no_file_can_lie(lock, output, message):
    code, out, err = lock("-o", output)
    assert (code, out) == (1, "")
    assert message in err


def unreadable(err, another):
    return err.endswith(f"with kernelet plugins lock -o a.lock, or name another: {another}\n")


def test_a_missing_file_names_the_flag_of_the_command(lock):
    code, _, err = lock("--check", "-o", "a.lock")
    assert code == 1
    assert unreadable(err, "-o FILE")


def test_a_binary_file_names_the_flag_of_the_command(lock, kernelet, null_folder, tmp_path):
    (tmp_path / "a.lock").write_bytes(b"\xff\xfe\x00")
    code, _, err = lock("--check", "-o", "a.lock")
    assert code == 1
    assert unreadable(err, "-o FILE")
    code, _, err = kernelet("run", null_folder, "--prompt", "x", "--locked=a.lock")
    assert code == 1
    assert unreadable(err, "--locked=FILE or KERNELET_LOCKED=FILE")
