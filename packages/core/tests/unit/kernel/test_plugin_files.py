from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelet.config import PluginsConfig
from kernelet.contracts.parsing import ParserContext, ParserTable, ToolParserOffer
from kernelet.errors import DuplicatePluginError, ManifestMismatchError, PluginError
from kernelet.kernel import Kernel, Manifest, State
from kernelet.kernel.lock import to_text
from kernelet.kernel.plugin_files import file_candidates, import_file

SOURCE = """\
from kernelet.contracts.parsing import ParserTable, ToolParserOffer
from kernelet.hookspecs import hookimpl

IMPORTED = []

def table(context):
    return ParserTable()

@hookimpl
def kernelet_tool_parsers():
    return (ToolParserOffer(name="mine", target=f"{__name__}:table", priority=PRIORITY),)
"""

CHILD = """\
import sys
from pathlib import Path
from kernelet.config import PluginsConfig
from kernelet.kernel import Kernel, Manifest
try:
    kernel = Kernel.from_manifest(Manifest.decode(Path(sys.argv[1]).read_bytes()), PluginsConfig(), search_path=[])
    print(kernel.manifest.digest)
except Exception as error:
    print(f"{type(error).__name__}: {error}")
"""


@pytest.fixture
def file(tmp_path):
    """A plugin file; its modules are forgotten after the test."""
    before = set(sys.modules)
    path = tmp_path / "my-parser.py"
    path.write_text(SOURCE.replace("PRIORITY", "0"))
    yield path
    for name in set(sys.modules) - before:
        if name.startswith("kernelet_file_"):
            del sys.modules[name]


def boot(*files, **config):
    return Kernel.boot(PluginsConfig(files=tuple(map(str, files)), **config), search_path=[])


def in_child(manifest, folder):
    path = folder / "manifest"
    path.write_bytes(manifest.encode())
    run = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_a_file_is_a_plugin(file):
    kernel = boot(file)
    (owned,) = kernel.offers(ToolParserOffer)
    assert (owned.plugin, owned.offer.name) == ("my-parser", "mine")
    assert kernel.load(owned)(ParserContext()) == ParserTable()
    (report,) = (one for one in kernel.reports if one.name == "my-parser")
    assert (report.state, report.entry_point, report.path) == (State.ACTIVE, "file:my-parser.py", str(file.parent))


def test_its_name_is_that_of_the_file_and_it_counts_once(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    (one,) = file_candidates(["my-parser.py", str(file), "./my-parser.py"])
    assert (one.name, one.file, one.handed, one.problem) == ("my-parser", str(file), True, "")
    assert str(one) == f"plugin 'my-parser' (the file {file})"


def test_it_is_imported_once_and_anew_when_it_was_changed(file):
    first = import_file(str(file))
    assert import_file(str(file)) is first
    copy = file.parent / "copy" / file.name
    copy.parent.mkdir()
    copy.write_bytes(file.read_bytes())
    assert import_file(str(copy)) is first  # the same content is the same module
    file.write_text(file.read_text().replace("priority=0", "priority=1"))  # of the same size, in the same second
    second = import_file(str(file))
    assert second is not first
    assert [one.kernelet_tool_parsers()[0].priority for one in (first, second)] == [0, 1]
    assert first.__name__.isidentifier()
    assert sorted(path.name for path in file.parent.rglob("*") if path.is_file()) == ["my-parser.py", "my-parser.py"]


def test_several_engines_of_a_process_may_have_files_of_one_name(file):
    first = boot(file)
    other = file.parent / "other" / file.name
    other.parent.mkdir()
    other.write_text(file.read_text().replace("priority=0", "priority=7"))
    second = boot(other)
    assert [kernel.offers(ToolParserOffer)[0].offer.priority for kernel in (first, second)] == [0, 7]
    with pytest.raises(DuplicatePluginError, match="the name 'my-parser' is claimed by"):
        boot(file, other)


def modules_of_files():
    return {name for name in sys.modules if name.startswith("kernelet_file_my_parser")}


@pytest.mark.parametrize(
    "text, message",
    [
        ("x = 1\ny = x +\n", r"my-parser\.py, line 2: SyntaxError: invalid syntax"),
        ("x = 1\n\ndef f():\n    return nothing\n\nf()\n", r"my-parser\.py, line 4: NameError: name 'nothing'"),
        ("import no_such_module\n", r"my-parser\.py, line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("import sys\n\nsys.exit(3)\n", r"my-parser\.py, line 3: SystemExit: 3"),
        ("x = 1\n", r"it implements no hook"),
    ],
)
def test_an_error_in_it_stops_the_start_with_file_and_line(file, text, message):
    file.write_text(text)
    before = modules_of_files()
    with pytest.raises(PluginError, match=message) as caught:
        boot(file)
    assert "It was asked for by name" in str(caught.value)
    assert "\n" not in str(caught.value)
    kept = modules_of_files() != before
    assert kept == ("no hook" in message)  # what raised is no module


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(PluginError, match=r"gone\.py\) failed: there is no such file: --tool-parser-plugin"):
        boot(tmp_path / "gone.py")


def test_a_folder(tmp_path):
    with pytest.raises(PluginError, match=r"failed: it is a folder: --tool-parser-plugin"):
        boot(tmp_path)


def test_a_blocked_name_is_not_imported(file):
    file.write_text("raise SystemExit\n")
    kernel = boot(file, block=("my-parser",))
    assert kernel.offers(ToolParserOffer) == ()


def test_a_spawned_child_runs_the_same(file, tmp_path):
    manifest = boot(file).manifest
    (entry,) = (entry for entry in manifest.plugins if entry.name == "my-parser")
    assert len(entry.content) == 64
    assert in_child(manifest, tmp_path) == manifest.digest


def test_a_file_that_was_changed_meanwhile_stops_the_child_and_names_both_sides(file, tmp_path):
    manifest = boot(file).manifest
    file.write_text(file.read_text() + "# changed\n")
    said = in_child(manifest, tmp_path)
    assert said.startswith("ManifestMismatchError: this worker process and its parent do not run the same plugins:")
    assert "my-parser: its files differ: " in said
    assert f"in this worker process ({file.parent})" in said
    assert f"in its parent ({file.parent})" in said


def test_the_manifest_has_what_was_imported(file):
    kernel = boot(file)
    before = kernel.manifest.digest
    again = boot(file)
    file.write_text(file.read_text() + "# changed\n")  # before anybody asked for the manifest
    assert again.manifest.digest == before
    with pytest.raises(ManifestMismatchError, match="its files differ"):
        Kernel.from_manifest(again.manifest, PluginsConfig(), search_path=[])


def test_a_file_that_is_gone_stops_the_child(file, tmp_path):
    manifest = boot(file).manifest
    file.unlink()
    assert "there is no such file" in in_child(manifest, tmp_path)


def test_where_it_lies_does_not_count(file, tmp_path):
    copy = tmp_path / "elsewhere" / file.name
    copy.parent.mkdir()
    copy.write_bytes(file.read_bytes())
    first, second = boot(file).manifest, boot(copy).manifest
    assert first.digest == second.digest
    assert Manifest.decode(first.encode()) == first


def test_it_can_be_locked(file, tmp_path):
    lock = tmp_path / "a.lock"
    lock.write_text(to_text(boot(file).make_lock()))
    assert boot(file, locked=str(lock)).offers(ToolParserOffer)
    Path(file).write_text(file.read_text() + "# changed\n")
    with pytest.raises(PluginError, match="my-parser"):
        boot(file, locked=str(lock))
