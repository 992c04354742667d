from __future__ import annotations

import inspect
import json
from typing import Any

import httpx
import pytest

from fallback.errors import (
    BackendConnectionError,
    BackendError,
    BackendProtocolError,
    BackendStatusError,
    BackendTimeoutError,
    CapabilityError,
    ContextWindowError,
    ModelNotFoundError,
)
from fallback.ollama.failures import Asked, failure, mapped, read_error, shown

HERE = Asked(where="http://gpu:11434", model="gemma3", path="/api/chat", num_ctx=4096)


def said(status: int, text: Any, asked: Asked = HERE) -> BackendError:
    error = failure(status, json.dumps({"error": text}).encode(), asked)
    assert "\n" not in str(error)
    return error


def nested(message: str, **fields: Any) -> str:
    """An error of llama-server as Ollama relays it: a JSON document inside the string."""
    return json.dumps({"error": {"code": 400, "message": message, **fields}})


# The five shapes ----------------------------------------------------------------------------------


def test_a_plain_error_is_read() -> None:
    assert read_error(b'{"error":"missing request body"}')[0] == "missing request body"


def test_an_error_inside_an_error_is_read() -> None:
    text, fields = read_error(json.dumps({"error": nested("too long", type="t", n_ctx=512)}))
    assert text == "too long"
    assert fields["n_ctx"] == 512


def test_an_error_object_is_read() -> None:
    assert read_error(b'{"error":{"message":"no","type":"api_error"}}')[0] == "no"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", ""),
        (b"404 page not found", "404 page not found"),
        (b"<html>Bad gateway</html>", "<html>Bad gateway</html>"),
        (b"\xff\xfe", "��"),
        (b"[1]", "[1]"),
        (b'{"error":""}', ""),
        (b'{"error":{}}', ""),
        (b'{"error":"5"}', "5"),
        (b'{"error":"{broken"}', "{broken"),
        (b'{"error":' * 3000, '{"error":' * 3000),
    ],
)
def test_whatever_else_a_server_sends_is_no_error_of_ours(body: bytes, text: str) -> None:
    assert read_error(body)[0] == text


def test_an_error_line_in_a_stream_is_a_failure_of_the_reply() -> None:
    error = failure(200, {"error": "llama runner process has terminated"}, HERE)
    assert type(error) is BackendProtocolError
    assert "llama runner process has terminated" in str(error)


# What is said -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "registry.ollama.ai/library/gemma3:4b does not support tools",
        "hf.co/user/repo:tag does not support tools",
        "llama3 does not support tools",
        "registry.ollama.ai/library/m:latest does not support insert\nand\ntools",
        "m does not support thinking, tools",
    ],
)
def test_a_model_without_tools_is_a_missing_capability(text: str) -> None:
    error = said(400, text)
    assert isinstance(error, CapabilityError)
    assert error.status == 400
    assert error.missing == "tools"
    assert "'gemma3'" in str(error)
    assert "prompt or auto" in str(error)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ('"gemma3" does not support thinking', "thinking"),
        ('"gemma3" does not support generate', "completion"),
        ('"gemma3" does not support chat', "completion"),
        ("registry.ollama.ai/library/gemma3:latest does not support insert", "insert"),
        ("registry.ollama.ai/library/gemma3:latest does not support vision", "vision"),
    ],
)
def test_other_missing_capabilities_are_named(text: str, missing: str) -> None:
    error = said(400, text)
    assert isinstance(error, CapabilityError)
    assert error.missing == missing


def test_the_word_tools_alone_is_no_missing_capability() -> None:
    assert type(said(500, "model does not support tools")) is BackendStatusError
    assert type(said(400, "tools: cannot unmarshal string")) is BackendStatusError


OVERFLOW = "request (915 tokens) exceeds the available context size (512 tokens), try increasing it"


