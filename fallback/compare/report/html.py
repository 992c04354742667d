"""The report as one HTML file that needs nothing else: no network, no server, no other file.

Everything in it that a model, a tool or a user wrote is hostile. It comes in by two doors: through
Jinja2 with escaping on, and as JSON in a block that no browser runs, from which the script makes
text nodes. The content policy lets only the script run whose hash it names, so that a third door
would still lead nowhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fallback.compare.report.content import OLDER, Content, failures, sentences
from fallback.compare.report.markdown import interval_text, measure_text
from fallback.compare.stages import MEASURES, STAGES

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["html"]

_DATA = Path(__file__).resolve().parent.parent / "data"


def html(content: Content) -> bytes:
    """The whole file."""
    from fallback.compare.report import has_charts

    drawn: list[dict[str, Any]] = []
    library = ""
    if has_charts():
        from fallback.compare.report.charts import bundle, charts

        drawn, library = charts(content), bundle()
    wrong = failures(content.results)
    scripts = [_script(library), _script((_DATA / "report.js").read_text("utf-8"))]
    text = _template().render(
        policy=_policy(scripts),
        style=(_DATA / "report.css").read_text("utf-8"),
        scripts=[script for script in scripts if script],
        data=_embedded({"failures": wrong.turns, "texts": wrong.texts, "charts": drawn}),
        content=content,
        older=OLDER,
        models=content.names("model"),
        ways=content.names("way"),
        stages=STAGES,
        measures=MEASURES,
        sentences={stage.name: sentences(content, stage.name) for stage in STAGES},
        interval_text=interval_text,
        measure_text=measure_text,
        charts=drawn,
        failures=len(wrong.turns),
        more=wrong.more,
    )
    return text.encode()


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_DATA),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return made.get_template("report.html.j2")


def _script(source: str) -> str:
    """A script that cannot end its own element before its time."""
    return source.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(scripts: Sequence[str]) -> str:
    """Nothing is loaded from anywhere, and only these scripts run."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
        if script
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _embedded(value: Any) -> str:
    """JSON that cannot end the element it stands in, whatever is in it."""
    text = json.dumps(value, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
