"""The peers: what each is, how it is installed, and which setting of it is run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import BFCL, Environment, Unavailable, prepared, python_of

ADAPTERS = Path(__file__).with_name("adapters")
_SECONDS = 300
"""For one set. Some peers need exponential time on some replies; the rest counts as not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A row of the table.

    Attributes:
        name: as shown.
        adapter: file in ``adapters``.
        environment: where it lives; ``None`` is the interpreter that runs this.
        setting: what was chosen where the peer leaves a choice.
        arguments: for the adapter.
        only: the sets it is run on, if not on all.
    """

    name: str
    adapter: str
    environment: Environment | None
    setting: str
    arguments: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        if self.environment is None:
            from importlib.metadata import version

            return version("toolcall-fallback")
        pinned = [*self.environment.bare, *self.environment.packages, *self.environment.npm]
        return pinned[0].replace("==", "@").rpartition("@")[2]

    def command(self, cache: Path) -> tuple[list[str], Path | None]:
        """How the adapter is started, and in which folder."""
        adapter = str(ADAPTERS / self.adapter)
        if self.environment is None:
            return [sys.executable, adapter, *self.arguments], None
        folder = prepared(self.environment, cache)
        if self.environment.npm:
            node = shutil.which("node")
            if node is None:
                raise Unavailable("node is not installed")
            return [node, adapter, *self.arguments], folder
        return [str(python_of(folder)), "-W", "ignore", adapter, *self.arguments], None


def _pypi(name: str, version: str, *more: str) -> Environment:
    return Environment(name=name, packages=(f"{name}=={version}", *more))


_AI_SDK = Environment(name="ai-sdk-tool-parser", npm=("@ai-sdk-tool/parser@4.1.26",))
_SGLANG = Environment(
    name="llm-router-utils",
    bare=("llm-router-utils==0.8.1",),
    packages=(
        "openai==2.6.1",
        "orjson==3.13.0",
        "partial-json-parser==0.2.1.1.post7",
        "transformers==5.19.0",
    ),
)
_QWEN = _pypi(
    "qwen-agent",
    "0.0.34",
    # What its modules import and it does not declare.
    "numpy==2.4.6",
    "python-dateutil==4.0.0",
    "soundfile==0.14.0",
    "tqdm==4.70.1",
)

OURS = Peer(
    name="fallback", adapter="read_fallback.py", environment=None, setting="`parse()`, defaults"
)
PEERS: tuple[Peer, ...] = (
    OURS,
    Peer(
        name="SGLang, detector of the format",
        adapter="read_sglang.py",
        environment=_SGLANG,
        setting="from `llm-router-utils`; told which format and reasoning parser each reply needs",
        arguments=("format",),
        only=("canitoolcall",),
    ),
    Peer(
        name="SGLang, any detector",
        adapter="read_sglang.py",
        environment=_SGLANG,
        setting="from `llm-router-utils`; all detectors in turn, the first that finds calls",
        arguments=("any",),
    ),
    Peer(
        name="@ai-sdk-tool/parser, hermes",
        adapter="read_ai_sdk.mjs",
        environment=_AI_SDK,
        setting="`hermesProtocol`, its protocol for JSON",
        arguments=("hermes",),
    ),
    Peer(
        name="@ai-sdk-tool/parser, any",
        adapter="read_ai_sdk.mjs",
        environment=_AI_SDK,
        setting="its four protocols in turn, the first that finds calls",
        arguments=("any",),
    ),
    Peer(
        name="unswallow",
        adapter="read_unswallow.py",
        environment=_pypi("unswallow", "0.2.0"),
        setting="`check_message` with the schemas, any confidence",
    ),
    Peer(
        name="toolpatch",
        adapter="read_toolpatch.py",
        environment=_pypi("toolpatch", "0.5.0"),
        setting="`extract_tool_calls` with the names, last tag may be open",
    ),
    Peer(
        name="tools4all",
        adapter="read_tools4all.py",
        environment=_pypi("tools4all", "0.2.4"),
        setting="`LLMResponseParser.parse`",
    ),
    Peer(
        name="json-repair",
        adapter="read_json_repair.py",
        environment=_pypi("json-repair", "0.64.6"),
        setting="the whole reply; objects with a name and arguments are calls",
    ),
    Peer(
        name="smolagents",
        adapter="read_smolagents.py",
        environment=_pypi("smolagents", "1.26.0"),
        setting="`get_tool_call_from_text`",
    ),
    Peer(
        name="Qwen-Agent, nous",
        adapter="read_qwen_agent.py",
        environment=_QWEN,
        setting="`NousFnCallPrompt.postprocess_fncall_messages`; told of an open reasoning",
    ),
    Peer(
        name="BFCL's decoder",
        adapter="read_bfcl.py",
        environment=BFCL,
        setting="`default_decode_ast_prompting`, Python and then JSON",
    ),
)


def readings(
    peer: Peer, requests: Iterable[dict[str, Any]], cache: Path
) -> dict[str, dict[str, Any]]:
    """What the peer answers, by id; a reply without an answer has none.

    Raises:
        Unavailable: the peer cannot be installed, or its adapter does not start.
    """
    command, folder = peer.command(cache)
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input=lines,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        # What was written so far are bytes, whatever was asked for.
        text = (late.stdout or b"").decode("utf-8", "replace")
        return _answers(text.rpartition("\n")[0])
    if done.returncode and not done.stdout:
        raise Unavailable((done.stderr.strip().splitlines() or ["it ended without a word"])[-1])
    return _answers(done.stdout)


def _answers(text: str) -> dict[str, dict[str, Any]]:
    answers = (json.loads(line) for line in text.splitlines())
    return {answer["id"]: answer for answer in answers}
