"""Chat templates: where they lie, what they may use, and what becomes of those that fail."""

import json
from datetime import datetime

import pytest

from lopa_core.model.errors import ModelError
from lopa_core.model.template import read_template
from lopa_core.model.token_files import TokenizerFiles

from ..helpers.vocabularies import write

CONFIG, FILE, LEGACY = "tokenizer_config.json", "chat_template.jinja", "chat_template.json"


def render(folder, text: str = "hi", *, source: object = None, arguments: dict | None = None, **config: object) -> str | None:
    """What the folder's template makes of a text, after `source` and `config` were written to its tokenizer_config.json."""
    if source is not None:
        write(folder, CONFIG, {"chat_template": source} | config)
    template = read_template(TokenizerFiles(folder), arguments or {})
    return template and template.render(text)


def test_no_template_is_none(tmp_path):
    assert render(tmp_path) is None
    write(tmp_path, CONFIG, {"chat_template": None, "bos_token": "<s>"})
    assert render(tmp_path) is None


def test_special_tokens_have_their_names(tmp_path):
    source = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ eos_token }}{{ unk_token }}"
    assert render(tmp_path, source=source, bos_token={"content": "<s>"}, eos_token="</s>") == "<s><user>hi</s>"
    assert render(tmp_path, source="{{ bos_token is defined }}") == "False"


def test_the_file_of_its_own_goes_before_the_config(tmp_path):
    write(tmp_path, LEGACY, {"chat_template": "legacy"})
    assert render(tmp_path) == "legacy"
    assert render(tmp_path, source="config") == "config"
    (tmp_path / FILE).write_text("file {{ prompt }} é", encoding="utf-8")
    assert render(tmp_path) == "file hi é"


NAMED = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain {{ prompt }}"}]


@pytest.mark.parametrize(
    "source", [NAMED, NAMED[::-1], {"tool_use": "tools", "default": "plain {{ prompt }}"}, {"any": "plain {{ prompt }}"}]
)
def test_the_default_of_named_templates_is_taken(tmp_path, source):
    assert render(tmp_path, source=source) == "plain hi"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([{"name": "a", "template": "x"}, {"name": "b", "template": "y"}], "none of them default: a, b"),
        ([], "add one"),
        (["text"], "a name and a template"),
        ([{"name": "default", "template": 5}], "damaged"),
        (5, "damaged"),
        ("{% if %}", "damaged"),
        ("{% generation %}", "damaged"),
    ],
)
def test_templates_that_are_none_are_a_sentence(tmp_path, source, words):
    with pytest.raises(ModelError, match=words) as told:
        render(tmp_path, source=source)
    assert str(tmp_path) in str(told.value)


def test_a_file_that_is_no_text_is_a_sentence(tmp_path):
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(ModelError, match="UTF-8"):
        render(tmp_path)


USES = {
    "loop controls": (
        "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i > 2 %}{% break %}{% endif %}{{ i }}{% endfor %}",
        "02",
    ),
    "json as it is": ("{{ {'a<b': 'é&'} | tojson }}", '{"a<b": "é&"}'),
    "json with options": (
        "{{ {'b': 1, 'a': 'é'} | tojson(indent=1, sort_keys=true, ensure_ascii=true) }}",
        '{\n "a": "\\u00e9",\n "b": 1\n}',
    ),
    "generation": ("a{% generation %}{{ prompt }}{% set x = 2 %}{% endgeneration %}b{{ x }}", "ahib"),
    "generation with its blanks": ("a\n  {% generation %}\n b\n  {%- endgeneration %}\nc", "a\n bc"),
    "namespaces": ("{% set n = namespace(found=false) %}{% for m in messages %}{% set n.found = true %}{% endfor %}{{ n.found }}", "True"),
    "no tools": ("{{ tools is none }} {{ documents is none }} {% if tools %}x{% endif %}", "True True "),
    "whether to go on": ("{{ add_generation_prompt }}", "True"),
    "line breaks of blocks": ("{% if true %}\n  {% if true %}\nx\n  {% endif %}\n{% endif %}\ny\n", "x\ny"),
}


@pytest.mark.parametrize("name", USES)
def test_templates_may_use_what_transformers_gives_them(tmp_path, name):
    source, wanted = USES[name]
    assert render(tmp_path, source=source) == wanted


def test_the_date_is_today_s(tmp_path):
    before = datetime.now()
    told = render(tmp_path, source="{{ strftime_now('%d %B %Y') }}")
    assert told in {each.strftime("%d %B %Y") for each in (before, datetime.now())}  # it may be midnight


def test_arguments_are_variables_but_never_the_messages(tmp_path):
    source = "{{ enable_thinking is defined and not enable_thinking }} {{ messages[0].content }} {{ bos_token }}"
    assert render(tmp_path, source=source, bos_token="<s>") == "False hi <s>"
    assert render(tmp_path, arguments={"enable_thinking": False, "messages": [], "bos_token": "<b>"}) == "True hi <b>"


FAILS = {
    "its own refusal": ("{{ raise_exception('only one user, please') }}", "fails: only one user, please"),
    "a division": ("{{ 1 / 0 }}", "division"),
    "a missing name": ("{{ x.y.z }}", "undefined"),
    "a missing token": ("{{ bos_token + 'a' }}", "undefined"),
    "an escape": ("{{ messages.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
    "another escape": ("{{ ''.join.__globals__ }}{{ cycler.__init__.__globals__.os.popen('id').read() }}", "unsafe"),
    "a change": ("{{ messages.append(1) }}", "unsafe"),
    "an import": ("{% import 'os' as os %}", "fails"),
    "a long loop": ("{% for i in range(10**9) %}{% endfor %}", "range"),
    "lines": ("{{ raise_exception('a\\n\\nb') }}", "fails: a b"),
}


@pytest.mark.parametrize("name", FAILS)
def test_a_template_that_fails_is_one_sentence(tmp_path, name):
    source, words = FAILS[name]
    with pytest.raises(ModelError, match=words) as told:
        render(tmp_path, source=source)
    assert "\n" not in str(told.value)


def test_a_template_sees_the_text_as_it_is(tmp_path):
    text = "{{ 7 * 7 }} {% raw %} <b>&amp;"
    assert render(tmp_path, text, source="[{{ prompt }}][{{ messages[0]['content'] }}]") == f"[{text}][{text}]"


def test_the_config_is_json(tmp_path):
    (tmp_path / CONFIG).write_text(json.dumps(["chat_template"]), encoding="utf-8")
    with pytest.raises(ModelError, match="JSON object"):
        render(tmp_path)
