"""``canitoolcall probe``, whose judgement is not ours, against ``fallback serve``.

::

    python -m benchmarks.clients.probe

The scripted model answers its questions in their order, each once whole and once streamed, so
what is judged is the adapter: shapes, ids, indexes, markers that leak, and whether a stream says
the same as a whole answer. Writes ``benchmarks/results/probe.md``; exit code 1 when something
fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.clients.environments import install, own_environ, versions
from benchmarks.clients.servers import running

__all__ = ["probe"]

PACKAGES = ("canitoolcall",)
RESULTS = Path(__file__).resolve().parents[1] / "results/probe.md"
_EVENT = {
    "title": "Design review",
    "start": "2026-10-01T15:00:00Z",
    "attendees": [
        {"name": "Ana", "email": "ana@example.com"},
        {"name": "Bo", "email": "bo@example.com"},
    ],
    "location": {"city": "Berlin", "room": "4.12"},
}
_NOTE = {"title": "Grüße aus Zürich", "body": "Café ☕ in 東京 — naïve résumé 🚀"}


def _call(name: str, **arguments: Any) -> str:
    written = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"```tool_call\n{written}\n```"


_PARIS = _call("get_weather", city="Paris")
_ANSWERS: tuple[tuple[Any, ...], ...] = (  # of each question; several where one is corrected unseen
    (_PARIS,),
    (f"{_PARIS}\n{_call('get_weather', city='Tokyo')}",),
    ("42",),
    (_call("create_event", **_EVENT),),
    (_call("save_note", **_NOTE),),
    (_call("get_server_time"),),
    ("Lisbon is old.", _call("get_weather", city="Lisbon")),
    ("It is clear, 18 degrees.",),
    ({"thinking": "9.9 is 9.90.", "text": _call("record_answer", answer="9.9")},),
)


def probe(folder: Path) -> tuple[bool, str]:
    """Whether everything passed, and what the probe prints.

    Raises:
        RuntimeError: it could not be installed, or our servers did not start.
    """
    environment = install("canitoolcall", "python", PACKAGES)
    replies = [reply for answers in _ANSWERS for reply in (*answers, *answers)]
    script = {"probed": {"replies": replies, "capabilities": ["completion", "thinking"]}}
    with running(script, folder) as pair:
        ended = subprocess.run(
            [
                str(environment / "venv/bin/canitoolcall"),
                *("probe", "--base-url", f"{pair.url}/v1", "--model", "probed"),
                *("--concurrency", "1"),
            ],
            env=own_environ(folder),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    told = (ended.stdout or ended.stderr).replace(f"{pair.url}/v1", "fallback serve")
    (version,) = versions(environment, "python", PACKAGES).values()
    return ended.returncode == 0, f"canitoolcall {version}\n\n{told.strip()}"


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="probe-") as made:
        passed, told = probe(Path(made))
    print(told)
    head = (
        "# What another probe says\n\n"
        "Written by `python -m benchmarks.clients.probe`; do not edit. The model is scripted:\n"
        "what is judged is the adapter.\n"
    )
    RESULTS.write_text(f"{head}\n```text\n{told}\n```\n", encoding="utf-8")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
