"""What a profile holds, and what it makes of mode ``auto``."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Literal

from fallback.dialects.record import PROMPTED, Dialect
from fallback.errors import ConfigurationError
from fallback.messages import Mode
from fallback.resources import data_dir
from fallback.routing import Advice
from fallback.templating import template_version

__all__ = [
    "Ended",
    "Evidence",
    "Profile",
    "ProfileError",
    "Versions",
    "WayEvidence",
    "advice_of",
    "templates_hash",
]

Ended = Literal["distinguishable", "budget", "cases"]
"""Why a calibration ended: one way is distinguishably best, the budget was used up, or there were
no more cases."""


class ProfileError(ConfigurationError):
    """A profile cannot be read or written, or what it says is wrong; names the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """What a profile was measured with.

    Attributes:
        fallback: the version of this package.
        templates: hash of the templates of the way, see :func:`templates_hash`.
        server: the model server's version; empty if it does not say.
    """

    fallback: str
    templates: str
    server: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayEvidence:
    """What was seen of one way.

    Attributes:
        name: of the way, as for ``fallback compare``.
        n: cases.
        rate: share of them that were wholly right, and ``low`` and ``high`` its interval of 95 %.
        sentence: how it compares with the way that was chosen; empty for that way itself.
    """

    name: str
    n: int
    rate: float
    low: float
    high: float
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Why the way of a profile was chosen.

    Attributes:
        suites: names of the suites.
        seed: of the choice of cases.
        cases: different cases that were asked.
        turns: in all.
        ended: why no more were asked.
        sentence: what can be said of the way.
        ways: every way that was tried, the chosen one first.
    """

    suites: tuple[str, ...]
    seed: int
    cases: int
    turns: int
    ended: Ended
    sentence: str
    ways: tuple[WayEvidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The way that was measured to be best for a model.

    Attributes:
        model: its name, as the server knows it.
        digest: hash of its content, as the server tells it.
        measured: when, with a time zone.
        way: name of the way, as for ``fallback compare``.
        mode: how calls are made.
        dialect: how they are written in prompt mode; empty in native mode.
        endpoint: where prompts are sent in prompt mode.
        example: whether the prompt shows a worked example.
        read_text: whether, in native mode, calls are also read from the text.
        think: as for a session; ``None`` leaves the model alone.
        num_ctx: window in tokens that it was measured with; ``None`` for the usual one.
        decide: the margin with which it is decided before a reply whether it calls a tool; ``None``
            for no decision.
    """

    model: str
    digest: str
    measured: datetime.datetime
    way: str
    mode: Mode
    dialect: str = ""
    endpoint: Literal["generate", "chat"] = "generate"
    example: bool = True
    read_text: bool = True
    think: bool | str | None = None
    num_ctx: int | None = None
    decide: float | None = None
    versions: Versions
    evidence: Evidence

    @property
    def record(self) -> Dialect | None:
        """The dialect; ``None`` in native mode."""
        if self.mode == "native":
            return None
        return replace(PROMPTED[self.dialect], example=self.example)

    def stale(self, digest: str, family: str) -> str:
        """Why it does not hold any more; empty while it does.

        Args:
            digest: of the model as it is now.
            family: of its chat format; empty if that is not known.
        """
        if digest != self.digest:
            return f"the model is another one now ({digest[:12]}, measured was {self.digest[:12]})"
        if self.versions.templates != templates_hash(self.record, family):
            return "the templates have changed since it was measured"
        return ""


def advice_of(profile: Profile) -> Advice:
    """What a profile makes of mode ``auto``."""
    native = profile.mode == "native"
    return Advice(
        mode=profile.mode,
        why=_measured(profile, profile.evidence.ways[0]),
        dialect=profile.record,
        endpoint=None if native else profile.endpoint,
        read_text=profile.read_text if native else None,
        think=profile.think,
        num_ctx=profile.num_ctx,
        decide=profile.decide,
        otherwise=None if profile.decide is None else _otherwise(profile),
    )


def _measured(profile: Profile, way: WayEvidence) -> str:
    day = profile.measured.date().isoformat()
    return f"measured {day}: {way.name} was wholly right in {way.rate:.0%} of {way.n} cases"


def _otherwise(profile: Profile) -> Advice | None:
    """The best of the ways that were tried without deciding; ``None`` if there was none.

    Those were dropped first that did worst, so the number of cases goes before the share.
    """
    from fallback.ways import way_of  # loads the loop, which the command line begins without

    for tried in sorted(profile.evidence.ways, key=lambda way: (-way.n, -way.rate)):
        way = way_of(tried.name)
        if way is not None and way.decide is None:
            without = replace(
                profile,
                mode=way.mode,
                dialect=way.dialect,
                endpoint=way.endpoint,
                example=way.example,
                read_text=way.kind != "native",
                decide=None,
            )
            why = f"{_measured(profile, tried)}, the best of the ways that do not decide first"
            return replace(advice_of(without), why=why)
    return None


@cache
def templates_hash(dialect: Dialect | None, family: str) -> str:
    """Hash of all that we write into a prompt besides its content, as 32 hexadecimal digits.

    Args:
        dialect: of a prompt mode; ``None`` for native mode, where only corrections are ours.
        family: of the model's chat format; empty if the server renders prompts.
    """
    made = sha256(template_version(dialect.name if dialect else "native").encode())
    made.update(repr(dialect).encode())
    chat = data_dir("templates") / "chat" / f"{family}.jinja"
    if dialect is not None and family and chat.is_file():
        made.update(chat.read_bytes())
    return made.hexdigest()[:32]
