"""What README and reference show is what the program does."""

import json
import re

import pytest

from hostagent.cli import COMMANDS
from hostagent.profiles.files import names
from tests.readme import OUTPUT, PAGES, ROOT, SHOWN, output, rendered

README, REFERENCE = (page.read_text(encoding="utf-8") for page in PAGES)
DOCUMENTS = [
    *PAGES,
    *(ROOT / name for name in ("DESIGN.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "changes/README.md")),
    *(ROOT / name for name in ("tests/README.md", "tests/bench/RESULTS.md")),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "hostagent").rglob("*.md"),
]
#: One decision each; `README.md` lists them.
DECISIONS = sorted((ROOT / "docs/adr").glob("[0-9]*.md"))
#: Bytes that a page may have, so that people read it whole.
SIZES = {"DESIGN.md": 15_000, "CONTRIBUTING.md": 5_120} | {str(page.relative_to(ROOT)): 1_536 for page in DECISIONS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_written_part_is_what_the_program_prints_today(page):
    assert page.read_text(encoding="utf-8") == rendered(page), "run 'make docs' and commit the result"


def test_an_answer_that_a_snapshot_lacks_never_gets_into_the_readme(tmp_path):
    recorded = json.loads((ROOT / "tests/hosts/hgx-h100-ubuntu2404/tape.json").read_text(encoding="utf-8"))
    del recorded["answers"]["read /sys/module/nvidia/version"]
    (tmp_path / "tape.json").write_text(json.dumps(recorded))
    with pytest.raises(SystemExit, match="Run 'make hosts'"):
        output(f"hostagent check --from {tmp_path}")


def test_a_command_that_reaches_no_verdict_never_gets_into_the_readme(tmp_path):
    with pytest.raises(SystemExit, match=r"ended with 2 and reached no verdict. It said:\nError: "):
        output(f"hostagent check --from {tmp_path}")


def test_the_readme_is_short():
    """Without what commands print, ours and, by tests/real/test_slurm_page.py, Slurm's."""
    assert len(SHOWN.sub("", OUTPUT.sub("", README)).splitlines()) <= 125


def test_the_picture_is_one_that_every_browser_shows_at_once():
    picture = ROOT / "docs/report.png"
    assert f"]({picture.relative_to(ROOT)})" in README
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 200_000


def test_the_reference_names_every_command_and_profile():
    assert set(re.findall(r"^\| `hostagent ([a-z]+)", REFERENCE, re.MULTILINE)) == set(COMMANDS)
    assert set(re.findall(r"^\| `([a-z][a-z0-9.-]*)` \|", REFERENCE.partition("## Profiles")[2], re.MULTILINE)) == set(names())


@pytest.mark.parametrize("page", sorted(set(DOCUMENTS)), ids=lambda page: page.name)
def test_every_link_to_a_file_or_heading_of_ours_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked.read_text(encoding="utf-8")), target


def anchors(text):
    """The headings of a page as GitHub names them, and its own anchors."""
    return set(re.findall(r'<a id="([\w-]+)"></a>', text)) | {
        re.sub(r"[^\w -]", "", line.lstrip("# ")).strip().lower().replace(" ", "-") for line in text.splitlines() if line.startswith("#")
    }


def test_pages_that_are_read_whole_stay_short():
    assert {name: size for name in SIZES if (size := (ROOT / name).stat().st_size) > SIZES[name]} == {}


def test_each_domain_has_a_page_of_at_most_twenty_lines():
    lines = {
        page.parent.name: len(page.read_text(encoding="utf-8").splitlines()) for page in (ROOT / "hostagent/domains").glob("*/README.md")
    }
    assert sorted(lines) == ["driver", "gpu", "kubelet", "nccl", "network", "packages", "runtime", "slurm", "system", "topology"]
    assert max(lines.values()) <= 20


def test_each_decision_has_its_number_its_parts_and_a_line_in_the_list():
    rows = re.findall(r"^\| (\d{4}) \| \[(.+)\]\((.+)\) \|$", (ROOT / "docs/adr/README.md").read_text(encoding="utf-8"), re.MULTILINE)
    listed = sorted(rows)
    assert [(number, name) for number, _, name in listed] == [(page.name[:4], page.name) for page in DECISIONS]
    parts = r"# (\d{4}): (.+)\n\nDate: \d{4}-\d\d-\d\d\n\n\*\*Context\.\*\* .+\n\n\*\*Decision\.\*\* .+\n\n\*\*Alternatives\.\*\* .+"
    for (number, title, name), page in zip(listed, DECISIONS, strict=True):
        assert re.findall(rf"\A{parts}\Z", page.read_text(encoding="utf-8"), re.DOTALL) == [(number, title)], name


def test_every_profile_key_and_check_of_the_site_file_example_exists(tmp_path):
    from hostagent.engine import catalogue
    from hostagent.engine.evaluate import params
    from hostagent.profiles import profile

    example = re.search(r"<!-- site file -->\n```yaml\n(.*?)```", REFERENCE, re.DOTALL)[1]
    (tmp_path / "profile.yaml").write_text(example)
    loaded = profile.load("", site_file=str(tmp_path / "profile.yaml"))
    checks = catalogue.load(loaded.profile.catalogues)
    catalogue.refuse_unknown_ids(checks, loaded)
    for one in checks:
        policy = loaded.profile.checks.get(one.id)
        if policy and policy.params:
            params(one, policy)
    assert loaded.profile.gpus.count == 8
