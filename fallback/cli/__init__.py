"""The command ``fallback``. Everything is imported when a command needs it, so ``--help`` is quick.

A command returns its exit code and raises what went wrong; :func:`main` is the one place where an
exception becomes a line on standard error and a code, see :mod:`fallback.cli.exits`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code and never raises.

    Args:
        argv: the arguments without the program's name; those of the process by default.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    debug, arguments = _without_debug(given)
    from fallback.cli.output import prepare_streams

    prepare_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # the outermost frame, where all is reported
        return _report(error, debug=debug)
    return code


def _without_debug(arguments: list[str]) -> tuple[bool, list[str]]:
    """``--debug`` may stand anywhere before a ``--``; what stands after is not ours to read."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    rest = [a for a in arguments[:end] if a != "--debug"] + arguments[end:]
    return len(rest) < len(arguments), rest


def _run(arguments: list[str]) -> int:
    from typer import Exit
    from typer.main import get_command

    from fallback.cli.app import app

    if "_FALLBACK_COMPLETE" in os.environ:  # the shell asks for completions
        app(arguments, prog_name="fallback")
    command = get_command(app)
    try:
        with command.make_context("fallback", arguments) as context:
            return int(command.invoke(context) or 0)
    except Exit as end:  # after --help and --version
        return end.exit_code


def _report(error: BaseException, *, debug: bool) -> int:
    from fallback.cli.exits import ExitCode, exit_code_of
    from fallback.cli.output import complain, forget_stdout

    if debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    if (usage := _usage_line(error)) is not None:
        complain(usage)
        return ExitCode.USAGE
    code = exit_code_of(error)
    if code is ExitCode.PIPE_CLOSED:
        forget_stdout()
    elif code is ExitCode.INTERRUPTED:
        complain("interrupted")
    elif code is ExitCode.INTERNAL:
        complain(f"this is a bug: {type(error).__name__}: {error} (--debug shows where)")
    else:
        complain(error)
    return code


def _usage_line(error: BaseException) -> str | None:
    """The line for a mistake on the command line, with the command whose help would tell more."""
    from typer import TyperException

    if not isinstance(error, TyperException):
        return None
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "fallback"
    return f"{error.format_message().rstrip('.')}. Try '{path} --help'."
