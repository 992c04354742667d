"""What ``/api/show`` says about a model, in our words. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fallback.backend import ModelInfo
from fallback.families import Family, recognise
from fallback.messages import Message

__all__ = ["Profile", "digest_in", "names_in", "read_profile"]

_QUOTED_BLOCK = re.compile(r'""".*?"""', re.DOTALL)
_LINE = re.compile(r"^(RENDERER|PARSER)[ \t]+(\S+)", re.MULTILINE)
_PARAMETER = re.compile(r"^(\w+)[ \t]+(.+?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A model as its server has it.

    Attributes:
        family: its chat format, with the model's own style; ``None`` where only the server can
            write its prompt.
        system: the Modelfile's ``SYSTEM``, which raw prompts do not get from the server.
        history: the Modelfile's ``MESSAGE`` lines, likewise.
        stop: the model's own stop strings; ours would replace them.
        num_ctx: window that the Modelfile sets, in tokens.
        bos: whether a raw prompt must spell BOS itself.
    """

    info: ModelInfo
    family: Family | None = None
    system: str = ""
    history: tuple[Message, ...] = ()
    stop: tuple[str, ...] = ()
    num_ctx: int | None = None
    bos: bool = False

    @property
    def thinks(self) -> bool:
        """Whether the server says that the model thinks; only then may ``think`` be sent."""
        return "thinking" in (self.info.capabilities or ())


def read_profile(name: str, shown: Mapping[str, Any], digest: str = "") -> Profile:
    """Read the answer of ``/api/show``; anything may be missing from it."""
    template = _text(shown.get("template"))
    lines = dict(_LINE.findall(_QUOTED_BLOCK.sub("", _text(shown.get("modelfile")))))
    parameters = _parameters(_text(shown.get("parameters")))
    raw_info = shown.get("model_info")
    gguf: Mapping[str, Any] = raw_info if isinstance(raw_info, Mapping) else {}
    architecture = _text(gguf.get("general.architecture"))
    parser = lines.get("PARSER") or ("harmony" if architecture in ("gptoss", "gpt-oss") else None)
    family = recognise(template, renderer=lines.get("RENDERER", ""))
    capabilities = shown.get("capabilities")
    info = ModelInfo(
        name=name,
        capabilities=frozenset(map(str, capabilities)) if isinstance(capabilities, list) else None,
        family=family.name if family else None,
        parser=parser,
        context_length=_whole(gguf.get(f"{architecture}.context_length")),
        digest=digest,
        template=template,
        details={
            **(shown["details"] if isinstance(shown.get("details"), Mapping) else {}),
            "architecture": architecture,
            "renderer": lines.get("RENDERER", ""),
            "num_ctx": _whole(next(iter(parameters.get("num_ctx", ())), None)),
        },
    )
    return Profile(
        info=info,
        family=family,
        system=_text(shown.get("system")),
        history=tuple(_history(shown.get("messages"))),
        stop=tuple(parameters.get("stop", ())),
        num_ctx=_whole(next(iter(parameters.get("num_ctx", ())), None)),
        bos=_spells_bos(family, template, gguf),
    )


def _spells_bos(family: Family | None, template: str, gguf: Mapping[str, Any]) -> bool:
    """A template that writes BOS, and a tokenizer that is told not to."""
    if family is None or gguf.get("tokenizer.ggml.add_bos_token") is not False:
        return False
    return bool(family.bos) and ("bos_token" in template or family.bos in template)


def _parameters(text: str) -> dict[str, list[str]]:
    """The lines ``name   value`` of ``parameters``; text values are quoted as Go quotes them."""
    found: dict[str, list[str]] = {}
    for name, value in _PARAMETER.findall(text):
        found.setdefault(name, []).append(_unquoted(value))
    return found


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value))
    except ValueError:  # Go knows escapes that JSON does not
        return value.strip('"')


def _history(value: Any) -> Iterable[Message]:
    for entry in value if isinstance(value, list) else ():
        role = entry.get("role") if isinstance(entry, Mapping) else None
        if role in ("user", "assistant"):
            yield Message(role=role, content=_text(entry.get("content")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        value = int(value[:15])
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _models(listing: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    models = listing.get("models")
    return [m for m in models if isinstance(m, Mapping)] if isinstance(models, list) else []


def digest_in(listing: Mapping[str, Any], name: str) -> str:
    """The digest of a model in the answer of ``/api/tags``; empty if it is not there."""
    wanted = {name, f"{name}:latest"}
    for model in _models(listing):
        if model.get("name") in wanted or model.get("model") in wanted:
            return _text(model.get("digest"))
    return ""


def names_in(listing: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the models in the answer of ``/api/tags``."""
    return tuple(_text(m.get("name") or m.get("model")) for m in _models(listing))
