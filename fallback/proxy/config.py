"""Where the settings come from: ``fallback.toml``, and over it the ``FALLBACK_*`` variables.

::

    [server]
    upstream = "http://127.0.0.1:11434"
    api_keys_file = "keys.txt"

    [default]
    corrections = 1

    [models."gemma3*"]
    mode = "prompt"
    num_ctx = 16384

A field of ``[server]`` or ``[default]`` is also a variable: ``FALLBACK_UPSTREAM``,
``FALLBACK_MODE`` ... One of the latter counts for every model. The command line's flags are turned
into these variables, so that worker processes see them too.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fallback.errors import ConfigurationError, TemplateError
from fallback.hosts import without_login
from fallback.proxy.settings import ModelSettings, Settings
from fallback.templating import render_text

__all__ = ["CONFIG", "load_settings", "told", "variable"]

CONFIG = "fallback.toml"
_PREFIX = "FALLBACK_"
_STRUCTURE = frozenset({"default", "models", "api_keys"})
_YES, _NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})
T = TypeVar("T", Settings, ModelSettings)


def variable(name: str) -> str:
    """The environment variable of a field."""
    return _PREFIX + name.upper()


def load_settings(path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read everything.

    Args:
        path: the file; ``FALLBACK_CONFIG`` or ``fallback.toml`` here if not given, and then it
            need not be there.
        environ: the variables.

    Raises:
        ConfigurationError: names the place and what is wrong there.
    """
    named = path or (Path(environ["FALLBACK_CONFIG"]) if environ.get("FALLBACK_CONFIG") else None)
    found = _read(named or Path(CONFIG), must_be_there=named is not None)
    where = str(named or CONFIG)
    folder = (named or Path(CONFIG)).parent
    for section in found.keys() - {"server", "default", "models"}:
        raise ConfigurationError(
            f"{where}: there is no section [{section}]; there are [server],"
            ' [default] and [models."<name>"]'
        )
    settings = _filled(Settings(), _table(found, "server", where), f"{where}: [server]")
    settings = _from_environment(settings, environ, skip=_STRUCTURE)
    key = environ.get("FALLBACK_API_KEY", "")
    keys = tuple(part.strip() for part in key.split(",") if part.strip())
    table = _table(found, "default", where)
    default = _model(ModelSettings(), table, f"{where}: [default]", folder)
    models = tuple(
        (
            pattern,
            _from_environment(
                _model(default, table, f'{where}: [models."{pattern}"]', folder), environ
            ),
        )
        for pattern, table in _table(found, "models", where).items()
    )
    return replace(
        settings,
        api_keys=(*settings.api_keys, *keys),
        default=_from_environment(default, environ),
        models=models,
    )


def told(settings: Settings) -> dict[str, str]:
    """What differs from the defaults, for people to read; of keys only how many there are."""
    said = _differing(settings, Settings(), skip={"default", "models", "api_keys", "upstream_key"})
    if settings.upstream:
        said["upstream"] = without_login(settings.upstream)
    if settings.api_keys:
        said["api_keys"] = str(len(settings.api_keys))
    if settings.upstream_key:
        said["upstream_key"] = "set"
    named = [("every model", ModelSettings(), settings.default)]
    named += [(f"models {p!r}", settings.default, own) for p, own in settings.models]
    for name, base, own in named:
        differing = _differing(own, base, skip={"template"})
        if own.template != base.template:
            differing["template"] = f"{len(own.template)} characters"
        if differing:
            said[name] = ", ".join(f"{key} {value}" for key, value in differing.items())
    return said


def _differing(own: T, base: T, *, skip: set[str]) -> dict[str, str]:
    values = ((field.name, getattr(own, field.name)) for field in fields(base))
    return {
        name: ", ".join(value) if isinstance(value, tuple) else str(value)
        for name, value in values
        if name not in skip and value != getattr(base, name)
    }


def _read(path: Path, *, must_be_there: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not must_be_there:
            return {}
        raise ConfigurationError(f"{path} does not exist") from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _table(found: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    table = found.get(name, {})
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"{where}: {name} has to be a section")
    return table


def _model(base: ModelSettings, table: Any, where: str, folder: Path) -> ModelSettings:
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"{where} has to be a section")
    made = _filled(base, table, where)
    if table.get("profile", "auto") not in ("auto", "off", ""):
        made = replace(made, profile=str(folder / Path(made.profile).expanduser()))
    if "template" not in table:
        return made
    path = folder / made.template
    try:
        source = path.read_text(encoding="utf-8")
        render_text(source, model="", tools=[])
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"{where}: template: {path} cannot be read: {error}") from None
    except TemplateError as error:
        raise ConfigurationError(f"{where}: template: {path}: {error}") from None
    return replace(made, template=source)


def _filled(base: T, table: Mapping[str, Any], where: str) -> T:
    hints = get_type_hints(type(base))
    known = {f.name for f in fields(base)} - ({"default", "models"} & hints.keys())
    given = {}
    for name, value in table.items():
        if name not in known:
            raise ConfigurationError(
                f"{where}: there is no setting {name!r}; there are {', '.join(sorted(known))}"
            )
        given[name] = _checked(value, hints[name], f"{where}: {name}")
    return replace(base, **given)


def _from_environment(
    base: T, environ: Mapping[str, str], skip: frozenset[str] = frozenset({"template"})
) -> T:
    hints = get_type_hints(type(base))
    given = {}
    for entry in fields(base):
        text = environ.get(variable(entry.name), "")
        if text.strip() and entry.name not in skip:
            given[entry.name] = _from_text(text.strip(), hints[entry.name], variable(entry.name))
    return replace(base, **given)


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The alternatives of a type."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _checked(value: Any, hint: Any, where: str) -> Any:
    """A value of the file."""
    for kind in _kinds(hint):
        if get_origin(kind) is Literal and value in get_args(kind):
            return value
        if get_origin(kind) is tuple and isinstance(value, list):
            if all(isinstance(item, str) for item in value):
                return tuple(value)
        elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            return _positive(float(value), where)
        elif kind in (int, str, bool) and type(value) is kind:
            return _positive(value, where) if kind is int else value
    raise ConfigurationError(f"{where} is {value!r}, but should be {_wanted(hint)}")


def _from_text(text: str, hint: Any, where: str) -> Any:
    """A value of a variable."""
    for kind in _kinds(hint):
        if get_origin(kind) is Literal and text in get_args(kind):
            return text
        if get_origin(kind) is tuple:
            return tuple(part.strip() for part in text.split(",") if part.strip())
        if kind is bool and text.lower() in _YES | _NO:
            return text.lower() in _YES
        if kind in (int, float):
            try:
                return _positive(kind(text), where)
            except ValueError:
                continue
        if kind is str:
            return text
    raise ConfigurationError(f"{where} is {text!r}, but should be {_wanted(hint)}")


def _positive(value: Any, where: str) -> Any:
    if value < 0:
        raise ConfigurationError(f"{where} is {value}, but cannot be negative")
    return value


def _wanted(hint: Any) -> str:
    names = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    told = []
    for kind in _kinds(hint):
        if get_origin(kind) is Literal:
            told.append(" or ".join(map(repr, get_args(kind))))
        elif get_origin(kind) is tuple:
            told.append("a list of texts")
        elif kind is not NoneType:
            told.append(names.get(kind, str(kind)))
    return " or ".join(told)
