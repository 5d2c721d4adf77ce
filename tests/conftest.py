"""What every test runs under: no plot windows, no progress noted, the same Hypothesis examples each
time; and the browser that pages are looked at with."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ["SOFTMAX_PROGRESS"] = "off"  # of kernels that tests start, too

# No deadline: a shared machine's pauses are no property of the code. Always the same examples: a
# failure must be one that the next person sees too.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")


def browser_path() -> str | None:
    """A Chromium that is installed here, the system's or Playwright's own."""
    names = ("chromium", "chromium-browser", "google-chrome")
    if found := next(filter(None, map(shutil.which, names)), None):
        return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        path = tools.chromium.executable_path
    return path if Path(path).exists() else None


@pytest.fixture(scope="module")
def browser():
    """Chromium, for one file of tests; while it runs no notebook can be executed."""
    pytest.importorskip("playwright", reason="Playwright is not installed here")
    if (path := browser_path()) is None:
        pytest.skip("no Chromium is installed here: python -m playwright install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        running = tools.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()
