from __future__ import annotations

from datetime import UTC, datetime

import pytest
from jinja2.exceptions import SecurityError

from kernelet.text.jinja_environment import TemplateRaisedError, make_environment


def render(source: str, **variables: object) -> str:
    return make_environment(lambda: datetime(2025, 3, 4, 5, 6, tzinfo=UTC)).from_string(source).render(variables)


def test_blocks_are_trimmed():
    assert render("a\n  {% if true %}\nb\n  {% endif %}\nc") == "a\nb\nc"


def test_loop_controls():
    body = "{% if i == 1 %}{% continue %}{% elif i == 3 %}{% break %}{% endif %}{{ i }}"
    assert render(f"{{% for i in range(9) %}}{body}{{% endfor %}}") == "02"


def test_json_is_not_escaped_for_html():
    assert render("{{ x | tojson }}", x={"b": "<é'&>", "a": None}) == '{"b": "<é\'&>", "a": null}'
    assert render("{{ x | tojson(indent=1, sort_keys=true) }}", x={"b": 1, "a": 2}) == '{\n "a": 2,\n "b": 1\n}'
    assert render("{{ x | tojson(ensure_ascii=true, separators=(',', ':')) }}", x={"é": 1}) == '{"\\u00e9":1}'


def test_clock():
    assert render("{{ strftime_now('%d %b %Y %H:%M') }}") == "04 Mar 2025 05:06"


def test_raise_exception():
    with pytest.raises(TemplateRaisedError, match="roles must alternate"):
        render("{{ raise_exception('roles must alternate') }}")


def test_generation_tag_shows_its_body():
    assert (
        render("a{% generation %}{{ x }}{% endgeneration %}b{%- generation -%} c {%- endgeneration -%} d", x=1)
        == "a1bcd"
    )


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ raise_exception.__globals__.x }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ '{0.__class__.__mro__}'.format(1) }}",
    ],
)
def test_sandbox(source):
    with pytest.raises(SecurityError):
        render(source, messages=[])
