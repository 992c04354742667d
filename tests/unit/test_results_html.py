from __future__ import annotations

import pytest

from fallback.results import html_to_text, is_html

PAGE = """<!DOCTYPE html>
<html lang="en"><head><title>Fares &amp; times</title>
<style>p { color: red }</style><script>if (a < b) document.write("<p>no</p>")</script></head>
<body><!-- <p>not this</p> -->
<h1>Trains</h1><p>From <b>Oslo</b> to&nbsp;Rome,<br>daily</p>
<ul><li>fast<li>slow</ul>
<table><tr><th>day</th><th>fare</th></tr><tr><td>Mon<td>12 &euro;</table>
<pre>a  b
 c</pre><img src="x.png" alt="a map"> <a href="/x?a>b">more</a></body></html>"""


def test_a_page_becomes_its_text() -> None:
    assert html_to_text(PAGE) == (
        "Fares & times\n\nTrains\n\nFrom Oslo to\u00a0Rome,\ndaily\n\n- fast\n- slow\n\n"
        "day | fare\nMon | 12 €\n\na  b\n c\n\na map more"
    )


@pytest.mark.parametrize(
    "hidden",
    [
        "<div hidden>SECRET</div>",
        '<div HIDDEN="until-found">SECRET</div>',
        '<span style="color:red; display : none">SECRET <b>x</b></span>',
        "<p style='visibility:hidden'>SECRET</p>",
        "<p style=font-size:0>SECRET</p>",
        "<p/hidden/>SECRET</p>",
        "<p class='a'hidden>SECRET</p>",
        '<p style="opacity:0;">SECRET</p>',
        '<div aria-hidden="true"><div>SECRET</div>SECRET</div>',
        "<!-- SECRET -->",
        "<template>SECRET</template>",
        "<noscript>SECRET</noscript>",
        "<svg><text>SECRET</text></svg>",
        "<script>SECRET</script >",
        "<style>SECRET</STYLE>",
        '<input type="hidden" value="SECRET">',
        '<meta name="x" content="SECRET">',
        "<select><option>SECRET</select>",
        "<ul><li hidden>SECRET</ul>",
        "<div><p hidden>SECRET</div>",
        "<table><tr hidden><td>SECRET<tr></table>",
    ],
)
def test_what_a_page_hides_is_not_told(hidden: str) -> None:
    text = html_to_text(f"<p>before</p>{hidden}<p>after</p>")
    assert "SECRET" not in text
    assert "before" in text
    assert "after" in text


@pytest.mark.parametrize(
    "shown",
    [
        "<p style='font-size:0.9em'>TEXT",
        "<p style='opacity:0.5'>TEXT",
        "<p data-hidden=x>TEXT",
        "<p class='hidden-none'>TEXT",
        "<p title='display:none'>TEXT",
        '<p title="a hidden gem">TEXT',
        "<p title=' hidden' data-style='display:none'>TEXT",
        "<p hidden>x<p>TEXT",
        "<br hidden>TEXT",
    ],
)
def test_what_only_looks_hidden_is_told(shown: str) -> None:
    assert "TEXT" in html_to_text(shown)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("<3 you", "<3 you"),
        ("a <b", "a"),
        ("a <!-- b", "a"),
        ("a <script> b", "a"),
        ("&lt;p&gt; &#65; &#x42; &unknown; &", "<p> A B &unknown; &"),
        ("&#" + "9" * 5_000 + ";", "\ufffd"),
        ("a\u200bb\U000e0041c", "abc"),
        ("", ""),
    ],
)
def test_odd_markup_is_read_as_a_browser_would(markup: str, text: str) -> None:
    assert html_to_text(markup) == text


@pytest.mark.parametrize(
    ("text", "is_page"),
    [
        (PAGE, True),
        ("<html><body>x", True),
        ("\n <!-- saved --> <!doctype HTML>x", True),
        ("<p>a fragment</p>", False),
        ("use <html> tags", False),
        ('{"html": "<html>"}', False),
    ],
)
def test_only_a_document_is_taken_for_one(text: str, is_page: bool) -> None:
    assert is_html(text) is is_page
