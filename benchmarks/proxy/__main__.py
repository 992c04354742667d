"""The adapter between a client and a scripted upstream: ``python -m benchmarks.proxy``.

Everything is a ratio to other work of the same run: to the same request sent to the upstream
directly, and to LiteLLM's proxy, in an environment of its own, in front of the same upstream.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import Unavailable, default_cache
from benchmarks.proxy import measures, servers
from benchmarks.proxy.servers import LITELLM

Row = dict[str, Any]


def _row(what: str, value: float, bar: str, holds: bool, note: str = "") -> Row:
    return {"what": what, "value": round(value, 3), "bar": bar, "holds": holds, "note": note}


def alone(up: servers.Server, ours: servers.Server, given: argparse.Namespace) -> list[Row]:
    """The adapter against its upstream."""
    rounds = 30 if given.quick else 300
    took = measures.latency(up, ours, rounds)
    total = took["adapter"] / took["direct"]
    note = f"direct {took['direct'] * 1000:.2f} ms"
    rows = [_row("request, of the direct one", total, "<= 2.5", total <= 2.5, note)]
    took = measures.chunk(up, ours, 3 if given.quick else 15)
    added = took["adapter"] / took["direct"] - 1
    note = f"direct {took['direct'] * 1_000_000:.0f} us"
    rows.append(_row("added to a streamed piece", added, "<= 1.0", added <= 1.0, note))
    told = measures.streams(ours, 50 if given.quick else 500)
    well = told["complete"] == told["streams"] and not told["crossed"]
    note = f"of {told['streams']}; {told['crossed']} crossed"
    rows.append(_row("streams at once that are complete", told["complete"], "all", well, note))
    last = 300 if given.quick else given.requests
    first = last // 10
    held = measures.memory(ours, first, last)
    grown = held["last"] / held["first"]
    note = f"{held['first'] / 1e6:.0f} MB after {first:,}, {held['last'] / 1e6:.0f} after {last:,}"
    rows.append(_row("resident memory", grown, "<= 1.15", grown <= 1.15, note))
    return rows


def beside(up: servers.Server, ours: servers.Server, folder: Path, cache: Path) -> Row:
    """The adapter beside LiteLLM's proxy: requests for a call, eight at once."""
    what = "requests per second, of LiteLLM's"
    try:
        with servers.litellm(folder, up, cache) as theirs:
            measures.busy(theirs, 20)
            found = [(measures.busy(theirs, 100), measures.busy(ours, 400)) for _ in range(3)]
    except (Unavailable, servers.NotStarted) as error:
        return _row(what, 0, ">= 3", False, f"not measured: {error}")
    other, own = sorted(found, key=lambda pair: pair[1]["per_second"] / pair[0]["per_second"])[1]
    ratio = own["per_second"] / other["per_second"]
    note = (
        f"{own['per_second']:.0f} and {other['per_second']:.0f}; came as a call:"
        f" {own['read']:.0%} and {other['read']:.0%}"
    )
    return _row(what, ratio, ">= 3", ratio >= 3, note)


def page(rows: list[Row], command: str) -> str:
    """The results as they stand in ``results/proxy.md``."""
    versions = f"httpx {version('httpx')}, uvicorn {version('uvicorn')}"
    lines = [
        "# The adapter",
        "",
        f"`{command}`, Python {platform.python_version()}, {versions}, {LITELLM.packages[0]}.",
        "",
        "The client, the adapter and the scripted upstream are a process each, on one machine.",
        "Ratios are of one run; absolute times belong to the machine. ToolBridge is published",
        "neither on npm nor on PyPI, so it is not measured.",
        "",
        "A streamed piece is one of the upstream's. Pieces that have come together leave as one,",
        "so the client reads fewer of them than it would directly.",
        "",
        "| what | measured | bar | holds | |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        holds = "yes" if row["holds"] else "**no**"
        lines.append(
            f"| {row['what']} | {row['value']:g} | {row['bar']} | {holds} | {row['note']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--quick", action="store_true", help="fewer of everything")
    reader.add_argument(
        "--requests", type=int, default=10_000, help="after which memory is compared (and a tenth)"
    )
    reader.add_argument("--alone", action="store_true", help="without LiteLLM")
    reader.add_argument("--json", action="store_true")
    reader.add_argument("--cache", type=Path, default=default_cache(), help="for environments")
    reader.add_argument("--write", type=Path, help="file for the page of results")
    given = reader.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with servers.upstream(folder) as up, servers.fallback(folder, up) as ours:
            rows = alone(up, ours, given)
            if not given.alone:
                rows.append(beside(up, ours, folder, given.cache))
    command = "python -m benchmarks.proxy" + (" --quick" if given.quick else "")
    command += f" --requests {given.requests}" if given.requests != 10_000 else ""
    told = page(rows, command)
    if given.write:
        given.write.write_text(told, encoding="utf-8")
    print(json.dumps(rows) if given.json else told, end="\n" if given.json else "")
    raise SystemExit(not all(row["holds"] for row in rows))


if __name__ == "__main__":
    main()
