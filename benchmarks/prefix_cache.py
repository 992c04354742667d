"""On every step after the first, only what is new is evaluated.

    python benchmarks/prefix_cache.py [MODEL] [--json]

The prompt of a step is that of the step before, byte for byte, and something behind it. The engine
keeps what it has evaluated, and says for each step how many tokens of the prompt it already had.
Two questions are asked in one conversation; "new" is what had to be evaluated.
"""

from __future__ import annotations

import argparse
import itertools
import json
from datetime import date
from typing import Any

from fallback import Session, tool
from fallback.engine.models import DEFAULT_MODEL, pull
from fallback.engine.prefix import BLOCK


@tool
def weekday(day: str) -> str:
    """Day of the week of a date.

    Args:
        day: the date, as YYYY-MM-DD.
    """
    return f"{date.fromisoformat(day):%A}"


@tool
def days_between(first: str, last: str) -> int:
    """Number of days from one date to another.

    Args:
        first: the earlier date, as YYYY-MM-DD.
        last: the later date, as YYYY-MM-DD.
    """
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def measured(model: str) -> list[dict[str, Any]]:
    rows = []
    pull(model)
    with Session(
        model,
        tools=[weekday, days_between],
        host="embedded",
        mode="prompt",
        options={"temperature": 0},
    ) as session:
        for question in ("What day of the week is 2031-12-24?", "And 2032-12-24?"):
            for step in session.run(question).steps:
                usage = step.usage
                rows.append(
                    {
                        "question": question,
                        "step": step.index + 1,
                        "calls": [call.name for call in step.calls],
                        "prompt": usage.prompt_tokens,
                        "cached": usage.cached_tokens or 0,
                        "written": usage.completion_tokens,
                        "prompt_seconds": usage.prompt_seconds,
                    }
                )
    return rows


def check(rows: list[dict[str, Any]]) -> None:
    for before, after in itertools.pairwise(rows):
        had = before["prompt"]
        # The engine keeps whole blocks, so that a reply does not depend on what was asked before.
        assert after["cached"] > had - BLOCK, f"only {after['cached']} of {had} tokens were kept"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", default=DEFAULT_MODEL)
    options.add_argument("--json", action="store_true", help="one JSON object")
    given = options.parse_args()
    rows = measured(given.model)
    if given.json:
        print(json.dumps({"model": given.model, "steps": rows}))
    else:
        print(f"{'step':<5} {'prompt':>7} {'cached':>7} {'new':>5} {'prompt time':>12}   asked")
        for row in rows:
            new = row["prompt"] - row["cached"]
            print(
                f"{row['step']:<5} {row['prompt']:>7} {row['cached']:>7} {new:>5}"
                f" {row['prompt_seconds']:>10.2f} s   {row['question']}"
            )
    check(rows)


if __name__ == "__main__":
    main()
