"""Debian's own Chromium without a screen, with a new profile, offline."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium import webdriver

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,900",
)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """One browser for all pages, with an empty profile and without a network."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    page = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        page.set_network_conditions(
            offline=True, latency=0, download_throughput=0, upload_throughput=0
        )
        yield page
    finally:
        page.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Callable[[Path], webdriver.Chrome]:
    """Opens a file."""

    def open_page(path: Path) -> webdriver.Chrome:
        chromium.get(path.resolve().as_uri())
        return chromium

    return open_page
