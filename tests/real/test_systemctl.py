"""systemctl and systemd-analyze judge our reading of unit files."""

import os
import random
import re
import subprocess

import pytest

from hostagent.domains.runtime.read_cdi import refresh_order
from hostagent.domains.system.read_services import UnitTree
from hostagent.testing import host
from tests.real.conftest import need_real

ETC, RUN, LOCAL, USR = "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"
NAME = "docker.service"
BODY = "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n"
WANTED = BODY + "[Install]\nWantedBy=multi-user.target\n"
ALIASED = BODY + "[Install]\nAlias=dock.service\n"
ALSO = BODY + "[Install]\nAlso=docker.socket\n"
VENDOR = f"{USR}/{NAME}"
WANTS = f"{ETC}/multi-user.target.wants/{NAME}"


def to(target):
    return ("link", target)


TREES = {
    "static": {VENDOR: BODY},
    "disabled": {VENDOR: WANTED},
    "enabled": {VENDOR: WANTED, WANTS: to(VENDOR)},
    "enabled by requires": {VENDOR: WANTED, f"{ETC}/x.target.requires/{NAME}": to(VENDOR)},
    "enabled without an install section": {VENDOR: BODY, WANTS: to(VENDOR)},
    "enabled by a relative link": {VENDOR: WANTED, WANTS: to(f"../../../../usr/lib/systemd/system/{NAME}")},
    "enabled by a dangling link": {VENDOR: WANTED, WANTS: to("/nowhere/docker.service")},
    "a file in place of the wants link": {VENDOR: WANTED, WANTS: "text"},
    "enabled at runtime": {VENDOR: WANTED, f"{RUN}/multi-user.target.wants/{NAME}": to(VENDOR)},
    "enabled at runtime and for good": {VENDOR: WANTED, f"{RUN}/m.target.wants/{NAME}": to(VENDOR), WANTS: to(VENDOR)},
    "wanted by the vendor": {VENDOR: BODY, f"{USR}/multi-user.target.wants/{NAME}": to(f"../{NAME}")},
    "disabled, wanted by the vendor": {VENDOR: WANTED, f"{USR}/multi-user.target.wants/{NAME}": to(f"../{NAME}")},
    "masked": {VENDOR: WANTED, f"{ETC}/{NAME}": to("/dev/null")},
    "masked and wanted": {VENDOR: WANTED, f"{ETC}/{NAME}": to("/dev/null"), WANTS: to(VENDOR)},
    "masked by an empty file": {VENDOR: WANTED, f"{ETC}/{NAME}": ""},
    "masked at runtime": {VENDOR: WANTED, f"{RUN}/{NAME}": to("/dev/null")},
    "masked by the vendor": {VENDOR: to("/dev/null")},
    "a runtime mask below a file in etc": {f"{ETC}/{NAME}": WANTED, f"{RUN}/{NAME}": to("/dev/null")},
    "in etc": {f"{ETC}/{NAME}": WANTED},
    "in etc over the vendor's": {f"{ETC}/{NAME}": BODY, VENDOR: WANTED},
    "in local over the vendor's": {f"{LOCAL}/{NAME}": BODY, VENDOR: WANTED},
    "in run over the vendor's": {f"{RUN}/{NAME}": WANTED, VENDOR: BODY},
    "linked": {"/opt/x/docker.service": WANTED, f"{ETC}/{NAME}": to("/opt/x/docker.service")},
    "linked and enabled": {
        "/opt/x/docker.service": WANTED,
        f"{ETC}/{NAME}": to("/opt/x/docker.service"),
        WANTS: to("/opt/x/docker.service"),
    },
    "linked at runtime": {"/opt/x/docker.service": WANTED, f"{RUN}/{NAME}": to("/opt/x/docker.service")},
    "an alias": {f"{USR}/moby.service": ALIASED, f"{ETC}/{NAME}": to(f"{USR}/moby.service")},
    "a vendor's alias": {f"{USR}/moby.service": ALIASED, VENDOR: to("moby.service")},
    "enabled by its alias": {VENDOR: ALIASED, f"{ETC}/dock.service": to(VENDOR)},
    "its alias not there": {VENDOR: ALIASED},
    "a foreign alias": {VENDOR: WANTED, f"{ETC}/other.service": to(VENDOR)},
    "an alias at runtime": {VENDOR: ALIASED, f"{RUN}/dock.service": to(VENDOR)},
    "indirect": {VENDOR: ALSO},
    "generated": {f"/run/systemd/generator/{NAME}": WANTED},
    "generated late, but installed": {f"/run/systemd/generator.late/{NAME}": BODY, VENDOR: WANTED},
    "transient": {f"/run/systemd/transient/{NAME}": BODY},
    "install section of a drop-in": {VENDOR: BODY, f"{ETC}/{NAME}.d/10.conf": "[Install]\nWantedBy=multi-user.target\n"},
    "install section cleared by a drop-in": {VENDOR: WANTED, f"{ETC}/{NAME}.d/10.conf": "[Install]\nWantedBy=\n"},
    "a masked drop-in": {
        VENDOR: BODY,
        f"{USR}/{NAME}.d/10.conf": "[Install]\nWantedBy=multi-user.target\n",
        f"{ETC}/{NAME}.d/10.conf": "",
    },
    "continued line": {VENDOR: BODY + "[Install]\nWantedBy= \\\n multi-user.target\n"},
    "commented install": {VENDOR: BODY + "[Install]\n#WantedBy=multi-user.target\n;Alias=dock.service\n"},
}


