from __future__ import annotations

import pytest

from kernelet.cli.print_config import hidden, print_configured
from kernelet.contracts.lifecycle import ConfigChange
from kernelet.engine.bootstrap import configure_engine
from kernelet.engine.option_sources import resolve_options
from kernelet.hookspecs import hookimpl


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
