"""One row of the table: a client used in one way, and every case put to it."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clients.case import Program, judge
from benchmarks.clients.client import Client
from benchmarks.clients.environments import own_environ
from benchmarks.clients.judges import DoesNotApply
from benchmarks.clients.scenarios import SCENARIOS, Scenario
from benchmarks.clients.scripts import Tool, script
from benchmarks.clients.servers import Pair, running

__all__ = ["PROGRAMS", "Use", "absent", "run_row", "through_tap"]

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class Use:
    """One way of using a client, whose environment is in ``folder``."""

    client: Client
    variant: str
    folder: Path

    @property
    def tool(self) -> Tool:
        """What it offers."""
        return self.client.tool_of(self.variant)

    @property
    def command(self) -> list[str]:
        """How its program is started."""
        program = PROGRAMS / self.client.program
        if program.suffix == ".mjs":
            return ["node", str(program), self.variant]
        inside = self.folder / "venv/bin/python"
        python = inside if self.client.kind == "python" else sys.executable
        return [str(python), str(program), self.variant]


def run_row(
    use: Use, scenarios: Iterable[Scenario] = SCENARIOS, company: Use | None = None
) -> dict[str, list[dict[str, str]]]:
    """Put the cases to one way of using a client.

    Args:
        use: the client.
        scenarios: the cases.
        company: who is asked at the same time where two are; without one it is the same client.

    Raises:
        RuntimeError: our servers did not start.
    """
    # New servers each time: what the adapter has learned of a model would change the next run.
    with (
        tempfile.TemporaryDirectory(prefix="clients-") as made,
        running(
            script(use.tool, f"{made}/home/work", company and company.tool), Path(made)
        ) as pair,
    ):
        return _put(use, company or use, pair, Path(made), scenarios)


def _put(
    use: Use, company: Use, pair: Pair, place: Path, scenarios: Iterable[Scenario]
) -> dict[str, list[dict[str, str]]]:
    client, variant = use.client, use.variant
    cases: dict[str, list[dict[str, str]]] = {}
    with contextlib.ExitStack() as stack:
        made = {}
        for name, url, who in (
            ("home", pair.url, use),
            ("tapped", pair.tapped, use),
            ("other", pair.url, company),
        ):
            home = place / name
            home.mkdir()
            environ = own_environ(home) | {"ADAPTER_URL": url, "CLIENT_FOLDER": str(who.folder)}
            made[name] = Program(who.command, environ, home)
            stack.callback(made[name].end)
        for scenario in scenarios:
            if _is_besides(client, scenario):
                continue
            verdict, note = absent(client, variant, scenario) or _verdict(
                client,
                scenario,
                judge(
                    made["tapped" if through_tap(scenario) else "home"],
                    pair,
                    scenario,
                    made["other"],
                ),
            )
            row = f"{client.name} {variant}".strip()
            print(f"{row:28} {scenario.id:4} {scenario.model:8} {verdict} {note}", flush=True)
            case = {"model": scenario.model, "verdict": verdict, "note": note}
            cases.setdefault(scenario.id, []).append(case)
    return cases


def _is_besides(client: Client, scenario: Scenario) -> bool:
    """Whether another case of the same scenario is the one for this client."""
    return scenario.task == "discover" and scenario.task not in client.tasks


def through_tap(scenario: Scenario) -> bool:
    """Whether it looks at what the client asks for."""
    return scenario.how in ("tapped", "odd")


def absent(client: Client, variant: str, scenario: Scenario) -> tuple[str, str] | None:
    """Verdict and reason of a case that is not put."""
    if reason := client.skip(variant, scenario):
        return "skip", reason
    if scenario.task and scenario.task not in client.tasks:
        return "absent", f"its program has not learned the task {scenario.task!r}"
    if scenario.needs and getattr(client.tool_of(variant), scenario.needs) is None:
        lacks = _LACKS.get(scenario.needs)
        return ("skip", lacks) if lacks else ("absent", f"nothing is registered: {scenario.needs}")
    return None


_LACKS = {
    "revealed": "it tells all its tools at once",
    "spaced": "none of its tools stands in a namespace",
}
"""What says nothing about a client that lacks it, since no client can be made to have it."""


def _verdict(client: Client, scenario: Scenario, wrong: str | None) -> tuple[str, str]:
    if isinstance(wrong, DoesNotApply):
        return "skip", wrong
    cause = client.causes.get(scenario.model) or client.causes.get(scenario.id)
    if wrong and cause:
        return "fail", f"{cause}: {wrong}"
    return ("fail", wrong) if wrong else ("pass", "")
