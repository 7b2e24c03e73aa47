from __future__ import annotations

import pytest
import sample_parsers

from kernelet.cli.print_config import hidden, print_configured
from kernelet.contracts.lifecycle import ConfigChange
from kernelet.engine.bootstrap import configure_engine
from kernelet.engine.option_sources import resolve_options
from kernelet.hookspecs import hookimpl
from kernelet.testing.null.model import write_model


class Changer:
    name = "changer"

    @hookimpl
    def kernelet_configure(self, config):
        return (ConfigChange(path="cache.block_size", value=8, reason="eight is nice"),)


def test_a_plugins_change_is_shown_with_its_author(null_folder, capsys):
    print_configured(configure_engine(null_folder, resolve_options({}), [Changer()]))
    lines = capsys.readouterr().out.splitlines()
    (changed,) = [line for line in lines if line.startswith("cache.block_size")]
    assert changed.split(maxsplit=2)[1:] == ["8", "changer: eight is nice"]
    (platform,) = [line for line in lines if line.startswith("plugins.platform")]
    assert "named" in platform


@pytest.mark.parametrize(
    "name", ["api_key", "admin_keys", "AWS_SECRET_ACCESS_KEY", "tls_password", "token", "HF_TOKEN", "p.token", "secret"]
)
def test_what_may_be_a_secret_is_not_shown(name):
    assert hidden({"p": {name: "sesame", "size": 3}}) == {"p": {name: "***", "size": 3}}


@pytest.mark.parametrize("name", ["max_tokens", "api_key_file", "ssl_keyfile", "tokenizer", "keyboard"])
def test_what_is_none_is(name):
    assert hidden({"p": {name: "a"}}) == {"p": {name: "a"}}
    assert hidden("text") == "text"


def test_the_parser_that_the_chat_template_asks_for(tmp_path, capsys):
    folder = write_model(tmp_path / "m")
    (folder / "chat_template.jinja").write_text("<call>")
    arguments = {"tool_call_parser": "auto", "reasoning_parser": "auto", "tool_parser_plugin": sample_parsers.__file__}
    print_configured(configure_engine(str(folder), resolve_options(arguments)))
    rows = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: row[1:] for row in rows if "parser" in row[0]}
    assert found["tool_call_parser"] == ["auto", "tool_call_parser"]
    assert found["plugins.tool_call_parser"] == ["calls", "the chat template"]
    assert found["plugins.reasoning_parser"] == ["-", "the chat template"]
    assert found["tool_parser_plugin"][0] == sample_parsers.__file__
