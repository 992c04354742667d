from __future__ import annotations

import sys

import ollama
from hypothesis import assume, given
from hypothesis import strategies as st

from fallback.hosts import parse_host

# ``ollama._client`` is also the name of an object in the package, so the module is looked up.
THEIRS = sys.modules[f"{ollama.__name__}._client"]._parse_host

names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z]{2,5}){0,2}", fullmatch=True)
# A server's "listen everywhere" is the one address that we read as another one on purpose.
v4 = st.ip_addresses(v=4).filter(lambda a: not a.is_unspecified).map(str)
v6 = st.ip_addresses(v=6).filter(lambda a: not a.is_unspecified).map(lambda a: f"[{a}]")
hosts = st.one_of(st.just(""), names, v4, v6)
schemes = st.sampled_from(["", "http://", "https://"])
ports = st.one_of(st.just(""), st.integers(1, 65535).map(lambda port: f":{port}"))
paths = st.sampled_from(["", "/", "/path", "/path/", "/a/b"])


@given(schemes, hosts, ports, paths)
def test_a_host_means_to_us_what_it_means_to_ollamas_own_client(
    scheme: str, host: str, port: str, path: str
) -> None:
    # Their client takes a lone "http://" for the name of a host.
    assume(host or port or path)
    value = f"{scheme}{host}{port}{path}"
    assert parse_host(value) == THEIRS(value)


@given(schemes, hosts, ports, paths)
def test_what_was_read_is_read_the_same_again(scheme: str, host: str, port: str, path: str) -> None:
    url = parse_host(f"{scheme}{host}{port}{path}")
    assert parse_host(url) == url
