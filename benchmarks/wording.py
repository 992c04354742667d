"""What a wording of the system prompt does to a model, before anything is written.

    python -m benchmarks.wording [--dialect fenced] [--model M] [--cases 12] [--save FILE]
    python -m benchmarks.wording --against FILE      # after templates/ was edited

A whole reply is right or wrong and takes seconds; where it is decided takes one token. So this
reads probabilities at two places of questions of the Berkeley leaderboard (``bfcl-eval``):

*begins*
    at the start of the reply: what goes to tokens that a call begins with. It should be large where
    a tool is needed and small where none fits.
*goes on*
    behind the first right call, put into the model's mouth: what does not go to the end of the
    calls. It should be large where several calls are needed and small where one is.

Questions are drawn by ``--seed`` behind the first fifty of each category, which are left for
``fallback compare --limit 50``: what a wording was chosen by is not what it is reported on.
Differences are paired, question by question, with an exact sign test.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from fallback.compare.cases import Case
from fallback.compare.intervals import sign_test
from fallback.compare.suites import cases_of, load_suite
from fallback.dialects.record import PROMPTED, Dialect
from fallback.engine.models import DEFAULT_MODEL, pull
from fallback.engine.transport import EngineTransport
from fallback.families import recognise, render
from fallback.messages import Message, ToolCall
from fallback.rendering import call_text, prompt_messages

KINDS = {
    "one call": ("bfcl:simple", "bfcl:multiple"),
    "several calls": ("bfcl:parallel",),
    "no call": ("bfcl:irrelevance",),
}
REPORTED = 50
"""Questions of each category that are left alone."""

MOST_TOOL_CHARS = 1400
"""Longer catalogues say nothing else and take longer."""

Shares = dict[str, dict[str, float]]
"""By place and kind (``begins: no call``), then by question: the share of the probability."""


def drawn(count: int, seed: int) -> Iterator[tuple[str, Case]]:
    """Questions with their kind, the kinds in turn."""
    queues = [list(_of_kind(kind, count, seed)) for kind in KINDS]
    for row in zip(*queues, strict=False):
        yield from row


def _of_kind(kind: str, count: int, seed: int) -> Iterator[tuple[str, Case]]:
    for suite in KINDS[kind]:
        every = cases_of([suite], limit=len(load_suite(suite)), seed=seed)[REPORTED:]
        short = [c for c in every if len(json.dumps(c.source["tools"])) <= MOST_TOOL_CHARS]
        for case in short[: math.ceil(count / len(KINDS[kind]))]:
            yield kind, case


class Model:
    """A model of the embedded engine, asked for one token."""

    def __init__(self, name: str) -> None:
        pull(name)
        self._name = name
        self._client = httpx.Client(
            transport=EngineTransport(), base_url="http://embedded", timeout=600
        )
        shown = self._client.post("/api/show", json={"model": name}).json()
        family = recognise(shown["template"])
        if family is None:
            raise SystemExit(f"no chat format of ours fits {name}")
        self._family = family

    def next(self, messages: Sequence[Message], said: str) -> dict[str, float]:
        """The likeliest tokens behind ``said`` and their probabilities."""
        asked = {
            "model": self._name,
            "prompt": render(self._family, messages) + said,
            "raw": True,
            "stream": False,
            "logprobs": True,
            "top_logprobs": 20,
            "options": {"num_predict": 1, "num_ctx": 2048, "temperature": 0},
        }
        reply = self._client.post("/api/generate", json=asked)
        reply.raise_for_status()
        (first,) = reply.json()["logprobs"][:1]
        return {entry["token"]: math.exp(entry["logprob"]) for entry in first["top_logprobs"]}


def measured(model: Model, dialect: Dialect, count: int, seed: int) -> Shares:
    """Both places of all questions."""
    found: Shares = {}
    for kind, case in drawn(count, seed):
        catalogue = case.catalogue()
        question = Message(role="user", content=case.question)
        messages = prompt_messages([question], catalogue, dialect, instructions=case.instructions)
        names = [tool.name for tool in catalogue]
        begins = model.next(messages, "")
        share = sum(p for token, p in begins.items() if _begins(token, names))
        found.setdefault(f"begins: {kind}", {})[case.id] = share
        if case.calls:
            said, end = _first_call(case, dialect)
            after = model.next(messages, said)
            share = 1 - sum(p for token, p in after.items() if token.strip()[:1] == end)
            found.setdefault(f"goes on: {kind}", {})[case.id] = share
    return found


def _begins(token: str, names: Sequence[str]) -> bool:
    word = token.strip()
    return word.startswith(("`", "{", "<", "[")) or _names(word, names)


def _names(word: str, names: Sequence[str]) -> bool:
    return len(word) > 2 and any(name.startswith(word) for name in names)


def _first_call(case: Case, dialect: Dialect) -> tuple[str, str]:
    """The first right call up to where another would follow, and what the end begins with.

    Behind a tag the end is a control token, which has no text.
    """
    first = case.source["calls"][0]
    call = ToolCall(id="", name=first["name"], arguments=_plain(first["arguments"]))
    text = call_text([call], dialect)
    if "```" not in text:
        return text, ""
    return text[: text.rindex("```")], "`"


def _plain(pattern: Any) -> Any:
    """The first value that a pattern of a case accepts; what may be left out is."""
    if isinstance(pattern, list):
        return [_plain(entry) for entry in pattern]
    if not isinstance(pattern, dict):
        return pattern
    if "$any_of" in pattern:
        return _plain(pattern["$any_of"][0])
    if "$any" in pattern:
        return "x"
    return {
        name: _plain(held)
        for name, held in pattern.items()
        if not (isinstance(held, dict) and "$optional" in held)
    }


def table(now: Shares, before: Shares) -> list[dict[str, Any]]:
    """A row for each place and kind, on the questions that both have."""
    rows = []
    for name, held in now.items():
        old = before.get(name, {})
        both = [case for case in held if case in old] or list(held)
        pairs = [(old.get(case, held[case]), held[case]) for case in both]
        up, down = (sum(a < b for a, b in pairs), sum(a > b for a, b in pairs))
        rows.append(
            {
                "share": name,
                "n": len(pairs),
                "before": sum(a for a, _ in pairs) / len(pairs),
                "now": sum(b for _, b in pairs) / len(pairs),
                "more": up,
                "less": down,
                "p": sign_test(up, down),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dialect", choices=PROMPTED, default="fenced")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--cases", type=int, default=12, help="questions of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="keep the shares, to compare with later")
    parser.add_argument("--against", type=Path, help="shares that were kept")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    model, dialect = Model(given.model), PROMPTED[given.dialect]
    now = measured(model, dialect, given.cases, given.seed)
    if given.save:
        given.save.write_text(json.dumps(now, indent=1) + "\n", "utf-8")
    rows = table(now, json.loads(given.against.read_text("utf-8")) if given.against else {})
    if given.json:
        print(json.dumps(rows))
        return
    print(f"{'share':28}{'n':>4}{'before':>8}{'now':>8}{'more':>6}{'less':>6}{'p':>8}")
    for row in rows:
        print(
            f"{row['share']:28}{row['n']:>4}{row['before']:>8.2f}{row['now']:>8.2f}"
            f"{row['more']:>6}{row['less']:>6}{row['p']:>8.3f}"
        )


if __name__ == "__main__":
    main()
