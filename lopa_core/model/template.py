"""Chat templates: the checkpoint's own Jinja code, run in a sandbox with what transformers gives to a template, and no more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from .errors import ModelError
from .files import read_text
from .token_files import CONFIG, TokenizerFiles

FILE, LEGACY = "chat_template.jinja", "chat_template.json"


class Generation(Extension):
    """{% generation %} ... {% endgeneration %} marks the answer for training; here it is what stands between."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


def as_json(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
    """JSON as it is: Jinja's own filter would escape it for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, **options)


def refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def sandbox() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation])
    environment.filters["tojson"] = as_json
    environment.globals |= {"raise_exception": refuse, "strftime_now": lambda form: datetime.now().strftime(form)}
    return environment


class ChatTemplate:
    """A folder's template with what it may name: its special tokens by role, and the arguments it is called with."""

    def __init__(self, path: Path, source: Any, names: Mapping[str, str], arguments: Mapping[str, object]) -> None:
        self.variables = {**names, **arguments, "tools": None, "documents": None}
        try:
            self.template: Template = sandbox().from_string(source)
        except (TemplateError, TypeError) as error:
            raise ModelError(f"The chat template in {path} is damaged: {error}.") from None

    def render(self, text: str) -> str:
        """The prompt of one user's turn, up to where the answer starts. Raises ModelError.

        Beside transformers' variables there is `prompt`, the user's text.
        """
        messages = [{"role": "user", "content": text}]
        try:
            return self.template.render(self.variables, prompt=text, messages=messages, add_generation_prompt=True)
        except Exception as error:  # a template is the checkpoint's code: it may fail in any way
            raise ModelError(f"The checkpoint's chat template fails: {' '.join(str(error).split())}.") from None


def read_template(files: TokenizerFiles, arguments: Mapping[str, object]) -> ChatTemplate | None:
    """The folder's chat template, None if it has none. chat_template.jinja goes before tokenizer_config.json, as in transformers."""
    path = files.folder / FILE
    if path.is_file():
        return ChatTemplate(path, read_text(path), files.names, arguments)
    for name, told in ((CONFIG, files.config), (LEGACY, files.read(LEGACY))):
        if told.get("chat_template") is not None:
            path = files.folder / name
            return ChatTemplate(path, default(path, told["chat_template"]), files.names, arguments)
    return None


def default(path: Path, told: Any) -> Any:
    """The template to use of several named ones: the one that is called default, or the only one."""
    if isinstance(told, list):
        pairs = [each for each in told if isinstance(each, dict) and {"name", "template"} <= each.keys()]
        if len(pairs) < len(told):
            raise ModelError(f"The chat templates in {path} are damaged: each must be an object with a name and a template.")
        told = {each["name"]: each["template"] for each in pairs}
    if not isinstance(told, dict):
        return told
    if "default" not in told and len(told) != 1:
        raise ModelError(f"{path} names {len(told)} chat templates, but none of them default: {', '.join(map(str, told)) or 'add one'}.")
    return told.get("default") or next(iter(told.values()))