def test_an_overflow_carries_both_numbers_and_says_what_to_do() -> None:
    asked = Asked(where="w", model="m", num_ctx=512, trained=32768)
    inner = nested(OVERFLOW, type="exceed_context_size_error", n_prompt_tokens=915, n_ctx=512)
    for text in (OVERFLOW, inner):
        error = said(400, text, asked)
        assert isinstance(error, ContextWindowError)
        assert (error.prompt_tokens, error.num_ctx) == (915, 512)
        assert str(error) == (
            "the prompt for 'm' has 915 tokens and does not fit the window of 512 tokens: raise"
            " num_ctx (the model can take up to 32,768), offer fewer tools, or shorten the"
            " conversation"
        )


def test_a_model_that_has_no_larger_window_is_not_told_to_use_it() -> None:
    error = said(400, OVERFLOW, Asked(where="w", model="m", trained=512))
    assert "raise num_ctx" not in str(error)
    assert "offer fewer tools" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        (
            "the prompt is longer than the context length currently available to the model;"
            " shorten the prompt, adjust the context length in settings, or use a model with a"
            " longer context length"
        ),
        "the input length exceeds the context length",
    ],
)
def test_an_overflow_without_numbers_names_the_window_that_was_asked_for(text: str) -> None:
    error = said(400, text)
    assert isinstance(error, ContextWindowError)
    assert (error.prompt_tokens, error.num_ctx) == (None, 4096)
    assert "is longer than the window of 4,096 tokens" in str(error)


def test_numbers_that_are_none_are_left_out() -> None:
    text = nested("x", type="exceed_context_size_error", n_prompt_tokens="9" * 99, n_ctx=True)
    error = said(400, text, Asked(where="w", model="m"))
    assert isinstance(error, ContextWindowError)
    assert (error.prompt_tokens, error.num_ctx) == (None, None)
    assert "is longer than its window" in str(error)


@pytest.mark.parametrize(
    "text", ["model 'gemma3' not found", 'model "gemma3" not found, try pulling it first']
)
def test_an_unknown_model_is_told_with_the_way_to_get_it(text: str) -> None:
    error = said(404, text)
    assert isinstance(error, ModelNotFoundError)
    assert "'gemma3'" in str(error)
    assert "`ollama pull gemma3`" in str(error)


def test_an_unknown_model_is_told_with_the_models_there_are() -> None:
    many = Asked(where="w", model="x", models=tuple(f"m{i}" for i in range(12)))
    assert str(said(404, "model 'x' not found", many)).endswith(
        "; it has m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, …"
    )
    none = Asked(where="w", model="x", models=())
    assert str(said(404, "model 'x' not found", none)).endswith("; it has none")


def test_the_embedded_engine_has_its_own_way_to_get_a_model() -> None:
    asked = Asked(where="the embedded engine", model="x", embedded=True)
    assert "`fallback models pull x`" in str(said(404, "model 'x' not found", asked))


def test_a_page_that_is_not_there_is_no_model() -> None:
    error = failure(404, b"404 page not found", HERE)
    assert type(error) is BackendStatusError
    assert "does not know /api/chat (404): is it an Ollama server" in str(error)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("type integer", "an integer"),
        ("type float32", "a number"),
        ("type array", "array"),
        ("an array of strings", "array of strings"),
    ],
)
def test_an_option_of_the_wrong_type_is_named(kind: str, wanted: str) -> None:
    error = said(500, f'option "num_ctx" must be of {kind}')
    assert isinstance(error, BackendStatusError)
    assert error.status == 500
    assert str(error) == f"the option 'num_ctx' is of the wrong type: it must be {wanted}"


@pytest.mark.parametrize(
    ("status", "text", "words"),
    [
        (401, "unauthorized", "OLLAMA_API_KEY"),
        (403, "", "Host header"),
        (405, "405 method not allowed", "is it an Ollama server"),
        (503, "server busy, please try again.  maximum pending requests exceeded", "is busy (503)"),
        (500, "model runner has unexpectedly stopped, this may be due to", "want of memory"),
        (400, "model is required", "answered 400: model is required"),
        (499, "request canceled", "answered 499"),
        (502, "", "answered 502: nothing more"),
    ],
)
def test_every_other_status_is_told_in_a_line(status: int, text: str, words: str) -> None:
    error = failure(status, json.dumps({"error": text}).encode() if text else b"", HERE)
    assert type(error) is BackendStatusError
    assert error.status == status
    assert words in str(error)


