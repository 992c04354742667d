"""The one Jinja2 environment in which every prompt template renders.

What must stay true:

* Templates are ours; text of users, tools and models only ever enters as a *value*, so ``{{ x }}``
  inside it is never rendered. The sandbox is the second lock on the same door.
* Nothing is escaped for HTML: a model reads ``a<b``, not ``a&lt;b``. Jinja2's own ``tojson``
  escapes for HTML and sorts keys, so it is replaced by :func:`to_json`.
* The text of a file is kept to the last character, its final line break included
  (``keep_trailing_newline``); whoever composes messages strips or keeps it knowingly.
"""

from __future__ import annotations

import json
import re
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from fallback.errors import TemplateError
from fallback.resources import data_dir

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["environment", "render", "render_text", "template_version", "to_json"]

_SURROGATE = re.compile("[\ud800-\udfff]")
_encode = json.JSONEncoder(ensure_ascii=False).encode  # ``json.dumps`` makes one for each value


def to_json(value: Any, indent: int | None = None) -> str:
    """Write a value as JSON the way a model reads it best.

    Keys keep their order and characters stay themselves (small models cannot read ``\\uXXXX``).
    Only lone surrogates, which no UTF-8 text can carry, and what JSON itself demands are escaped.
    """
    text = (
        _encode(value) if indent is None else json.dumps(value, ensure_ascii=False, indent=indent)
    )
    if text.isascii():
        return text
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@cache
def environment() -> ImmutableSandboxedEnvironment:
    """The environment, made once; it holds nothing but the templates and their filters."""
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    made = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(data_dir("templates"), encoding="utf-8"),
        undefined=StrictUndefined,
        # HTML escaping would change what the model reads; no browser ever sees these prompts.
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["tojson"] = to_json
    return made


@cache
def _template(name: str) -> Template:
    from jinja2 import TemplateNotFound, TemplateSyntaxError

    try:
        return environment().get_template(name)
    except TemplateNotFound as error:
        raise TemplateError(f"template {name!r} is missing; is the package whole?") from error
    except TemplateSyntaxError as error:
        raise TemplateError(f"template {name!r}, line {error.lineno}: {error.message}") from error


def render(name: str, /, **values: Any) -> str:
    """Render one template, such as ``fenced/system.j2``, with the values given.

    Raises:
        TemplateError: the template is missing, malformed, or asks for a value it was not given.
    """
    from jinja2 import TemplateError as JinjaError

    try:
        return _template(name).render(values)
    except JinjaError as error:
        raise TemplateError(f"template {name!r} does not render: {error}") from error


@cache
def template_version(folder: str) -> str:
    """SHA-256, in hex, of all templates of a dialect: which prompt a call was written under."""
    made = sha256()
    for path in sorted(data_dir("templates").joinpath(folder).glob("*.j2")):
        content = path.read_bytes()
        made.update(f"{path.name} {len(content)}\n".encode())
        made.update(content)
    return made.hexdigest()


@cache
def _compiled(source: str) -> Template:
    from jinja2 import TemplateSyntaxError

    try:
        return environment().from_string(source)
    except TemplateSyntaxError as error:
        raise TemplateError(f"line {error.lineno}: {error.message}") from error


def render_text(source: str, /, **values: Any) -> str:
    """Render the source of a template that the user wrote, in the same sandbox.

    Raises:
        TemplateError: it is malformed, or asks for a value it was not given.
    """
    from jinja2 import TemplateError as JinjaError

    try:
        return _compiled(source).render(values)
    except JinjaError as error:
        raise TemplateError(f"the template does not render: {error}") from error
