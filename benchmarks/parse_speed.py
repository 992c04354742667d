"""How long ``parse()`` takes, as ratios against C-speed work on the same text in the same run.

    python benchmarks/parse_speed.py [--json]

A clean call is compared with ``json.loads`` of its payload, prose with ``str.find`` of a character
that is not in it. Ratios of medians are printed because absolute times say more about the machine
than about the code. The inputs are built here and always the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns

from fallback import Catalogue, Parser, parse

WEATHER = {
    "name": "get_weather",
    "description": "Weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
NOTE = {
    "name": "save_note",
    "description": "Save a note.",
    "parameters": {
        "type": "object",
        "properties": {"title": {"type": "string"}, "body": {"type": "string"}},
        "required": ["title", "body"],
    },
}
SENTENCE = "The harbour lay quiet, and {n} boats came in with the evening tide; nobody spoke. "


def median_ns(work: Callable[[], object], *, repeats: int, inner: int) -> float:
    """Median duration of one call of ``work``, in nanoseconds."""
    work()
    samples = []
    for _ in range(repeats):
        begin = perf_counter_ns()
        for _ in range(inner):
            work()
        samples.append((perf_counter_ns() - begin) / inner)
    return statistics.median(samples)


def measured() -> dict[str, dict[str, float]]:
    """Microseconds and ratio for each case."""
    catalogue = Catalogue([WEATHER, NOTE])
    results = {}

    small = json.dumps({"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}})
    body = "".join(SENTENCE.format(n=n) for n in range(240))
    large = json.dumps({"name": "save_note", "arguments": {"title": "Harbour", "body": body}})
    for name, payload in (("clean call", small), ("clean call, 19 KB", large)):
        reply = f"```tool_call\n{payload}\n```\n"
        assert len(parse(reply, catalogue).calls) == 1
        results[name] = _compared(partial(parse, reply, catalogue), partial(json.loads, payload))

    prose = "".join(SENTENCE.format(n=n) for n in range(640))
    prose = prose[:50_000]
    assert parse(prose, catalogue).text == prose
    results["50 KB of prose"] = _compared(
        lambda: parse(prose, catalogue), lambda: prose.find("\x00"), inner=20
    )

    pieces = [prose[at : at + 4] for at in range(0, len(prose), 4)]

    def streamed() -> None:
        parser = Parser(catalogue)
        for piece in pieces:
            parser.feed(piece)
        parser.close()

    results["50 KB of prose in pieces of 4"] = _compared(
        streamed, lambda: [piece.find("\x00") for piece in pieces], inner=1
    )
    return results


def _compared(
    ours: Callable[[], object], reference: Callable[[], object], *, inner: int = 200
) -> dict[str, float]:
    ours_ns = median_ns(ours, repeats=15, inner=inner)
    reference_ns = median_ns(reference, repeats=15, inner=inner)
    return {
        "microseconds": ours_ns / 1000,
        "reference_microseconds": reference_ns / 1000,
        "ratio": ours_ns / reference_ns,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", action="store_true", help="one JSON object")
    results = measured()
    if options.parse_args().json:
        print(json.dumps(results))
        return
    print(f"{'case':<32} {'parse':>12} {'reference':>12} {'ratio':>8}")
    for name, row in results.items():
        print(
            f"{name:<32} {row['microseconds']:>9.1f} us {row['reference_microseconds']:>9.2f} us"
            f" {row['ratio']:>7.1f}x"
        )


if __name__ == "__main__":
    main()
