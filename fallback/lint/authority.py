"""Rules about what a model must never decide: who is asking, what they may do, what code runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fallback.lint.places import Parameter, parameters
from fallback.lint.record import Found, Rule, Subject
from fallback.lint.words import listed, split_name

__all__ = ["RULES"]

_IDENTITY = listed(
    "user user_id userid uid tenant tenant_id org_id organization_id organisation_id session_id"
    " current_user on_behalf_of caller caller_id"
)
_AUTHORITY = listed(
    "token access_token auth_token bearer_token refresh_token id_token api_key apikey auth"
    " authorization password passwd secret client_secret credentials credential role roles"
    " user_role permissions is_admin as_admin sudo privileges"
)
_PERHAPS = listed(
    "username user_name user_email account_id customer_id member_id owner_id scope scopes"
    " permission admin"
)
"""The caller's as often as somebody else's, which the model may well name."""

_CODE = listed(
    "sql sql_query query_sql raw_sql shell bash cmd command command_line shell_command script"
    " bash_command sh powershell python_code source_code eval"
)
_CODE_MEANT = re.compile(
    r"(?i)\bSQL\b|\bshell (?:command|script)|\bbash\b|\bterminal\b|\bcommand[- ]line\b"
    r"|\b(?:python|javascript|js|lua) (?:code|script|snippet|expression)|\bcode to (?:run|execute)"
)
_MAYBE_CODE = frozenset(("query", "statement", "code", "expression", "input", "snippet", "program"))
_URL = listed("url uri link href endpoint webhook webhook_url callback_url base_url")
_URL_FORMATS = frozenset(("uri", "url", "uri-reference", "iri"))


def _folded(name: str) -> str:
    return "_".join(split_name(name))


def _identity(subject: Subject) -> Iterator[Found]:
    for parameter in parameters(subject.catalogue):
        names = {_folded(parameter.name), parameter.name.lower()}
        if not names & (_IDENTITY | _AUTHORITY | _PERHAPS):
            continue
        what = "what the caller may do" if names & _AUTHORITY else "who is asking"
        yield Found(
            parameter.tool,
            parameter.place,
            f"`{parameter.name}` looks like {what}, and the model writes it",
            "inject it from the application's context (Annotated[str, Injected]); if it names"
            " somebody else's record, check the caller's right in the tool and switch this off",
            "warning" if names & _PERHAPS else None,
        )


def _code(subject: Subject) -> Iterator[Found]:
    for parameter in _free_texts(subject):
        name = _folded(parameter.name)
        named = name in _CODE
        meant = name in _MAYBE_CODE and _CODE_MEANT.search(parameter.description)
        if named or meant:
            yield Found(
                parameter.tool,
                parameter.place,
                f"`{parameter.name}` takes code that the model writes",
                "offer the operations themselves as tools with typed parameters; if code it must"
                " be, run it where it can do no harm, and declare the risk",
            )


def _url(subject: Subject) -> Iterator[Found]:
    for parameter in _free_texts(subject):
        form = parameter.schema.get("format")
        if _folded(parameter.name) in _URL or form in _URL_FORMATS:
            yield Found(
                parameter.tool,
                parameter.place,
                f"`{parameter.name}` takes any address, those inside your network too",
                "take an id and look the address up, or allow known hosts with enum or pattern and"
                " check again in the tool",
            )


def _free_texts(subject: Subject) -> Iterator[Parameter]:
    return (parameter for parameter in parameters(subject.catalogue) if parameter.is_free_text)


RULES: tuple[Rule, ...] = (
    Rule(
        name="identity_from_model",
        severity="error",
        finds="a parameter that looks like identity or authority (user, tenant, token, role) and is"
        " not injected (a warning for names such as `username`)",
        why="whatever text the model has read decides whose data is touched",
        check=_identity,
    ),
    Rule(
        name="free_code",
        severity="error",
        finds="a parameter for SQL, a shell command or code",
        why="a sentence in a web page becomes a program with your tool's rights",
        check=_code,
    ),
    Rule(
        name="free_url",
        severity="warning",
        finds="a parameter for any URL",
        why="it reaches internal services, and carries data out in its query",
        check=_url,
    ),
)
