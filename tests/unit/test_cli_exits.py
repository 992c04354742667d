from __future__ import annotations

import inspect

import pytest

from fallback import errors
from fallback.cli.exits import MEANING, ExitCode, exit_code_of
from fallback.cli.inputs import InputError


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ToolFileError("x"), 3),
        (errors.InvalidToolError("x"), 2),
        (InputError("x"), 3),
        (errors.BackendConnectionError("x"), 4),
        (errors.ModelNotFoundError("x", status=404), 5),
        (errors.CapabilityError("x", status=400, missing="completion"), 6),
        (errors.ContextWindowError("x", status=400, prompt_tokens=9, num_ctx=8), 7),
        (errors.EngineError("x"), 8),
        (errors.LedgerError("x"), 11),
        (errors.BackendTimeoutError("x"), 9),
        (errors.BackendProtocolError("x"), 9),
        (errors.BackendStatusError("x", status=500), 9),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
        (ZeroDivisionError(), 70),
    ],
)
def test_each_kind_of_failure_has_its_code(error: BaseException, code: int) -> None:
    assert exit_code_of(error) == code


def test_no_error_of_the_package_counts_as_a_bug() -> None:
    classes = [
        value
        for _, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, errors.FallbackError)
    ]
    assert len(classes) > 10
    for kind in classes:
        error = kind.__new__(kind)
        assert exit_code_of(error) is not ExitCode.INTERNAL, kind


def test_every_code_has_a_sentence() -> None:
    assert list(MEANING) == list(ExitCode)
    assert len(set(MEANING.values())) == len(ExitCode)
