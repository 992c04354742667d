from __future__ import annotations

import traceback
from typing import Any

import pytest

from fallback import hosts
from fallback.errors import BackendConnectionError, ConfigurationError
from fallback.hosts import DEFAULT_URL, Address, connect, parse_host, resolve_host, without_login
from fallback.limits import Limits


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("gpu", "http://gpu:11434"),
        ("gpu:8080", "http://gpu:8080"),
        ("http://gpu", "http://gpu:80"),
        ("https://gpu", "https://gpu:443"),
        ("HTTPS://gpu/", "https://gpu:443"),
        ("https://gpu:8443/ollama/", "https://gpu:8443/ollama"),
        ("gpu/path", "http://gpu:11434/path"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        (":1234", "http://127.0.0.1:1234"),
        ("[::1]", "http://[::1]:11434"),
        ("[2001:db8::1]:8080", "http://[2001:db8::1]:8080"),
        ("::1", "http://[::1]:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 -- read, never bound
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("[::]", "http://[::1]:11434"),
        ("::", "http://[::1]:11434"),
        ("http://user:secret@gpu:80", "http://user:secret@gpu:80"),
        ("  gpu  ", "http://gpu:11434"),
        ('"gpu"', "http://gpu:11434"),
    ],
)
def test_a_host_is_read_as_ollama_reads_it(value: str, url: str) -> None:
    assert parse_host(value) == url


@pytest.mark.parametrize(
    "value",
    ["ftp://gpu", "gpu:http", "gpu:99999", "[::1", "two words", "unix:///run/ollama.sock", "a\nb"],
)
def test_what_is_no_address_is_refused_in_one_line(value: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_host(value)
    assert "no address of a model server" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        "http://me:secret@gpu:http",
        "ftp://me:secret@gpu",
        "me:secret@gpu:99999",
        "http://me:secret@[::1",
        "http://me:two secret@gpu",
        "http://me:se/secret@gpu",
        "http://me:secret@gp\u2100",
    ],
)
def test_an_address_with_a_login_is_refused_without_telling_it(value: str) -> None:
    with pytest.raises(ConfigurationError, match="no address of a model server") as caught:
        parse_host(value)
    told = "".join(traceback.format_exception(caught.value))
    assert "secret" not in str(caught.value)
    assert "ValueError" not in told  # which quotes parts of the address


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:secret@gpu:80/ollama", "http://gpu:80/ollama"),
        ("https://secret@gpu:443", "https://gpu:443"),
        ("http://me@here:secret@[::1]:11434", "http://[::1]:11434"),
        ("me:secret@gpu", "gpu"),
        ("http://me:secret@[::1", "http://[::1"),
        ("http://gpu:80/@team", "http://gpu:80/@team"),
        ("http://gpu:80", "http://gpu:80"),
        ("embedded", "embedded"),
    ],
)
def test_an_address_is_shown_without_its_login(url: str, shown: str) -> None:
    assert without_login(url) == shown


def never(*_: Any) -> bool:
    raise AssertionError("it need not be asked")


def test_a_named_host_comes_first_and_nothing_is_asked() -> None:
    address = resolve_host("gpu", environ={"OLLAMA_HOST": "other"}, answers=never, has_engine=never)
    assert address == Address("http://gpu:11434", "named with --host")


def test_the_environment_comes_second() -> None:
    address = resolve_host(environ={"OLLAMA_HOST": "gpu"}, answers=never, has_engine=never)
    assert address == Address("http://gpu:11434", "OLLAMA_HOST is set")


def test_a_server_on_this_machine_comes_third() -> None:
    asked = []

    def answers(url: str, limits: Limits) -> bool:
        asked.append((url, limits.probe_seconds))
        return True

    address = resolve_host(environ={"OLLAMA_HOST": " "}, answers=answers, has_engine=never)
    assert address.url == DEFAULT_URL
    assert asked == [("http://127.0.0.1:11434", Limits().probe_seconds)]


def test_the_embedded_engine_comes_last() -> None:
    address = resolve_host(environ={}, answers=lambda *_: False, has_engine=lambda: True)
    assert address.url == "embedded"


def test_the_embedded_engine_may_be_named() -> None:
    address = resolve_host("embedded", environ={}, answers=never, has_engine=lambda: True)
    assert address == Address("embedded", "named with --host")
    with pytest.raises(
        BackendConnectionError, match=r"pip install 'toolcall-fallback\[embedded\]'"
    ):
        resolve_host("embedded", environ={}, answers=never, has_engine=lambda: False)


def test_without_a_server_and_an_engine_both_ways_out_are_told() -> None:
    with pytest.raises(BackendConnectionError) as caught:
        resolve_host(environ={}, answers=lambda *_: False, has_engine=lambda: False)
    message = str(caught.value)
    for word in ("ollama serve", "--host", "OLLAMA_HOST", "pip install", "[embedded]"):
        assert word in message
    assert "\n" not in message


def test_the_engine_is_looked_for_by_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "find_spec", lambda name: name == "xllamacpp" or None)
    address = resolve_host(environ={}, answers=lambda *_: False)
    assert address.url == "embedded"


def key_sent(host: str) -> str | None:
    backend = connect(host, environ={"OLLAMA_API_KEY": "k3y"})
    try:
        headers = backend._clients.sync().headers
        return str(headers["authorization"]) if "authorization" in headers else None
    finally:
        backend.close()


def test_a_key_goes_along_only_where_nobody_can_read_it() -> None:
    assert key_sent("https://ollama.example") == "Bearer k3y"
    assert key_sent("localhost") == "Bearer k3y"
    assert key_sent("[::1]:8080") == "Bearer k3y"
    assert key_sent("http://gpu") is None
