"""A folder of results in which everything that somebody else wrote is hostile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from compare_kit import MAIL, WEATHER, case_of, fenced, host_of, run

from fallback.backend import GenerationRequest
from fallback.compare.store import open_store

MARKUP = (
    '<script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">'
    "</script><!--<script>{{ 7 * 7 }}</pre></details>\u2028\ud800\x00\x1b[31m"
)
FORMULA = "=HYPERLINK(1)"


def hostile_folder(folder: Path) -> Path:
    """Two ways of one model on eight cases; some right, most wrong, all of it hostile."""
    cases = [
        case_of(
            id=f"c{number} {MARKUP}",
            kind=MARKUP,
            question=f"Question {number}? {MARKUP}",
            tools=[WEATHER | {"description": MARKUP}, MAIL],
            instructions=MARKUP,
            results=[{"name": "get_weather", "content": MARKUP}],
            answer={"has": [MARKUP]},
        )
        for number in range(8)
    ]

    def rule(request: GenerationRequest) -> Any:
        asked = " ".join(message.content for message in request.messages)
        if request.mode == "native":
            return f"{FORMULA} {MARKUP}"
        if "Question 1" in asked and "tool_result" not in asked:
            return f"Well. {MARKUP}\n\n{fenced('get_weather', city='Oslo')}"
        if "Question 2" in asked:
            return fenced("get_weather", city=MARKUP[:60])
        return f"<think>{MARKUP}</think>{FORMULA} {MARKUP}"

    with open_store(folder) as store:
        run(store, cases, [host_of(rule)], models=[f"m {MARKUP}"])
    return folder
