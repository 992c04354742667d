"""Tools for the command line: ``fallback run "..." --tools examples/tools.py``."""

from datetime import date, timedelta

from fallback import Risk, tool
from fallback.errors import ToolRetry


def parsed(day: str) -> date:
    try:
        return date.fromisoformat(day)
    except ValueError as error:
        raise ToolRetry(f"{day!r} is not a date; write YYYY-MM-DD") from error


@tool(risk=Risk.READ_ONLY)
def weekday(day: str) -> str:
    """Day of the week of a date.

    Args:
        day: the date, as YYYY-MM-DD.
    """
    return f"{parsed(day):%A}"


@tool(risk=Risk.READ_ONLY)
def days_between(first: str, last: str) -> int:
    """Number of days from one date to another.

    Args:
        first: the earlier date, as YYYY-MM-DD.
        last: the later date, as YYYY-MM-DD.
    """
    return (parsed(last) - parsed(first)).days


@tool(risk=Risk.READ_ONLY)
def date_after(start: str, days: int) -> str:
    """The date that lies some days after another.

    Args:
        start: the date to begin with, as YYYY-MM-DD.
        days: how many days later; negative for earlier.
    """
    return (parsed(start) + timedelta(days=days)).isoformat()