def test_a_redirect_is_no_answer() -> None:
    error = failure(301, b"", HERE)
    assert isinstance(error, BackendProtocolError)
    assert "redirect (301)" in str(error)


def test_a_servers_words_are_cut_and_harmless() -> None:
    line = shown("a\n\tb\x1b[31mred\x07" + "x" * 1000)
    assert line.startswith("a b�[31mred�xxx")
    assert len(line) == 300
    assert line.endswith("…")


# The exceptions of the HTTP client ----------------------------------------------------------------


def client_errors() -> list[type[BaseException]]:
    found = {
        value
        for value in vars(httpx).values()
        if inspect.isclass(value) and issubclass(value, BaseException)
    }
    assert len(found) >= 25
    return sorted(found, key=lambda kind: kind.__name__)


def made(kind: type[BaseException]) -> BaseException:
    if issubclass(kind, httpx.HTTPStatusError):
        request = httpx.Request("GET", "http://gpu")
        return kind("refused", request=request, response=httpx.Response(500, request=request))
    if kind in (
        httpx.StreamConsumed,
        httpx.ResponseNotRead,
        httpx.RequestNotRead,
        httpx.StreamClosed,
    ):
        return kind()
    return kind("what the client says")


@pytest.mark.parametrize("kind", client_errors(), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_client_becomes_one_of_ours(kind: type[BaseException]) -> None:
    with pytest.raises(BackendError) as caught, mapped("http://gpu:11434"):
        raise made(kind)
    assert caught.value.__cause__.__class__ is kind
    assert "http://gpu:11434" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "{" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (httpx.ConnectError, BackendConnectionError),
        (httpx.ConnectTimeout, BackendConnectionError),
        (httpx.ReadError, BackendConnectionError),
        (httpx.ProxyError, BackendConnectionError),
        (httpx.UnsupportedProtocol, BackendConnectionError),
        (httpx.InvalidURL, BackendConnectionError),
        (httpx.ReadTimeout, BackendTimeoutError),
        (httpx.WriteTimeout, BackendTimeoutError),
        (httpx.PoolTimeout, BackendTimeoutError),
        (httpx.RemoteProtocolError, BackendProtocolError),
        (httpx.DecodingError, BackendProtocolError),
        (httpx.TooManyRedirects, BackendProtocolError),
        (httpx.StreamConsumed, BackendProtocolError),
    ],
)
def test_an_exception_becomes_the_kind_that_says_who_is_at_fault(
    kind: type[BaseException], ours: type[BackendError]
) -> None:
    with pytest.raises(ours), mapped("here"):
        raise made(kind)


def test_nobody_there_is_told_with_what_to_do() -> None:
    with (
        pytest.raises(BackendConnectionError, match="--host or OLLAMA_HOST"),
        mapped("x"),
    ):
        raise httpx.ConnectError("[Errno 111] Connection refused")


def test_other_exceptions_pass() -> None:
    with pytest.raises(KeyError), mapped("x"):
        raise KeyError("mine")


def test_a_client_of_the_fork_is_read_by_the_names_of_its_exceptions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys
    import types

    fork = types.ModuleType("httpx2")
    fork.HTTPError = type("HTTPError", (Exception,), {})  # type: ignore[attr-defined] # made here
    connect = type("ConnectError", (fork.HTTPError,), {})  # type: ignore[attr-defined] # made here
    monkeypatch.setitem(sys.modules, "httpx2", fork)
    with pytest.raises(BackendConnectionError, match="nothing answers"), mapped("x"):
        raise connect("refused")
