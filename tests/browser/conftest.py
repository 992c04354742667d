"""Debian's own Chromium without a screen, with a new profile, offline."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium import webdriver

SWITCH = "FALLBACK_NO_BROWSER"
"""Set to 1 where there is no browser and none can be installed; its tests are then skipped."""

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
    if os.environ.get(SWITCH) == "1":
        pytest.skip(f"{SWITCH} is set")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.fail(f"no Chromium with its driver: run scripts/chromium, or set {SWITCH}=1 to skip")
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
