"""Pictures of the page of HTML, for a person to look at: ``python -m tests.look [FOLDER [HOST…]]``. Needs Chromium; `make look` says where they lie.

``make look LOOK=docs/report.png`` makes README's picture alone.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hostagent.outputs import render
from tests.golden import MAPPED, NAMED, recorded_map
from tests.recorded import report_of

#: What is looked at: window size, whether in the dark. A phone is 390 px wide; Chromium makes no narrower window than 500.
DESKTOP, PHONE = (1200, 1600), (390, 2400)
#: README's picture: the top of this host's page, down to its first cause.
SHOWN, SHOWN_SIZE = "hgx-h100-gpu-off-the-bus", (1000, 824)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_FRAME = '<!doctype html><body style="margin:0"><iframe src="{page}" style="width:{width}px;height:{height}px;border:0"></iframe>'


def main(folder: Path, names: Sequence[str]) -> None:
    browser = found_browser()
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        look_at(browser, folder, name, render(report_of(name), "html"))
        if name in MAPPED:
            look_at(browser, folder, f"{name}.topology", recorded_map(name, "html", MAPPED[name]))
    print(f"{len(names)} hosts: {folder}/HOST.{{desktop,dark,open,phone}}.png and HOST.pdf")  # noqa: T201


def found_browser() -> str:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), "")
    if not browser:
        raise SystemExit("Error: found no Chromium. Install it: 'apt-get install chromium' (Debian).")
    return browser


def shown(to: Path) -> None:
    """README's picture."""
    with tempfile.TemporaryDirectory() as made:
        page = Path(made, "report.html")
        page.write_text(render(report_of(SHOWN), "html"), encoding="utf-8")
        picture(found_browser(), page, to.resolve(), SHOWN_SIZE)
    print(f"{to}: the report of {SHOWN}")  # noqa: T201


def look_at(browser: str, folder: Path, name: str, text: str) -> None:
    page, opened = folder / f"{name}.html", folder / f"{name}.open.html"
    page.write_text(text, encoding="utf-8")
    opened.write_text(text.replace("<details>", "<details open>"), encoding="utf-8")
    picture(browser, page, folder / f"{name}.desktop.png", DESKTOP)
    picture(browser, page, folder / f"{name}.dark.png", DESKTOP, dark=True)
    picture(browser, opened, folder / f"{name}.open.png", (1200, 4000))
    phone(browser, opened, folder / f"{name}.phone.png")
    drive(browser, page, f"--print-to-pdf={folder / f'{name}.pdf'}", "--no-pdf-header-footer")


def picture(browser: str, page: Path, to: Path, size: tuple[int, int], *, dark: bool = False) -> None:
    scheme = ("--blink-settings=preferredColorScheme=0",) if dark else ("--blink-settings=preferredColorScheme=1",)
    drive(browser, page, f"--screenshot={to}", f"--window-size={size[0]},{size[1]}", "--hide-scrollbars", *scheme)


def phone(browser: str, page: Path, to: Path) -> None:
    """In a frame, because a window does not get so narrow."""
    frame = page.with_suffix(".frame.html")
    frame.write_text(_FRAME.format(page=page.name, width=PHONE[0], height=PHONE[1]), encoding="utf-8")
    picture(browser, frame, to, PHONE)
    frame.unlink()


def drive(browser: str, page: Path, *options: str) -> None:
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *options, page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    place, *wanted = sys.argv[1:] or [f"{tempfile.gettempdir()}/hostagent-look"]
    if place.endswith(".png"):
        shown(Path(place))
    else:
        main(Path(place), wanted or (*NAMED, *(name for name in MAPPED if name not in NAMED)))