def on_disk(tree, root):
    for path, value in tree.items():
        file = f"{root}{path}"
        os.makedirs(os.path.dirname(file), exist_ok=True)
        if isinstance(value, tuple):
            os.symlink(value[1], file)
        else:
            with open(file, "w", encoding="utf-8") as stream:
                stream.write(value)


def generated(seed):
    """A tree whose parts combine at random; no links among systemd's own directories that loop."""
    pick = random.Random(seed)
    bodies = (BODY, WANTED, ALIASED, ALSO)
    tree = {VENDOR: pick.choice(bodies)} if pick.random() < 0.8 else {}
    for directory in (ETC, RUN, LOCAL):
        if pick.random() < 0.25:
            tree[f"{directory}/{NAME}"] = pick.choice((*bodies, to("/dev/null"), ""))
    for directory in (ETC, RUN, USR):
        for folder in ("multi-user.target.wants", "x.service.requires"):
            if pick.random() < 0.15:
                tree[f"{directory}/{folder}/{NAME}"] = to(VENDOR)
        if pick.random() < 0.15:
            tree[f"{directory}/{pick.choice(('dock', 'other'))}.service"] = to(VENDOR)
        if pick.random() < 0.15:
            tree[f"{directory}/{NAME}.d/10.conf"] = pick.choice(bodies)
    return tree


def differs(tree, root):
    """What systemctl says and we say, where they differ."""
    on_disk(tree, root)
    asked = subprocess.run(
        [need_real("systemctl", "apt-get install systemd"), f"--root={root}", "is-enabled", NAME],
        check=False,
        capture_output=True,
        text=True,
    )
    found = UnitTree(host({"/etc/fstab": "", **tree})).find(NAME)
    ours = found.state if found else "not-found"
    theirs = asked.stdout.strip() or ("not-found" if "No such file" in asked.stderr else asked.stderr.strip())
    return {} if ours == theirs else {"ours": ours, "theirs": theirs, "tree": tree}


@pytest.mark.parametrize("name", TREES)
def test_systemctl_has_the_same_word_for_a_tree(name, tmp_path):
    assert differs(TREES[name], str(tmp_path)) == {}


def test_systemctl_has_the_same_word_for_generated_trees(tmp_path):
    found = [differs(generated(seed), f"{tmp_path}/{seed}") for seed in range(120)]
    assert [one for one in found if one] == []


REFRESH = "[Unit]\nDescription=Refresh CDI\nAfter=multi-user.target\n[Service]\nType=oneshot\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
DOCKER = (
    "[Unit]\nDescription=Docker\nAfter=nvidia-cdi-refresh.service\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
)
ORDERS = {
    "the unit of toolkit 1.19.0 and a docker that waits for it": (REFRESH, DOCKER, ("docker.service",)),
    "the unit of toolkit 1.19.0 alone": (REFRESH, DOCKER.replace("After=nvidia-cdi-refresh.service\n", ""), ()),
    "the unit of toolkit 1.19.1": (REFRESH.replace("After=multi-user.target\n", ""), DOCKER, ()),
}


@pytest.mark.parametrize("name", ORDERS)
def test_systemd_analyze_finds_the_same_ordering_cycle(name, tmp_path):
    refresh, docker, wanted = ORDERS[name]
    wants = f"{ETC}/multi-user.target.wants"
    tree = {
        f"{ETC}/nvidia-cdi-refresh.service": refresh,
        f"{USR}/docker.service": docker,
        f"{USR}/multi-user.target": "[Unit]\nDescription=Multi-User System\n",
        f"{wants}/docker.service": to(VENDOR),
        f"{wants}/nvidia-cdi-refresh.service": to(f"{ETC}/nvidia-cdi-refresh.service"),
    }
    assert refresh_order(UnitTree(host(tree)))[1] == wanted
    # a unit path of its own wants links that lead into it, so that no unit of this machine takes part
    flat = {re.sub(r"^.*/systemd/system", "", path): value for path, value in tree.items()}
    on_disk(
        {path: to(f"../{path.rpartition('/')[2]}") if isinstance(value, tuple) else value for path, value in flat.items()}, str(tmp_path)
    )
    verify = [need_real("systemd-analyze", "apt-get install systemd"), "verify", "multi-user.target"]
    said = subprocess.run(verify, check=False, capture_output=True, text=True, env={**os.environ, "SYSTEMD_UNIT_PATH": str(tmp_path)})
    assert ("ordering cycle" in said.stderr) is bool(wanted), said.stderr
    assert all(unit in said.stderr for unit in wanted), said.stderr
