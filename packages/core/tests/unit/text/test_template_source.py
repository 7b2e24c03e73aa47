from __future__ import annotations

import pytest
from jinja2 import Environment

from kernelet.text.template_source import TemplateFacts


def test_names_of_its_own_are_no_variables():
    source = """
    {% if mode is not defined %}{% set mode = 'a' %}{% endif %}{% set own = 1 %}
    {% macro say(word) %}{{ word }}{{ given }}{% endmacro %}
    {% for message in messages %}{{ loop.index }}{{ message }}{{ own }}{{ say(mode) }}{% endfor %}
    {% for tool in tools %}{{ tool }}{% endfor %}{{ tool }}
    """
    assert facts(source).variables == {"mode", "given", "messages", "tools", "tool"}


def facts(source: str) -> TemplateFacts:
    return TemplateFacts.of(Environment(autoescape=False).parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}{% for part in m['content'] %}{{ part.text }}{% endfor %}{% endfor %}",
        "{% for m in messages %}{% for p in m.content | selectattr('text') %}{% endfor %}{% endfor %}",
        "{% for m in messages %}{% for p in m.content or [] %}{% endfor %}{% endfor %}",
        "{% for m in messages %}{% for part in m.get('content') %}{% endfor %}{% endfor %}",
        "{% for m in messages %}{% set c = m.content %}{% set d = c %}{% for part in d %}{% endfor %}{% endfor %}",
        "{% macro f(c) %}{% for p in c %}{% endfor %}{% endmacro %}{% for m in chat %}{{ f(m.content) }}{% endfor %}",
        "{% for m in messages %}{% for p in m.content if true %}{% endfor %}{% endfor %}",
        "{% for m in messages %}{% set c = m.content if m.content else [] %}{% for p in c %}{% endfor %}{% endfor %}",
    ],
)
def test_loops_over_content(source):
    assert facts(source).reads_content_parts


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}{{ m['content'] }}{% endfor %}",
        "{% for m in messages %}{% set c = m.content %}{{ c }}{% endfor %}{% for t in tools %}{% endfor %}",
        "{% macro show(c) %}{{ c }}{% endmacro %}{% for m in messages %}{{ show(m.content) }}{% endfor %}",
    ],
)
def test_takes_contents_as_strings(source):
    assert not facts(source).reads_content_parts


def test_variables():
    source = (
        "{% if not date is defined %}{% set date = 'x' %}{% endif %}{{ date }}{{ bos_token }}"
        "{% for m in messages if thinking %}{{ m }}{% endfor %}"
    )
    assert facts(source).variables >= {"date", "bos_token", "messages", "thinking"}
    assert "other" not in facts(source).variables
