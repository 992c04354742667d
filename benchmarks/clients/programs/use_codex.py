"""Codex in its exec mode, with a provider of its own and with ``--oss``."""

from __future__ import annotations

from command import program, run, serve
from conversation import IMPATIENCE, URL, VARIANT, task

_PROVIDER = {
    "name": '"adapter"',
    "base_url": f'"{URL}/v1"',
    "wire_api": '"responses"',
    "request_max_retries": "1",
    "stream_max_retries": "1",
}


def answer(model: str, prompt: str) -> str:
    common = ["exec", "--json", "--skip-git-repo-check"]
    # The commands are ours, and a sandbox inside a container often cannot be set up.
    common.append("--dangerously-bypass-approvals-and-sandbox")
    if VARIANT == "oss":
        chosen = ["--oss", "--local-provider", "ollama"]
    else:
        chosen = ["-c", 'model_provider="adapter"']
        patience = {"stream_idle_timeout_ms": f"{IMPATIENCE * 1000:.0f}"}
        provider = _PROVIDER | (patience if task() == "impatient" else {})
        for key, value in provider.items():
            chosen += ["-c", f"model_providers.adapter.{key}={value}"]
    command = [program("codex"), *common, *chosen, "-m", model, prompt]
    lines = run(command, CODEX_OSS_BASE_URL=f"{URL}/v1")
    if failed := [line for line in lines if line["type"] in ("turn.failed",)]:
        raise RuntimeError(str(failed[-1]["error"]))
    items = [line["item"] for line in lines if line["type"] == "item.completed"]
    return "\n".join(item["text"] for item in items if item["type"] == "agent_message")


if __name__ == "__main__":
    serve(answer)
