"""Our orders of versions against those of dpkg and rpm, pair by pair."""

import itertools
import random
import subprocess

import pytest

from hostagent.facts.version import compare_deb, compare_rpm
from tests.real.conftest import need_real

PAIRS = 2500
#: Versions that packages of NVIDIA, Debian, Ubuntu and RHEL really have, and the corners of both documents.
REAL = (
    *("580.65.06", "580.82.07", "580.95.05", "580.105.08", "580.126.09", "580.126.20", "580.142", "580.159.03", "580", "580.", "590.48.01"),
    *("1.19.0", "1.19.0~rc.1", "1.19.0~rc.2", "1.19.0rc1", "1.19.0^git1", "1.19.0^", "1.19.0~", "1.19.1", "1.19", "1.20.0", "1.9.0"),
    *(
        "1.0~",
        "1.0~~",
        "1.0~^",
        "1.0^~",
        "1.0^1",
        "1.0^^",
        "0",
        "00",
        "",
        "a",
        "A",
        "z1",
        "1a",
        "1.a",
        "1..0",
        "0.0",
        "01.1",
        "1.01",
        "1.10",
    ),
    *("20151021+13", "6.8.0", "5.14.0", "1.7.24~ds1", "28.5.2", "1.2.3+dfsg", "1.2.3.dfsg", "550.163.01", "535.261.03"),
)
REVISIONS = (
    "",
    "-1",
    "-1ubuntu1",
    "-0ubuntu0.24.04.1",
    "-0ubuntu0.24.10.1",
    "-0ubuntu1",
    "-1~deb12u1",
    "-1+b1",
    "-2",
    "-503.el9",
    "-0",
    "-1.el9",
)
EPOCHS = ("", "0:", "1:", "3:", "10:")
PIECES = (*"0123456789", "00", "10", "99", ".", "..", "~", "^", "+", "_", "a", "b", "rc", "el9", "Z")


def _random_version(chance: random.Random, pieces: tuple[str, ...]) -> str:
    return "".join(chance.choice(pieces) for _ in range(chance.randint(0, 8)))


def _pairs(left: list[str], generated: "list[str]", chance: random.Random) -> list[tuple[str, str]]:
    pairs = list(itertools.product(left, left))
    chance.shuffle(pairs)
    mixed = [*zip(generated[::2], generated[1::2], strict=False), *((one, chance.choice(left)) for one in generated[:300])]
    return pairs[: PAIRS - len(mixed)] + mixed


def _deb_pairs() -> list[tuple[str, str]]:
    chance = random.Random(580)
    pieces = tuple(piece for piece in PIECES if piece not in "^_")
    bodies = [one for one in REAL if one[:1].isdigit() and "^" not in one]
    full = [epoch + body + revision for epoch, body, revision in itertools.product(EPOCHS, bodies, REVISIONS)]
    generated = [chance.choice(EPOCHS) + "1" + _random_version(chance, pieces) + chance.choice(REVISIONS) for _ in range(1500)]
    return _pairs(chance.sample(full, 200), generated, chance)


def _dpkg_order(pairs: list[tuple[str, str]]) -> list[int]:
    """Both questions for all pairs in one shell: a process a pair would take minutes."""
    script = 'while read -r a b; do if dpkg --compare-versions "$a" lt "$b"; then echo -1; elif dpkg --compare-versions "$a" gt "$b"; then echo 1; else echo 0; fi; done'
    lines = "".join(f"{a} {b}\n" for a, b in pairs)
    done = subprocess.run(["/bin/sh", "-c", script], input=lines, capture_output=True, text=True, timeout=120, check=True)
    assert "warning" not in done.stderr, done.stderr[:500]
    return [int(line) for line in done.stdout.split()]


def test_the_order_of_debian_versions_is_dpkgs():
    need_real("dpkg", "apt-get install dpkg")
    pairs = _deb_pairs()
    assert len(pairs) >= 2000
    wrong = [(a, b, want) for (a, b), want in zip(pairs, _dpkg_order(pairs), strict=True) if compare_deb(a, b) != want]
    assert wrong == []


def test_the_order_of_rpm_versions_is_rpms(tmp_path):
    need_real("rpm", "apt-get install rpm")
    chance = random.Random(580)
    generated = [_random_version(chance, PIECES) for _ in range(1500)]
    pairs = [(a, b) for a, b in _pairs(list(REAL), generated, chance) if a and b]  # rpm.vercmp refuses an empty text
    assert len(pairs) >= 2000
    rows = "\n".join(f'print(rpm.vercmp("{a}", "{b}") .. " ")' for a, b in pairs)  # print adds no line of its own
    script = tmp_path / "order.lua"
    script.write_text(rows)
    done = subprocess.run(["rpm", "--eval", f'%{{lua:dofile("{script}")}}'], capture_output=True, text=True, timeout=60, check=True)
    wants = [int(line) for line in done.stdout.split()]
    wrong = [(a, b, want) for (a, b), want in zip(pairs, wants, strict=True) if compare_rpm(a, b) != want]
    assert wrong == []


@pytest.mark.parametrize(("left", "right", "order"), [("1.0", "1.0~rc1", 1), ("1.0^git", "1.0", 1), ("1.0^git", "1.0.1", -1)])
def test_the_marks_of_rpm_mean_what_its_manual_says(left, right, order):
    assert compare_rpm(left, right) == order
