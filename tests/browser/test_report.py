"""The report as a person sees it: charts, filters, failures; on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from compare_hostile import hostile_folder
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from fallback.compare.report import write_report

pytestmark = pytest.mark.browser

Browser = Callable[[Path], Chrome]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = hostile_folder(tmp_path_factory.mktemp("hostile"))
    write_report(folder)
    return folder / "report.html"


def drawn(page: Chrome) -> str | None:
    """Waits until the charts are there."""
    WebDriverWait(page, 30).until(
        lambda p: p.find_element(By.TAG_NAME, "body").get_dom_attribute("data-charts")
    )
    return page.find_element(By.TAG_NAME, "body").get_dom_attribute("data-charts")


def visible(page: Chrome, selector: str) -> list[str]:
    return [e.text for e in page.find_elements(By.CSS_SELECTOR, selector) if e.is_displayed()]


def choose(page: Chrome, name: str, value: str) -> None:
    Select(page.find_element(By.ID, name)).select_by_visible_text(value)


def opened(page: Chrome, entry: WebElement) -> WebElement:
    """A failure, unfolded; a page fills one only after the click, and a chart still to be drawn
    would move it away from under the click.
    """
    drawn(page)
    entry.find_element(By.TAG_NAME, "summary").click()
    WebDriverWait(page, 30).until(lambda _: entry.find_elements(By.TAG_NAME, "h4"))
    return entry


def test_the_charts_are_drawn_offline_and_nothing_complains(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    page = browser(report)
    assert drawn(page) == "drawn"
    assert len(page.find_elements(By.CSS_SELECTOR, ".chart svg")) == 3
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []
    picture = tmp_path / "report.png"
    assert page.save_screenshot(str(picture))
    assert picture.stat().st_size > 20_000


def test_hostile_text_runs_nothing(browser: Browser, report: Path) -> None:
    page = browser(report)
    for entry in page.find_elements(By.CSS_SELECTOR, "#list details"):
        opened(page, entry)
    assert page.title == "Ways of calling tools compared"
    shown = page.find_element(By.ID, "list").text
    assert '<img src=x onerror="document.title' in shown
    assert "{{ 7 * 7 }}" in shown
    assert page.find_elements(By.CSS_SELECTOR, "#list img, #list script") == []


def test_the_tables_and_failures_are_filtered(browser: Browser, report: Path) -> None:
    page = browser(report)
    ways = visible(page, "table.stages tbody th")
    assert ways == ["native+read", "prompt:fenced"]
    everything = len(visible(page, "#list details"))
    choose(page, "way", "prompt:fenced")
    assert visible(page, "table.stages tbody th") == ["prompt:fenced"]
    assert 0 < len(visible(page, "#list details")) < everything
    choose(page, "stage", "selection")
    assert visible(page, "table.stages thead th") == ["way", "selection"]
    assert all(line.startswith("selection: ") for line in visible(page, ".verdicts li"))
    choose(page, "way", "all")
    choose(page, "stage", "all")
    assert len(visible(page, "#list details")) == everything


def test_the_charts_follow_the_filters(browser: Browser, report: Path) -> None:
    def shown() -> list[str]:
        assert drawn(page) == "drawn"
        texts = page.find_elements(By.CSS_SELECTOR, ".chart svg text")
        return [str(text.get_attribute("textContent")) for text in texts]

    page = browser(report)
    everything = shown()
    assert {"native+read", "prompt:fenced", "selection", "need"} <= set(everything)
    choose(page, "way", "prompt:fenced")
    assert "native+read" not in shown()
    assert "prompt:fenced" in shown()
    choose(page, "stage", "selection")
    assert "selection" in shown()
    assert "need" not in shown()
    choose(page, "way", "all")
    choose(page, "stage", "all")
    assert shown() == everything


def test_the_filters_stay_in_view(browser: Browser, report: Path) -> None:
    page = browser(report)
    drawn(page)
    page.execute_script("window.scrollTo(0, document.documentElement.scrollHeight)")
    top = page.execute_script(
        "return document.getElementById('filters').getBoundingClientRect().top"
    )
    assert page.execute_script("return window.scrollY") > 500
    assert top == 0


def test_a_failure_shows_the_prompt_the_reply_and_what_was_expected(
    browser: Browser, report: Path
) -> None:
    page = browser(report)
    choose(page, "way", "prompt:fenced")
    (entry,) = (
        e for e in page.find_elements(By.CSS_SELECTOR, "#list details") if "Question 2?" in e.text
    )
    heads = [head.text for head in opened(page, entry).find_elements(By.TAG_NAME, "h4")]
    assert heads[:2] == ["prompt: system", "prompt: user"]
    for head in ("expected", "got", "result of get_weather (ok)"):
        assert head in heads
    call = entry.find_element(By.CSS_SELECTOR, "pre span.call")
    assert '"city": "<script>document.title' in call.text
    assert call.value_of_css_property("background-color") == "rgba(201, 239, 207, 1)"


def test_it_fits_a_phone(browser: Browser, report: Path) -> None:
    page = browser(report)
    drawn(page)
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True},
    )
    width = page.execute_script("return document.documentElement.scrollWidth")
    assert width <= 390
