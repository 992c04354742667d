"""Error messages that a model may see: one short line, no path, no credential, no stack trace."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["mask_credentials", "safe_error"]

_READ_CHARS = 2_000
_SHOWN_CHARS = 300
_SHORTEST_SECRET = 4

# name=value and name: value, as in headers, query strings, connection strings and JSON
_NAMED = re.compile(
    r"""(?ix) \b
        ( authorization | [\w-]{0,40}? (?: api[_-]?key | token | secret | passw(?:or)?d | pwd ) )
        ( ["']? \s{0,3} [:=] \s{0,3} ["']? ) (?: (?:bearer|basic) \s{1,3} )? [^\s"',;&)]+ """
)
# Forms that give a credential away without a name: HTTP schemes, well-known prefixes, JSON web
# tokens
_SHAPED = re.compile(
    r"(?i)\b(?:bearer|basic)\s{1,3}[\w.~+/=-]{8,}"
    r"|\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf)[-_][\w-]{10,}"
    r"|\bAKIA[0-9A-Z]{12,}|\beyJ[\w-]{10,}\.[\w.-]{10,}"
)
_USERINFO = re.compile(r"(?<=://)[^\s/@]+@")
_PATH = re.compile(
    r"""(?x) (?<![\w:/.~]) ~? (?: /[^\s'":,;()<>|/]+ ){2,} /?
        | (?<!\w) [A-Za-z]:\\[^\s'":,;()<>|]+ """
)


# From the statement on, the rest of the line is left out: values of other people stand in it.
_SQL = re.compile(
    r"""(?x) (?: \[ (?:SQL|parameters) : .*
        | \b (?: SELECT\s.{1,300}?\sFROM\s | (?i:select\s.{1,300}?\sfrom\s.{1,300}?\swhere\s)
            | (?i:insert\s+(?:or\s+\w+\s+)?into\s+\S+\s*(?:\(|values|select))
            | DELETE\s+FROM\s | (?i:delete\s+from\s+\S+\s+where\s)
            | (?i:update\s+\S{1,100}\s+set\s+\S{1,100}\s*=)
            | (?:CREATE|DROP|ALTER)\s+(?:TABLE|INDEX|VIEW)\s
            | Key\s\([^)]{1,200}\)= ) .* )"""
)
# Errors of a database hold statements, values and names of constraints in every wording.
_DATABASES = frozenset(
    (
        *("sqlite3", "aiosqlite", "duckdb", "sqlalchemy", "django", "peewee", "tortoise"),
        *("psycopg", "psycopg2", "asyncpg", "pymysql", "MySQLdb", "mysql", "mariadb"),
        *("oracledb", "pyodbc", "pymongo"),
    )
)


def mask_credentials(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace what looks like a credential, and every one of ``secrets``, by ``***``."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    text = _USERINFO.sub("***@", text)
    text = _NAMED.sub(r"\1\2***", text)
    return _SHAPED.sub("***", text)


def safe_error(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """``TypeName: first line`` of an exception, cut and masked.

    Never a stack trace, a path or a statement of SQL; of a database's errors only the type's name.
    """
    if type(error).__module__.partition(".")[0] in _DATABASES:
        return type(error).__name__
    # Masked before it is cut to size, lest half of a secret survive at the cut.
    line = _first_line(error)[:_READ_CHARS]
    line = _SQL.sub("(sql)", _PATH.sub("(path)", mask_credentials(line, secrets))).rstrip()
    if len(line) > _SHOWN_CHARS:
        line = line[:_SHOWN_CHARS].rstrip() + " ..."
    name = type(error).__name__
    return f"{name}: {line}" if line else name


def _first_line(error: BaseException) -> str:
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 # foreign __str__ methods may do anything
        return ""
    return text.splitlines()[0].strip() if text else ""
