from __future__ import annotations

import pytest

from kernelet.errors import ParameterError
from kernelet.text.chat_template import ChatTemplate
from kernelet.text.reasoning_effort import effort_variables

LEVELS = "{{ reasoning_effort | default('medium') }}"
SWITCH = "{% if enable_thinking is defined and enable_thinking is false %}off{% else %}on{% endif %}"
BOTH = "{{ reasoning_effort }}{{ thinking }}"
MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    "template, effort, text",
    [
        (LEVELS, None, "medium"),
        (LEVELS, "high", "high"),
        (LEVELS, "none", "none"),
        (SWITCH, None, "on"),
        (SWITCH, "none", "off"),
        (SWITCH, "low", "on"),
        (BOTH, "none", "False"),
        (BOTH, "low", "low"),
        ("plain", None, "plain"),
        ("plain", "none", "plain"),
    ],
)
def test_what_the_template_is_given(template, effort, text):
    assert ChatTemplate({"default": template}, {}).render(MESSAGES, reasoning_effort=effort) == text


def test_variables_come_first():
    made = ChatTemplate({"default": SWITCH}, {}).render(
        MESSAGES, reasoning_effort="high", template_kwargs={"enable_thinking": False}
    )
    assert made == "off"


def test_a_template_without_thinking():
    with pytest.raises(ParameterError, match=r"reasoning_effort.*: leave it out$"):
        effort_variables("low", {"messages"})
