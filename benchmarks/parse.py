"""How fast replies are read, as ratios to other work on the same text in the same run.

    python -m benchmarks.parse [--json] [--quick] [--out FILE] [--cache FOLDER]

Each line has a bar that it may not be above. Both sides of a ratio are timed in turn, and medians
are taken, because absolute times say more about the machine than about the code. The malformed
payloads are compared with ``json-repair``, which is installed into an environment of its own below
the ``--cache``; without it that line is left out. Exits with 1 if a bar is not met.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time_ns
from typing import Any

from benchmarks import lalr
from benchmarks.parse_inputs import (
    CALL,
    CLEAN,
    MALFORMED,
    PYTHON_CALL,
    TOOLS,
    argument,
    document,
    floods,
    prose,
)
from benchmarks.peers.environments import Unavailable, default_cache, prepared
from benchmarks.peers.roster import PEERS
from fallback import Catalogue, Parser, parse
from fallback.parsing.mend import mend

RESULT = Path(__file__).with_name("results") / "parse.md"
CATALOGUE = Catalogue(TOOLS)
Work = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measurement: what was measured, the value, and what it may not be above, if anything."""

    name: str
    value: float
    bar: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        return self.bar is None or self.value <= self.bar


def timed(work: Work, inner: int) -> float:
    """Nanoseconds of processor time for one call of ``work``."""
    begin = process_time_ns()
    for _ in range(inner):
        work()
    return (process_time_ns() - begin) / inner


def ratio(ours: Work, other: Work, *, rounds: int, inner: int = 1, others: int = 0) -> float:
    """Median of ours by the median of the other, timed in turn; ``others`` calls of the other."""
    ours()
    other()
    pairs = [(timed(ours, inner), timed(other, others or inner)) for _ in range(rounds)]
    return statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)


def measured(*, quick: bool, repair: Callable[[str], Any] | None) -> Iterator[Line]:
    """All lines, in the order of the table."""
    rounds = 5 if quick else 31
    yield from _clean(rounds)
    text = prose()
    assert parse(text, CATALOGUE).text == text
    yield Line(
        name="50 KB of prose without a call, by `str.find` of an absent character",
        value=ratio(
            partial(parse, text, CATALOGUE), partial(text.find, "\0"), rounds=rounds, inner=50
        ),
        bar=20,
    )
    yield from _streamed(4096 if quick else 16384, rounds=3 if quick else 7)
    if repair is not None:
        yield from _malformed(repair, rounds)
    yield _as_lalr(rounds)
    yield from _flooded(rounds=1 if quick else 3, every=29 if quick else 1)


def _clean(rounds: int) -> Iterator[Line]:
    loads = partial(json.loads, CALL)
    for name, reply in CLEAN.items():
        assert len(parse(reply, CATALOGUE).calls) == 1
        value = ratio(partial(parse, reply, CATALOGUE), loads, rounds=rounds, inner=500)
        yield Line(name=f"clean call, {name}, by `json.loads` of its payload", value=value, bar=6)
    reply = PYTHON_CALL
    assert len(parse(reply, CATALOGUE).calls) == 1
    value = ratio(partial(parse, reply, CATALOGUE), loads, rounds=rounds, inner=100)
    yield Line(name="the same call in Python, by the same", value=value)


def _streamed(size: int, *, rounds: int) -> Iterator[Line]:
    """An argument in pieces of four characters, and the same four times as long."""
    short, long = _pieces(size), _pieces(4 * size)
    value = ratio(partial(_feed, long), partial(_jiter, long), rounds=min(rounds, 3))
    kilo = 4 * size // 1024
    yield Line(
        name=f"{kilo} KB argument in pieces of 4, by jiter on all that is there at each piece",
        value=value,
        bar=0.25,
    )
    value = ratio(partial(_feed, long), partial(_feed, short), rounds=rounds)
    yield Line(name=f"the same, by the same of {kilo // 4} KB", value=value, bar=4.6)


def _pieces(size: int) -> list[str]:
    arguments = {"path": "a.py", "content": argument(size)}
    payload = json.dumps({"name": "write_file", "arguments": arguments})
    reply = f"<tool_call>\n{payload}\n</tool_call>"
    return [reply[at : at + 4] for at in range(0, len(reply), 4)]


def _feed(pieces: list[str]) -> None:
    parser = Parser(CATALOGUE)
    for piece in pieces:
        parser.feed(piece)
    parser.close()
    assert len(parser.reading.calls) == 1


def _jiter(pieces: list[str]) -> None:
    import jiter

    text = b""
    for piece in pieces:
        text += piece.encode()
        at = text.find(b"{")
        if at >= 0 and b"}\n<" not in text[-20:]:
            jiter.from_json(text[at:], partial_mode=True)


