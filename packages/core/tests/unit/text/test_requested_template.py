from __future__ import annotations

import sys

import pytest

from kernelet.errors import ChatTemplateError
from kernelet.text.chat_template import ChatTemplate
from kernelet.text.requested_template import RENDER, pack, render, unpack

MESSAGES = [{"role": "user", "content": "Grüße 🙂"}, {"role": "assistant", "content": None, "tool_calls": [{"id": 1}]}]
SOURCE = (
    "{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m.content or '' }}{% endfor %}"
    "{{ tools | tojson if tools }}{{ mode }}{{ documents[0].text if documents }}{{ '>' if add_generation_prompt }}"
)
TOKENS = {"bos_token": "<s>"}
OPTIONS = {
    "tools": [{"type": "function", "function": {"name": "f", "max": 2**80}}],
    "documents": [{"text": "page"}],
    "template_kwargs": {"mode": 1.5},
    "add_generation_prompt": True,
}


def test_the_text_is_that_of_a_template_of_the_model():
    expected = ChatTemplate({"default": SOURCE}, TOKENS).render(MESSAGES, **OPTIONS)
    assert str(2**80) in expected
    assert unpack(render(pack(SOURCE, TOKENS, MESSAGES, **OPTIONS))) == expected


def test_a_final_message_can_be_continued():
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Well"}]
    options = {"add_generation_prompt": False, "continue_final_message": True}
    source = "{% for m in messages %}{{ m.content }}|{% endfor %}"
    assert unpack(render(pack(source, {}, messages, **options))) == "hi|Well"


def test_half_of_a_surrogate_pair_comes_through():
    assert unpack(render(pack("{{ messages[0].content }}", {}, [{"role": "user", "content": "\ud83d"}]))) == "\ud83d"


def test_the_target_is_there():
    module, _, function = RENDER.partition(":")
    assert getattr(sys.modules[module], function) is render


@pytest.mark.parametrize(
    "messages, options, message",
    [
        ([], {}, "messages is empty"),
        ([{"role": "user", "content": object()}], {}, r"messages\[0\].content is a object"),
        ([{"role": "user", "content": "a"}], {"tools": [1]}, r"tools\[0\] should be a JSON object"),
        ([{"role": "user", "content": "a"}], {"template_kwargs": {"a": {1, 2}}}, "chat_template_kwargs.a is a set"),
    ],
)
def test_what_is_no_plain_data_is_refused_before_it_is_sent(messages, options, message):
    with pytest.raises(ChatTemplateError, match=message):
        pack("", {}, messages, **options)


@pytest.mark.parametrize(
    "source, options, message",
    [
        ("{% for", {}, "is not valid Jinja"),
        ("{{ raise_exception('no') }}", {}, "refused the messages: no"),
        ("x", {"template_kwargs": {"mode": 1}}, "mode is not a variable of this chat template"),
        ("{{ ''.__class__.__mro__ }}", {}, "unsafe"),
    ],
)
def test_errors_are_those_of_a_template(source, options, message):
    packed = pack(source, {}, [{"role": "user", "content": "a"}], **options)
    with pytest.raises(ChatTemplateError, match=message):
        render(packed)
