"""The change that CONTRIBUTING shows in full is a change that exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_file_shown_is_the_file_itself():
    shown = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert len(shown) == 3
    for path, text in shown:
        assert (ROOT / path).read_text() == text, path
