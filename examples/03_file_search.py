"""Lesson 3: searching files, inside one folder and nowhere else.

The tool decides what it may touch; a prompt that asks the model to behave is no fence. Results are
capped, and a model that asks too broadly is told so.
"""

import tempfile
from pathlib import Path
from typing import Any

from fallback import Session, tool
from fallback.errors import ToolRetry
from fallback.testing import ScriptedBackend

FOLDER = tempfile.TemporaryDirectory(prefix="lesson-")
ROOT = Path(FOLDER.name)
(ROOT / "notes").mkdir()
(ROOT / "notes" / "trip.md").write_text("Pack the tent.\nBuy maps of Norway.\n", encoding="utf-8")
(ROOT / "todo.txt").write_text("Call the dentist.\nCancel Norway flight?\n", encoding="utf-8")


@tool
def search_files(text: str, pattern: str = "**/*") -> list[dict[str, Any]]:
    """Find lines that contain a text, in the user's notes.

    Args:
        text: what to look for; upper and lower case are the same.
        pattern: which files to look into, such as "**/*.md".
    """
    if not text.strip():
        raise ToolRetry("say what to look for")
    if ".." in Path(pattern).parts or Path(pattern).is_absolute():
        raise ToolRetry("the pattern must stay inside the notes")
    found = []
    for path in sorted(ROOT.glob(pattern)):
        if path.is_file() and path.resolve().is_relative_to(ROOT.resolve()):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                if text.casefold() in line.casefold():
                    found.append({"file": str(path.relative_to(ROOT)), "line": number, "is": line})
    return found[:50]


def call(arguments: str) -> str:
    return '```tool_call\n{"name": "search_files", "arguments": ' + arguments + "}\n```"


model = ScriptedBackend(
    [
        call('{"text": "norway", "pattern": "../../**/*"}'),
        call('{"text": "norway"}'),
        "Norway is mentioned twice: buy maps (notes/trip.md) and the flight (todo.txt).",
    ]
)
turn = Session("any", tools=[search_files], backend=model).run("Where do I mention Norway?")

outside, inside = turn.steps[0].results[0], turn.steps[1].results[0]
assert outside.status == "retry"
assert inside.value == [
    {"file": "notes/trip.md", "line": 2, "is": "Buy maps of Norway."},
    {"file": "todo.txt", "line": 2, "is": "Cancel Norway flight?"},
]
assert "notes/trip.md" in turn.answer
print(turn.answer)
FOLDER.cleanup()
