"""What docs/install.md shows is what its commands print on a real root."""

import pytest

from tests.real.conftest import need_real
from tests.real.recipe import PLACE, SCENES, played, settled

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def scenes():
    need_real("mmdebstrap", "sudo bash tests/real/install.sh")
    return {scene.name: (code, text) for scene, code, text in played()}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_command_of_the_recipe_ends_and_says_as_the_page_shows(scenes, scene):
    code, text = scenes[scene.name]
    shown = (PLACE / f"{scene.name}.txt").read_text(encoding="utf-8")
    assert (code, settled(text)) == (scene.code, settled(shown)), "run 'make recipe' and read the difference"
