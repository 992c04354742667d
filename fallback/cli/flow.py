"""``fallback flow``: the steps of a file, one turn each, and the record of the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from fallback.backend import Backend
from fallback.cli.exits import ExitCode
from fallback.cli.inputs import InputError, context_values, read_text
from fallback.cli.output import console, only_json, write_json
from fallback.cli.run import RunOptions, check_values, counted, default_model, mcp_tools, session_of
from fallback.cli.timeline import Overheard, Timeline
from fallback.execution.content import to_text
from fallback.flow import FlowRun
from fallback.flow.file import FlowFile, load_flow
from fallback.hosts import connect, resolve_host
from fallback.toolfile import load_catalogue

OnStep = Callable[[FlowRun], object]


def run_flow(
    file: Path,
    options: RunOptions,
    *,
    inputs: tuple[str, ...] = (),
    record: Path | None = None,
    again: bool = False,
) -> ExitCode:
    """Run the steps that are not done yet; the exit code tells how far that went."""
    told = load_flow(file)
    options = replace(
        options, tools=(*told.tools, *options.tools), model=options.model or told.model
    )
    before = _earlier(record)
    given: dict[str, Any] = context_values(inputs, "--input")
    if before is None:
        given = {**told.inputs, **given}
    run = _Runner(told, options, given, before, record, again)
    if options.as_json:
        with only_json() as out:
            ended = run(None)
            write_json(ended.to_json(), out)
    else:
        timeline = Timeline(console())
        try:
            ended = run(timeline)
            _conclude(timeline, ended, file, record)
        finally:
            timeline.finish()
    if ended.waiting:
        return ExitCode.WAITING
    return ExitCode.OK if ended.done else ExitCode.NOT_ANSWERED


class _Runner:
    def __init__(
        self,
        told: FlowFile,
        options: RunOptions,
        inputs: dict[str, Any],
        before: FlowRun | None,
        record: Path | None,
        again: bool,
    ) -> None:
        self._told, self._options, self._inputs = told, options, inputs
        self._before, self._record, self._again = before, record, again

    def __call__(self, timeline: Timeline | None) -> FlowRun:
        options, told = self._options, self._told
        catalogue = load_catalogue(options.tools, limits=options.limits)
        check_values(catalogue, options.authority.injected)
        address = resolve_host(options.host)
        server = connect(address.url, endpoint=options.endpoint, limits=options.limits)
        with ExitStack() as stack:
            stack.enter_context(closing(server))
            model = options.model or default_model(address, server)
            backend: Backend = server
            outside = mcp_tools(options, stack, timeline)
            if timeline is not None:
                steps = counted(len(told.flow.steps), "step")
                timeline.headline(model, server.where, steps)
                backend = Overheard(backend, timeline)
            session = session_of(
                options,
                model,
                catalogue,
                backend,
                options.ledger,
                instructions=told.instructions,
                on_event=timeline.watch if timeline else None,
                mcp=outside or (),
            )
            with session:
                return told.flow.run(
                    session,
                    inputs=self._inputs,
                    record=self._before,
                    again=self._again,
                    on_step=self._heard(timeline),
                )

    def _heard(self, timeline: Timeline | None) -> OnStep:
        def heard(run: FlowRun) -> None:
            if self._record is not None:
                _keep(self._record, run)
            step = run.steps[-1]
            if timeline is not None and step.status != "begun":
                value = to_text(step.value) if step.status == "done" else step.detail
                timeline.remark(step.status, f"{step.name}: {value}")

        return heard


def _earlier(record: Path | None) -> FlowRun | None:
    """The run that a record tells of; ``None`` where there is no record yet."""
    if record is None or not record.exists():
        return None
    try:
        stored = json.loads(read_text(str(record)))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{record}: {error}") from error
    return FlowRun.from_json(stored)


def _keep(record: Path, run: FlowRun) -> None:
    """Write the record beside its place and move it there, so that it is never half a one."""
    text = json.dumps(run.to_json(), ensure_ascii=False, indent=2) + "\n"
    beside = record.with_name(record.name + ".new")
    try:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")
        beside.replace(record)
    except OSError as error:
        raise InputError(f"{record}: {error.strerror or error}") from error


def _conclude(timeline: Timeline, run: FlowRun, file: Path, record: Path | None) -> None:
    if run.done:
        timeline.remark("flow", to_text(run.value))
        return
    last = run.steps[-1]
    timeline.remark("flow", f"{last.status} at {last.name!r}, step {len(run.steps)} of {run.total}")
    if run.waiting and record is not None:
        timeline.remark("next", f"approve it, then fallback flow {file} --record {record}")
