"""Run the clients and write the table: ``python -m benchmarks.clients [NAME ...]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.clients.client import Client
from benchmarks.clients.environments import install, versions
from benchmarks.clients.gate import run_gate
from benchmarks.clients.registry import CLIENTS
from benchmarks.clients.row import Use, run_row
from benchmarks.clients.scenarios import SCENARIOS, Scenario
from benchmarks.clients.table import page

Cases = dict[str, list[dict[str, str]]]
ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results/clients.json"
PAGE = ROOT / "docs/clients.md"


def main(arguments: list[str]) -> int:
    """Exit code 1 when a case fails or a client cannot be installed."""
    known = {client.name: client for client in CLIENTS}
    reader = argparse.ArgumentParser(prog="clients", description=__doc__)
    reader.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    reader.add_argument("--resume", action="store_true", help="leave out what has passed")
    reader.add_argument("--gate", action="store_true", help="a part of all, which nothing keeps")
    given = reader.parse_args(arguments)
    if given.gate:
        return run_gate()
    names = given.names or list(known)
    if unknown := set(names) - set(known):
        reader.error(f"no such client: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    failed = 0
    for name in names:
        try:
            failed += run_client(known[name], resume=given.resume)
        except RuntimeError as failure:
            print(f"{name}: not run: {failure}", file=sys.stderr)
            failed += 1
    return min(failed, 1)


def run_client(client: Client, *, resume: bool) -> int:
    """All variants of one client through all scenarios, each kept when it has ended; the failures.

    Raises:
        RuntimeError: it could not be installed, or our servers did not start.
    """
    folder = install(client.name, client.kind, client.packages)
    found = versions(folder, client.kind, client.packages)
    company = _company(client)
    failed = 0
    for variant in client.variants:
        before = _run_before(client.name, variant, found) if resume else {}
        wanted = [scenario for scenario in SCENARIOS if not has_passed(scenario, before)]
        cases = run_row(Use(client, variant, folder), wanted, company)
        failed += sum(case["verdict"] == "fail" for kept in cases.values() for case in kept)
        _keep(client, variant, found, merged(before, cases))
    return failed


def _company(client: Client) -> Use | None:
    if client.company is None:
        return None
    name, variant = client.company
    (other,) = [known for known in CLIENTS if known.name == name]
    return Use(other, variant, install(other.name, other.kind, other.packages))


def _kept() -> dict[str, Any]:
    if not RESULTS.is_file():
        return {}
    kept: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return kept


def _run_before(name: str, variant: str, found: Mapping[str, str]) -> Cases:
    """What has been put to a variant of these very versions."""
    kept = _kept().get(name)
    if kept is None or kept["versions"] != found:
        return {}
    return dict(kept["variants"].get(variant, {}))


def has_passed(scenario: Scenario, before: Cases) -> bool:
    """Whether a case need not be put again."""
    verdicts = [c["verdict"] for c in before.get(scenario.id, ()) if c["model"] == scenario.model]
    return "pass" in verdicts


def merged(before: Cases, cases: Cases) -> Cases:
    """Both, in the order of the scenarios; a case that has been put again counts as it is now."""
    found = {
        (name, case["model"]): case
        for kept in (before, cases)
        for name, told in kept.items()
        for case in told
    }
    merged: Cases = {}
    for scenario in SCENARIOS:
        if case := found.get((scenario.id, scenario.model)):
            merged.setdefault(scenario.id, []).append(case)
    return merged


def _keep(client: Client, variant: str, found: Mapping[str, str], cases: Cases) -> None:
    """Put one variant's results beside those of the others, and write the page."""
    everything = _kept()
    mine = everything.get(client.name)
    if not mine or mine["versions"] != found:  # rows of another version are not results of this one
        mine = {"versions": found, "variants": {}}
    variants = {**mine["variants"], variant: cases}
    mine["variants"] = {name: variants[name] for name in client.variants if name in variants}
    everything[client.name] = mine
    known = [known.name for known in CLIENTS]
    everything = {name: everything[name] for name in known if name in everything}
    RESULTS.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(written(everything), encoding="utf-8")


def written(kept: Mapping[str, Any]) -> str:
    """The page of what has been kept."""
    remarks = {client.name: client.remark for client in CLIENTS if client.name in kept}
    return page(kept, not_run(kept), remarks)


def not_run(kept: Mapping[str, Any]) -> list[str]:
    """The clients, or of a client the variants, that have no result."""
    return [
        f"{client.name} {variant}".strip()
        for client in CLIENTS
        for variant in client.variants
        if variant not in kept.get(client.name, {"variants": ()})["variants"]
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
