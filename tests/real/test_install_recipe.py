"""What docs/install.md shows is what its commands print on a real root."""

import pytest

from tests.real.conftest import need_real
from tests.real.recipe import PLACE, played, settled


@pytest.mark.alone
def test_the_commands_of_the_recipe_end_and_say_as_the_page_shows():
    need_real("mmdebstrap", "sudo bash tests/real/install.sh")
    for scene, code, text in played():
        shown = (PLACE / f"{scene.name}.txt").read_text(encoding="utf-8")
        assert (code, settled(text)) == (scene.code, settled(shown)), "run 'make recipe' and read the difference"
