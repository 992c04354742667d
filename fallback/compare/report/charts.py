"""The charts, as Vega-Lite specifications made by Altair, and the picture. Needs ``report``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fallback.compare.report.content import Content
from fallback.compare.stages import STAGES
from fallback.compare.verdicts import Row

__all__ = ["bundle", "charts", "picture"]

_SHADES = ["#f4b6a6", "#fbf2c4", "#b5dfae"]
"""From bad to good, all light enough for black text."""

_WIDTH = 230
"""Pixels of a panel: with its labels it fits a phone that is held upright."""


def charts(content: Content) -> list[dict[str, Any]]:
    """For each model: a title and the specification of each of its charts."""
    found = []
    for model in content.names("model"):
        rows = [row for row in content.rows if row.model == model]
        for title, chart in (
            ("Wholly right, with 95 % intervals", _right(rows)),
            ("Stage by stage", _stages(rows)),
            ("What it costs", _costs(rows)),
        ):
            found.append({"model": model, "title": title, "spec": chart.to_dict()})
    return found


def bundle() -> str:
    """Vega, Vega-Lite and their embedding as one script, so that the report needs no network."""
    import vl_convert

    # Its stub wants a snippet; without one the bundle offers everything on ``window``.
    return str(vl_convert.javascript_bundle(None))  # type: ignore[arg-type]  # the stub is wrong


def picture(content: Content) -> bytes:
    """The first chart of every model as one PNG."""
    import altair
    import vl_convert

    panels = [
        _right([row for row in content.rows if row.model == model]).properties(title=model)
        for model in content.names("model")
    ]
    whole = altair.hconcat(*panels).configure(background="white")
    return bytes(vl_convert.vegalite_to_png(whole.to_dict(), scale=2))


def _right(rows: Sequence[Row]) -> Any:
    import altair

    values = [
        {
            "suite": row.suite,
            "way": row.way,
            "right": found.value,
            "low": found.low,
            "high": found.high,
            "n": found.n,
        }
        for row in rows
        if (found := row.stages.get("right"))
    ]
    ways = list(dict.fromkeys(row.way for row in rows))
    suites = list(dict.fromkeys(row.suite for row in rows))
    base = altair.Chart().encode(
        y=altair.Y("way:N", sort=ways, title=None),
        tooltip=["way:N", altair.Tooltip("right:Q", format=".0%"), "n:Q"],
    )
    scale = altair.Scale(domain=[0, 1])
    axis = altair.Axis(format="%")
    bars = base.mark_rule(size=2).encode(
        x=altair.X("low:Q", scale=scale, axis=axis, title="wholly right"), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=60).encode(
        x=altair.X("right:Q", scale=scale, axis=axis), color=_colour(ways)
    )
    layers = altair.layer(bars, points, data=_data(values)).properties(width=_WIDTH)
    return layers.facet(
        row=altair.Row("suite:N", sort=suites, title=None, header=altair.Header(labelAngle=0,
                       labelAlign="left", labelOrient="top")),
    )  # fmt: skip


def _data(values: list[dict[str, Any]]) -> Any:
    import altair

    return altair.InlineData(values=values)


def _colour(ways: Sequence[str]) -> Any:
    import altair

    # With its domain named a way keeps its colour when the report's filters leave it alone.
    return altair.Color("way:N", scale=altair.Scale(domain=list(ways)), legend=None)


def _stages(rows: Sequence[Row]) -> Any:
    import altair

    last = rows[-1].suite  # all suites together, where there are several
    ways = [row.way for row in rows if row.suite == last]
    values = [
        {"stage": s.label, "way": row.way, "share": found.value, "good": _good(found.value, s.good)}
        for row in rows
        if row.suite == last
        for s in STAGES
        if (found := row.stages.get(s.name))
    ]
    base = altair.Chart(_data(values)).encode(
        x=altair.X("stage:N", sort=[s.label for s in STAGES], title=None,
                   axis=altair.Axis(labelAngle=-50)),
        y=altair.Y("way:N", sort=ways, title=None),
    )  # fmt: skip
    cells = base.mark_rect().encode(
        color=altair.Color(
            "good:Q", scale=altair.Scale(range=_SHADES, domain=[0, 0.5, 1]), legend=None
        )
    )
    texts = base.mark_text(fontSize=10).encode(text=altair.Text("share:Q", format=".0%"))
    return (cells + texts).properties(width=altair.Step(40), height=altair.Step(22), title=last)


def _good(value: float, good: bool) -> float:
    return value if good else 1 - value


def _costs(rows: Sequence[Row]) -> Any:
    import altair

    last = rows[-1].suite
    values = [
        {
            "way": row.way,
            "right": row.stages["right"].value,
            "tokens": row.measures["prompt_tokens"].value,
            "seconds": row.measures["seconds_p50"].value,
        }
        for row in rows
        if row.suite == last and "prompt_tokens" in row.measures
    ]
    ways = [row.way for row in rows if row.suite == last]
    base = altair.Chart(_data(values)).encode(
        x=altair.X("tokens:Q", title="prompt tokens a turn"),
        y=altair.Y("right:Q", title="wholly right", axis=altair.Axis(format="%"),
                   scale=altair.Scale(domain=[0, 1])),
    )  # fmt: skip
    points = base.mark_circle().encode(
        size=altair.Size("seconds:Q", title="seconds, p50", legend=altair.Legend(orient="bottom")),
        color=_colour(ways),
        tooltip=["way:N", "tokens:Q", altair.Tooltip("right:Q", format=".0%"), "seconds:Q"],
    )
    names = base.mark_text(dy=-12, fontSize=10).encode(text="way:N")
    return (points + names).properties(width=_WIDTH + 60, height=240, title=last)
