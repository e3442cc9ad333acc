"""What the README shows is what the program does."""

import json
import re

import pytest

from tests.readme import README, ROOT, output, rendered


def test_every_written_part_is_what_the_program_prints_today():
    assert README.read_text(encoding="utf-8") == rendered(), "run 'make docs' and commit the result"


def test_an_answer_that_a_snapshot_lacks_never_gets_into_the_readme(tmp_path):
    recorded = json.loads((ROOT / "tests/hosts/hgx-h100-ubuntu2404/tape.json").read_text(encoding="utf-8"))
    del recorded["answers"]["read /sys/module/nvidia/version"]
    (tmp_path / "tape.json").write_text(json.dumps(recorded))
    with pytest.raises(SystemExit, match="Run 'make hosts'"):
        output(f"hostagent check --from {tmp_path}")


def test_a_command_that_reaches_no_verdict_never_gets_into_the_readme(tmp_path):
    with pytest.raises(SystemExit, match=r"ended with 2 and reached no verdict. It said:\nError: "):
        output(f"hostagent check --from {tmp_path}")


def test_every_profile_key_and_check_of_the_site_file_example_exists(tmp_path):
    from hostagent import catalogue, profile
    from hostagent.evaluate import params

    example = re.search(r"```yaml\n(extends:.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    (tmp_path / "profile.yaml").write_text(example)
    loaded = profile.load("", site_file=str(tmp_path / "profile.yaml"))
    checks = catalogue.load(loaded.profile.catalogues)
    catalogue.refuse_unknown_ids(checks, loaded)
    for one in checks:
        policy = loaded.profile.checks.get(one.id)
        if policy and policy.params:
            params(one, policy)
    assert loaded.profile.gpus.count == 8
