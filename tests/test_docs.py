"""What the documents show is run, and what they claim about the project is compared with it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from proxy_servers import pair

from fallback.cli.exits import MEANING
from fallback.testing.scripted_server import Model, Reply

ROOT = Path(__file__).resolve().parent.parent
PAGES = tuple(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))
DOCUMENTS = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
    *PAGES,
)

# Commands that a document may show without this test running them, and why.
SHOWN_ONLY = {
    "./scripts/": "they set up a whole environment; CI runs them themselves",
    ".ci/": "the same",
    "fallback run": "needs a model; test_end_to_end runs what the demo shows",
    "fallback examples": "needs a model; test_engine_scoring runs it",
    "fallback flow": "needs a model; test_flow_file runs it",
    "fallback models": "downloads",
    "fallback engine": "runs until it is stopped",
    "fallback doctor": "says what is on this machine",
    "fallback mcp": "runs until its client has gone; test_mcp_service runs it",
    "fallback serve": "runs until it is stopped; test_proxy_process runs it",
    "curl": "test_a_request_of_a_document_is_answered puts it to a server",
    "docker": "is another program",
    "pip install": "changes the environment",
    "git clone": "needs the network",
    "ollama": "is another program",
    "python benchmarks/": "needs a model and minutes",
}


@dataclass(frozen=True)
class Block:
    document: str
    line: int
    language: str
    body: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(*languages: str) -> list[Block]:
    found = []
    for document in DOCUMENTS:
        text = (ROOT / document).read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            if match[1] in languages:
                found.append(Block(document, line, match[1], match[2]))
    return found


def environment() -> dict[str, str]:
    """Offline: nothing answers at the address of the model server."""
    programs = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "OLLAMA_HOST": "127.0.0.1:9",
        "PATH": os.pathsep.join([programs, os.environ.get("PATH", "")]),
        "PYTHONWARNINGS": "error",
    }


def test_the_readme_has_something_to_run() -> None:
    documents = {block.document for block in blocks("python")}
    assert "README.md" in documents
    assert any("assert " in block.body for block in blocks("python"))


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_a_python_block_runs(block: Block, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block.body, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def commands(block: Block) -> list[tuple[str, str]]:
    """Each ``$ command`` of a block, with the output that the document shows for it."""
    parts = re.split(r"^\$ ", block.body, flags=re.MULTILINE)
    assert not parts[0].strip(), f"{block}: a console block begins with a command"
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts[1:])]


CONSOLE = [(b, c, shown) for b in blocks("console") for c, shown in commands(b)]


@pytest.mark.parametrize(("block", "command", "shown"), CONSOLE, ids=lambda v: str(v)[:40])
def test_a_command_prints_what_the_document_shows(block: Block, command: str, shown: str) -> None:
    if command.startswith(tuple(SHOWN_ONLY)):
        return
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.stdout + done.stderr == shown


def test_every_shell_block_is_one_that_is_run_or_excused() -> None:
    for block in blocks("bash", "sh", "shell"):
        for line in filter(None, map(str.strip, block.body.splitlines())):
            assert line.startswith((*SHOWN_ONLY, "#")), f"{block}: {line}"


SHOWN_AT = "http://127.0.0.1:11435"
CALLS = [Reply(text='```tool_call\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```')]
REQUESTS = [
    (block, line.strip())
    for block in blocks("bash", "sh", "shell")
    for line in block.body.splitlines()
    if line.startswith("curl ")
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with pair({"gemma3": Model(replies=CALLS)}) as running:
        yield running.url


@pytest.mark.parametrize(("block", "command"), REQUESTS, ids=lambda v: str(v)[:60])
def test_a_request_of_a_document_is_answered(server: str, block: Block, command: str) -> None:
    program, *arguments = shlex.split(command)
    arguments = [argument.replace(SHOWN_AT, server) for argument in arguments]
    assert any(server in argument for argument in arguments), f"{block}: not to our server"
    told = subprocess.run(
        [program, "--silent", "--show-error", "--fail-with-body", "--noproxy", "*", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.returncode == 0, told.stderr + told.stdout
    if "tools" in command:
        assert '"arguments": {"a": 1, "b": 2}' in told.stdout
    else:
        assert told.stdout


def test_the_readme_and_the_page_of_the_server_show_requests() -> None:
    assert {block.document for block, _ in REQUESTS} >= {"README.md", "docs/serve.md"}


def test_the_table_of_exit_codes_is_that_of_the_code() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+?) \|$", text, re.MULTILINE)
    assert rows == [(str(int(code)), sentence) for code, sentence in MEANING.items()]


LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_link_to_a_file_leads_somewhere(document: str) -> None:
    path = ROOT / document
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_every_module_and_folder_named_in_the_architecture_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:fallback|tests|templates|grammars|scripts)/[\w./]*)`", text))
    assert len(named) > 5
    for name in named:
        assert (ROOT / name).exists(), name
