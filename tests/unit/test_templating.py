from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback import templating
from fallback.errors import TemplateError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment of its own, so that the real one and its cache stay as they are."""
    monkeypatch.setattr(templating, "data_dir", lambda kind: tmp_path)
    monkeypatch.setattr(templating, "environment", templating.environment.__wrapped__)
    monkeypatch.setattr(templating, "_template", templating._template.__wrapped__)
    return tmp_path


@given(JSON)
def test_json_survives_and_can_be_encoded(value: object) -> None:
    text = templating.to_json(value)
    assert json.loads(text) == value
    text.encode("utf-8")


def test_json_keeps_key_order_and_characters() -> None:
    assert (
        templating.to_json({"z": "<b> 'ü' 日本 😀", "a": 1}) == '{"z": "<b> \'ü\' 日本 😀", "a": 1}'
    )


def test_a_lone_surrogate_is_escaped_so_that_the_prompt_can_be_sent() -> None:
    assert templating.to_json("\ud83d x") == '"\\ud83d x"'
    assert json.loads(templating.to_json("\ud83d")) == "\ud83d"


def test_template_syntax_inside_a_value_is_not_rendered(folder: Path) -> None:
    (folder / "t.j2").write_text("{{ value }}|{{ value | tojson }}\n", encoding="utf-8")
    hostile = "{{ 7 * 7 }}{% for x in y %}{# #}"
    assert templating.render("t.j2", value=hostile) == f'{hostile}|"{hostile}"\n'


def test_html_is_left_alone(folder: Path) -> None:
    (folder / "t.j2").write_text("{{ value }}", encoding="utf-8")
    assert templating.render("t.j2", value="<a & 'b'>") == "<a & 'b'>"


def test_a_missing_value_is_an_error_that_names_the_template(folder: Path) -> None:
    (folder / "t.j2").write_text("{{ absent }}", encoding="utf-8")
    with pytest.raises(TemplateError, match=r"'t\.j2' does not render.*absent"):
        templating.render("t.j2")


def test_a_malformed_template_is_an_error_that_names_the_line(folder: Path) -> None:
    (folder / "t.j2").write_text("one\n{% if %}\n", encoding="utf-8")
    with pytest.raises(TemplateError, match=r"'t\.j2', line 2"):
        templating.render("t.j2")


def test_a_missing_template_is_an_error_that_names_it(folder: Path) -> None:
    with pytest.raises(TemplateError, match=r"'no\.j2' is missing"):
        templating.render("no.j2")


def test_a_template_cannot_reach_the_interpreter(folder: Path) -> None:
    (folder / "t.j2").write_text("{{ ''.__class__.__mro__ }}", encoding="utf-8")
    with pytest.raises(TemplateError):
        templating.render("t.j2")