def _malformed(repair: Callable[[str], Any], rounds: int) -> Iterator[Line]:
    """Ours on the reply with its tag, validation included; json-repair on the payload alone."""
    values = []
    for name, payload in MALFORMED.items():
        reply = f"<tool_call>\n{payload}\n</tool_call>"
        assert len(parse(reply, CATALOGUE).calls) == 1, name
        values.append(
            ratio(
                partial(parse, reply, CATALOGUE), partial(repair, payload), rounds=rounds, inner=20
            )
        )
    worst = max(zip(values, MALFORMED, strict=True))
    yield Line(
        name=f"{len(MALFORMED)} malformed calls, by json-repair (geometric mean)",
        value=statistics.geometric_mean(values),
        bar=0.5,
        note=f"worst: {worst[1]}, {worst[0]:.2f}",
    )


def _as_lalr(rounds: int) -> Line:
    """What the tolerant path would cost as an LALR parser over the same coarse tokens."""
    other = lalr.reader()
    values = []
    for name, payload in MALFORMED.items():
        if name not in lalr.BEYOND_LALR:
            ours = partial(mend, payload, 0, len(payload))
            found = ours()
            assert found is not None
            assert found[0] == other(payload)
            values.append(ratio(ours, partial(other, payload), rounds=rounds, inner=20))
    return Line(
        name=f"{len(values)} malformed payloads decoded, by an LALR parser over coarse tokens",
        value=statistics.geometric_mean(values),
    )


def _flooded(*, rounds: int, every: int) -> Iterator[Line]:
    """The worst of the floods, by a valid document of their size, and its growth."""
    size = 100_000
    valid = document(size)
    loads = statistics.median(timed(partial(json.loads, valid), 5) for _ in range(15))
    times = {
        name: statistics.median(timed(partial(parse, text, CATALOGUE), 1) for _ in range(rounds))
        for name, text in floods(size, every=every).items()
    }
    order = sorted(times, key=lambda name: times[name], reverse=True)
    yield Line(
        name=f"{len(times)} floods of 100 KB, by `json.loads` of a valid 100 KB (the worst)",
        value=times[order[0]] / loads,
        bar=40,
        note="; ".join(f"{name} {times[name] / loads:.1f}" for name in order[:5]),
    )
    # Below that, the growth is that of the clock.
    slow = [name for name in order if times[name] > 4 * loads]
    small = floods(size // 4, every=every)
    growth = {name: times[name] / timed(partial(parse, small[name], CATALOGUE), 2) for name in slow}
    # Single measurements are noisy: those that look worst are measured again, in turn.
    again = sorted(growth, key=lambda name: growth[name], reverse=True)[:8]
    large = floods(size, every=every)
    for name in again:
        pair = [partial(parse, texts[name], CATALOGUE) for texts in (large, small)]
        growth[name] = ratio(*pair, rounds=7)
    worst = max(again, key=lambda name: growth[name])
    yield Line(
        name=f"growth of {len(slow)} of them from 25 to 100 KB (the worst)",
        value=growth[worst],
        bar=4.6,
        note=worst,
    )


def json_repair(cache: Path) -> Callable[[str], Any] | None:
    """``json_repair.loads`` from its own environment, if it can be had."""
    environment = next(peer.environment for peer in PEERS if peer.name == "json-repair")
    try:
        folder = prepared(environment, cache)
    except Unavailable as why:
        print(f"without json-repair: {why}", file=sys.stderr)
        return None
    sys.path += [str(path) for path in folder.glob("[Ll]ib*/**/site-packages")]
    import json_repair  # type: ignore[import-not-found]  # lives in its own environment

    return json_repair.loads  # type: ignore[no-any-return]  # it has no types here


def markdown(lines: list[Line]) -> str:
    """The table as a Markdown file."""
    rows = [
        "# Speed",
        "",
        "    python -m benchmarks.parse",
        "",
        "Ratios of medians of processor time, both sides in turn in one run.",
        "",
        "| what | ratio | bar |",
        "| --- | --- | --- |",
        *(
            f"| {x.name} | {x.value:.2f} | {'-' if x.bar is None else f'{x.bar:g}'} |"
            for x in lines
        ),
        "",
        *(f"- {line.name}: {line.note}" for line in lines if line.note),
    ]
    return "\n".join(rows) + "\n"


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks.parse")
    options.add_argument("--json", action="store_true", help="one JSON object")
    options.add_argument("--quick", action="store_true", help="few rounds, small inputs, no bars")
    options.add_argument("--out", type=Path, help="a Markdown file for the table")
    options.add_argument("--cache", type=Path, default=default_cache(), help="environments go here")
    given = options.parse_args()
    repair = None if given.quick else json_repair(given.cache.resolve())
    lines = list(measured(quick=given.quick, repair=repair))
    if given.out:
        given.out.write_text(markdown(lines), "utf-8")
    if given.json:
        rows = {line.name: {"ratio": line.value, "bar": line.bar} for line in lines}
        print(json.dumps(rows))
    else:
        for line in lines:
            verdict = "-" if line.bar is None else "met" if line.met else "MISSED"
            bar = "" if line.bar is None else f"<= {line.bar:g}"
            print(f"{line.value:8.2f} {bar:>8} {verdict:>7}  {line.name}")
            if line.note:
                print(f"{'':26} {line.note}")
    return 0 if given.quick or all(line.met for line in lines) else 1


if __name__ == "__main__":
    raise SystemExit(main())
