"""What docs/parsers.md shows does what it says."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from workspace import ROOT

from kernelet import LLM
from kernelet.cli.main import main
from kernelet.contracts.sampling import SamplingParams
from kernelet.engine.options import OPTIONS
from kernelet.testing.null import NullPlugin, write_model

PAGE = (ROOT / "docs/parsers.md").read_text(encoding="utf-8")


@pytest.fixture
def file(tmp_path):
    """The page's plugin file."""
    *_, source = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "my_parser.py"
    path.write_text(source, encoding="utf-8")
    return path


def test_every_flag_is_an_option_with_its_variable():
    options = {spec.flag: spec.variable for spec in OPTIONS if "parser" in spec.name and "io_" not in spec.name}
    options["--enable-auto-tool-choice"] = "KERNELET_ENABLE_AUTO_TOOL_CHOICE"
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| `--")]
    found = {}
    for row in rows:
        flags, variables = re.findall(r"--[a-z-]+", row[1]), re.findall(r"KERNELET_\w+", row[2])
        found |= dict(zip(flags, variables, strict=True))
    assert found == options


def test_the_plugin_file(file, tmp_path, capsys):
    answer = tmp_path / "answer.txt"
    answer.write_text('so\n<call>{"name": "f", "arguments": {}}</call>.')
    arguments = ["parsers", "try", "mine", str(answer), "--json", "--tool-parser-plugin", str(file)]
    assert main([*arguments, "--plugins", "core"]) == 0
    calls = [{"name": "f", "arguments": "{}"}]
    assert json.loads(capsys.readouterr().out) == {"reasoning": "", "content": "so.", "tool_calls": calls}


def test_an_engine_takes_it(file, tmp_path):
    folder = write_model(tmp_path / "m")
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}{# <call> #}")
    options = {"tool_parser_plugin": file, "tool_call_parser": "auto"}
    with LLM(str(folder), plugins=[NullPlugin()], platform="null", **options) as llm:
        assert llm.parsers.tool == "mine"
        params = SamplingParams(max_tokens=3, allowed_token_ids=[97])
        (output,) = llm.chat([{"role": "user", "content": "hi"}], params, tools=[{"name": "f"}])
        assert output.outputs[0].message.content == output.outputs[0].text == "aaa"


def test_the_example_of_try(tmp_path, capsys):
    ((command, printed),) = re.findall(r"^    \$ (.*)\n    (.*)$", PAGE, re.MULTILINE)
    text = re.search(r"printf '(.*?)' \|", command).group(1).replace("\\n", "\n")
    (tmp_path / "text").write_text(text)
    words = shlex.split(command.partition("| kernelet ")[2])
    assert main([str(tmp_path / "text") if word == "-" else word for word in words]) == 0
    assert capsys.readouterr().out.strip() == printed
