from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from kernelet.errors import ChatTemplateError
from kernelet.text.compiled_template import Compiler


@pytest.fixture
def compiler():
    return Compiler(lambda: datetime(2026, 3, 1, tzinfo=UTC))


def test_a_template_renders_and_its_facts_are_known(compiler):
    found = compiler.compile("{{ a }}{% for part in message.content %}{{ part }}{% endfor %}{{ strftime_now('%Y') }}")
    assert found.render({"a": 1, "message": {"content": ["x", "y"]}}) == "1xy2026"
    assert found.facts.reads_content_parts
    assert "a" in found.facts.variables


@pytest.mark.parametrize(
    "source, message",
    [
        ("{% if %}", "not valid Jinja"),
        ("{{ " + "(" * 300 + "1" + ")" * 300 + " }}", "does not compile"),
    ],
)
def test_what_does_not_compile_is_one_error(compiler, source, message):
    with pytest.raises(ChatTemplateError, match=message):
        compiler.compile(source)


@pytest.mark.parametrize(
    "source, message",
    [("{{ raise_exception('no system') }}", "refused the messages: no system"), ("{{ a.b.c }}", "failed")],
)
def test_what_does_not_render_is_one_error(compiler, source, message):
    with pytest.raises(ChatTemplateError, match=message):
        compiler.compile(source).render({})


def test_jinja_is_not_imported_before_a_template_is_used():
    code = (
        "import sys; from kernelet.text.chat_template import ChatTemplate; t = ChatTemplate({'default': 'x'}, {});"
        "assert 'jinja2' not in sys.modules; t.render([{'role': 'user', 'content': ''}]);"
        "assert 'jinja2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
