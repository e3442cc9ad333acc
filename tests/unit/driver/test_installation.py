"""What a change of the host needs to know, read from a host made of a dictionary."""

import json

import pytest

from hostagent.core.retention import Filtered, merged
from hostagent.core.unread import Unread
from hostagent.domains.driver.read_installation import read_installation
from hostagent.engine.collect import ALL_READERS, CHANGE_READERS, READERS, collect, with_needs
from hostagent.facts.host import Machine, Services
from hostagent.facts.packages import Packages
from hostagent.facts.runtime import Runtime
from hostagent.snapshot.keeping import filtered, kept
from hostagent.testing import TreeBackend, host

STATUS, STATES = "/var/lib/dpkg/status", "/var/lib/apt/extended_states"
RPM = "/var/lib/rpm/rpmdb.sqlite"
QUERY = r"run rpm --dbpath /var/lib/rpm -qa --queryformat %{NAME}\t%{EPOCH}\t%{VERSION}-%{RELEASE}\t%{ARCH}\t%{VENDOR}\t%{SOURCERPM}\n"
BASH = "Package: bash\nStatus: install ok installed\nMaintainer: Jane <jane@example.com>\nArchitecture: amd64\nVersion: 5.2-3\n\n"
DOCKER = {
    "/usr/bin/dockerd": "",
    "run /usr/bin/dockerd --version": {"exit_code": 0, "stdout": "Docker version 28.5.2, build x", "stderr": ""},
}
LIVE = {"processes": [], "sockets": [], "shims": {}, "gpu_users": []}


def read(files, kind="live"):
    facts, _ = collect(host({STATUS: BASH, **LIVE, **files}, kind), ["Installation"])
    return facts.of(_kind("Installation"))


def _kind(name):
    return type(name, (), {})


def rpm_host(rows, **files):
    return {STATUS: "", RPM: "x", QUERY: {"exit_code": 0, "stdout": rows, "stderr": ""}, **files}


def dockerd(*argv, started_at=100.0):
    return {"pid": 7, "name": "dockerd", "argv": ["/usr/bin/dockerd", *argv], "started_at": started_at, "unit": "docker.service"}


def test_check_reads_none_of_it():
    assert not set(CHANGE_READERS) & set(with_needs(READERS))
    facts, times = collect(host({}))
    assert "Installation" not in times
    assert facts.of(_kind("Installation")).why == "not-recorded"
    assert set(ALL_READERS) == set(READERS) | set(CHANGE_READERS)


def test_it_declares_what_it_is_read_from():
    asked = set()

    def known(kind):
        asked.add(kind.__name__)
        return {"Packages": Unread("absent"), "Runtime": ()}[kind.__name__]

    read_installation(host(LIVE), known)
    assert asked == set(CHANGE_READERS["Installation"].needs)
    assert not {Packages.__name__, Runtime.__name__} - asked
    assert {Machine.__name__, Services.__name__} <= set(with_needs(["Installation"]))


def test_every_package_has_its_state_hold_and_mark():
    text = BASH + (
        "Package: nvidia-utils-580\nStatus: hold ok half-configured\nArchitecture: amd64\nVersion: 580.1-1\nDescription: a\n Package: not-one\n\n"
        "Package: tzdata\nStatus: install ok installed\nArchitecture: all\nVersion: 2026a\n\n"
        "Package: gone\nStatus: deinstall ok not-installed\nArchitecture: amd64\n\n"
        "Package: left\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n\n"
        "Package: broken\nStatus: install reinstreq half-installed\nArchitecture: i386\nVersion: 1\n"
    )
    states = "Package: tzdata\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: bash\nArchitecture: i386\nAuto-Installed: 1\n"
    found = read({STATUS: text, STATES: states}).packages
    assert [(one.name, one.state, one.held, one.automatic) for one in found] == [
        ("bash", "installed", False, False),
        ("broken", "half-installed reinstreq", False, False),
        ("left", "config-files", False, False),
        ("nvidia-utils-580", "half-configured", True, False),
        ("tzdata", "installed", False, True),
    ]


@pytest.mark.parametrize("text", ["Package: a\nVersion: 1\n", "Package: a\nStatus: install ok\n", "Status: install ok installed\n", "\0"])
def test_a_database_that_cannot_be_read_is_no_empty_one(text):
    assert read({STATUS: text}).packages.why == "error"


def test_an_unread_mark_is_no_mark_that_is_missing():
    (bash,) = read({STATES: Unread("denied", "x")}).packages
    assert (bash.name, bash.automatic.why) == ("bash", "denied")


def test_marks_and_locks_of_the_other_package_managers():
    rows = "".join(f"{name}\t(none)\t1-1\tx86_64\tx\t{name}-1-1.src.rpm\n" for name in ("bash", "libzypp", "nvidia-driver"))
    locks = {"/etc/dnf/plugins/versionlock.list": "nvidia-driver-0:1-1.*\nbash-0:2-1.*\n"}
    zypper = read(rpm_host(rows, **{"/var/lib/zypp/AutoInstalled": "libzypp\n"}, **locks)).packages
    assert [(one.name, one.held, one.automatic) for one in zypper] == [
        ("bash", False, False),
        ("libzypp", False, True),
        ("nvidia-driver", True, False),
    ]
    toml = '[packages]\n"bash.x86_64" = { reason = "Weak Dependency" }\n"libzypp.x86_64" = { reason = "User" }\n'
    dnf5 = read(rpm_host(rows, **{"/usr/lib/sysimage/libdnf5/packages.toml": toml})).packages
    assert [one.automatic for one in dnf5] == [True, False, False]
    dnf4 = read(rpm_host(rows, **{"/var/lib/dnf/history.sqlite": "x"})).packages
    assert {one.automatic.why for one in dnf4} == {"not-supported"}
    assert {one.automatic for one in read(rpm_host(rows)).packages} == {False}


def test_who_uses_the_gpus():
    rows = [{"pid": 9, "program": "python3", "device": "/dev/nvidia0"}, {"pid": 7, "program": "x", "device": "/dev/nvidia-uvm"}]
    assert [(one.pid, one.program) for one in read({"gpu_users": rows}).gpu_users] == [(7, "x"), (9, "python3")]
    assert read({"gpu_users": [{"pid": "9"}]}).gpu_users.why == "error"
    assert read({"gpu_users": Unread("denied", "x")}).gpu_users.why == "denied"


@pytest.mark.parametrize(
    ("shims", "count"), [({}, 0), ({"moby": 2, "k8s.io": 5}, 2), ({"moby-100000.100000": 1, "moby": 1}, 2), ({"mobydick": 3}, 0)]
)
def test_containers_of_docker_are_its_shims(shims, count):
    assert read({**DOCKER, "shims": shims}).containers == count


def test_without_docker_nobody_is_asked_for_containers():
    found = read({"shims": Unread("denied", "x")})
    assert (found.containers, found.live_restore) == (0, False)
    assert read({**DOCKER, "shims": Unread("denied", "x")}).containers.why == "denied"


DAEMON_JSON = "/etc/docker/daemon.json"


@pytest.mark.parametrize(
    ("text", "processes", "found"),
    [
        ("", [dockerd()], False),
        ('{"live-restore": true}', [dockerd()], True),
        ('{"live-restore": false}', [dockerd("--live-restore")], True),
        ('{"live-restore": true}', [dockerd("--live-restore=false")], False),
        ('{"live-restore": true}', [], True),
        ('{"live-restore": true}', [dockerd(started_at=-5.0)], "error"),  # the file of this host is of the second 0
        ('{"live-restore": false}', [dockerd(started_at=-5.0)], False),
        ('{"live-restore": "yes"}', [dockerd()], "error"),
        ("{", [dockerd()], "error"),
    ],
)
def test_live_restore_is_what_the_running_dockerd_has_read(text, processes, found):
    files = {**DOCKER, **({DAEMON_JSON: text} if text else {}), "processes": processes}
    value = read(files).live_restore
    assert (value.why if isinstance(value, Unread) else value) == found


@pytest.mark.parametrize(
    ("files", "drivers"),
    [
        ({}, ()),
        ({"/etc/cloud/cloud.cfg": "users: [default]\n"}, ()),
        ({"/etc/cloud/cloud.cfg": "drivers: {nvidia: {license-accepted: true}}\n"}, ("nvidia",)),
        ({"/etc/cloud/cloud.cfg.d/99.cfg": "drivers:\n  nvidia: {license-accepted: yes, version: 580-server}\n"}, ("nvidia 580-server",)),
        ({"/etc/cloud/cloud.cfg.d/99.cfg.disabled": "drivers: {nvidia: {license-accepted: true}}\n"}, ()),
        (
            {"/var/lib/cloud/instance/cloud-config.txt": "#cloud-config\ndrivers: {nvidia: {license-accepted: true, version: 580}}\n"},
            ("nvidia 580",),
        ),
        (
            {
                "/etc/cloud/cloud.cfg": "drivers: {nvidia: {license-accepted: true, version: 550}}\n",
                "/var/lib/cloud/instance/cloud-config.txt": "drivers: {nvidia: {version: 580}}\n",
            },
            ("nvidia 580",),
        ),
        (
            {
                "/etc/cloud/cloud.cfg": "drivers: {nvidia: {license-accepted: true}}\n",
                "/var/lib/cloud/instance/cloud-config.txt": "drivers: {nvidia: {license-accepted: false}}\n",
            },
            (),
        ),
        ({"/etc/cloud/cloud.cfg": "drivers: {nvidia: [\n"}, "error"),
        ({"/var/lib/cloud/instance/cloud-config.txt": Unread("denied", "x")}, "denied"),
    ],
)
def test_drivers_that_cloud_init_installs(files, drivers):
    found = read(files).cloud_init_drivers
    assert (found.why if isinstance(found, Unread) else found) == drivers


def test_a_tape_keeps_of_user_data_what_it_says_of_drivers():
    user = "#cloud-config\npassword: hunter2\nchpasswd: {list: 'jane:hunter3'}\ndrivers: {nvidia: {license-accepted: true, version: 580}}\n"
    path = "/var/lib/cloud/instance/cloud-config.txt"
    tape, broken = taped({STATUS: BASH, **LIVE, path: user}), taped({STATUS: BASH, **LIVE, path: user.replace("version: 580", "[")})
    for one in (tape, broken):
        assert "hunter" not in repr(one)
        assert "jane" not in repr(one)
    assert read({path: tape["read", path].answer}).cloud_init_drivers == ("nvidia 580",)
    assert read({path: broken["read", path].answer}).cloud_init_drivers.why == "error"


REPO = (
    "[cuda-rhel9-x86_64]\nname=cuda\nbaseurl=https://svc:hunter2@mirror.example/cuda/repos/rhel9/x86_64?token=hunter3\n"
    "\thttps://second.example/x\nenabled=1\ngpgcheck=0\ngpgkey=https://svc:hunter2@m.example/D42D0685.pub file:///etc/k\n"
    "[private]\nmetalink=https://packages.example/priv/hunter4/el9\nenabled=0\nusername=jane\npassword=hunter5\n"
)


def test_repositories_and_what_a_tape_keeps_of_them():
    rows = "bash\t(none)\t1-1\tx86_64\tx\tbash-1-1.src.rpm\n"
    files = rpm_host(
        rows, **{"/etc/yum.repos.d/a.repo": REPO, "/etc/yum.repos.d/b.rpmsave": REPO, "/etc/dnf/dnf.conf": "[main]\ngpgcheck=1\n"}
    )
    cuda, private = read(files).repositories
    assert (cuda.id, cuda.url, cuda.enabled, cuda.checks_signatures) == (
        *("cuda-rhel9-x86_64", "https://mirror.example/cuda/repos/rhel9/x86_64"),
        *(True, False),
    )
    assert cuda.keys == ("https://m.example/D42D0685.pub", "file:///etc/k")
    assert (private.id, private.url, private.enabled, private.checks_signatures) == (
        *("private", "https://packages.example/priv/hunter4/el9"),
        *(False, True),
    )
    text = taped({**LIVE, **files})["read", "/etc/yum.repos.d/a.repo"].answer
    assert b"hunter" not in text
    assert b"jane" not in text
    again = read({**files, "/etc/yum.repos.d/a.repo": text}).repositories
    assert again[0] == cuda
    assert again[1].url == "https://packages.example/"


def test_signatures_are_checked_by_default_where_zypper_is():
    rows = "bash\t(none)\t1-1\tx86_64\tx\tbash-1-1.src.rpm\n"
    zypp, yum = (
        read(rpm_host(rows, **{f"/etc/{one}/repos.d/a.repo" if one == "zypp" else "/etc/yum.repos.d/a.repo": "[a]\nbaseurl=https://m/\n"}))
        for one in ("zypp", "yum")
    )
    assert zypp.repositories[0].checks_signatures is True
    assert yum.repositories[0].checks_signatures.why == "absent"
    assert read({}).repositories.why == "not-supported"


@pytest.mark.parametrize(
    ("files", "tool"),
    [
        ({}, ""),
        ({"/usr/sbin/update-initramfs": ""}, "update-initramfs"),
        ({"/usr/bin/dracut": "", "/sbin/mkinitrd": ""}, "dracut"),
        ({"/usr/sbin/update-initramfs": Unread("denied", "x"), "/usr/bin/dracut": ""}, "denied"),
    ],
)
def test_what_rebuilds_an_initramfs(files, tool):
    found = read(files).initramfs_tool
    assert (found.why if isinstance(found, Unread) else found) == tool


def test_keys_that_modules_are_signed_with():
    mok, dkms = "/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub"
    question = f"enrolled {mok} {dkms}"
    found = read({mok: "a", dkms: "b", question: {mok: False, dkms: True}})
    assert (found.secure_boot_keys, found.enrolled_keys) == ((mok, dkms), (dkms,))
    assert read({mok: "a", f"enrolled {mok}": Unread("denied", "x")}).enrolled_keys.why == "denied"
    assert (read({}).secure_boot_keys, read({}).enrolled_keys) == ((), ())


SECRET = 'Acquire::http::Proxy "http://svc:hunter2@proxy:3128";\n'


def test_files_are_whole_and_a_folder_tells_what_is_not_there():
    found = read({"/etc/apt/apt.conf.d/95proxy": SECRET, "/etc/modprobe.d/x.conf": "blacklist a\n", "/etc/apt/sources.list.d/a/b": "x"})
    one = found.file("/etc/apt/apt.conf.d/95proxy")
    assert (one.text, one.mode, one.uid, one.gid) == (SECRET, 0o644, 0, 0)
    for path in ("/etc/docker/daemon.json", "/etc/apt/preferences.d/hostagent-driver", "/etc/modprobe.d/hostagent.conf"):
        assert found.file(path).text.why == "absent"
    assert found.file("/etc/apt/sources.list.d/a/b").why == "not-recorded"
    assert found.file("/etc/passwd").why == "not-recorded"
    assert [one.path for one in found.files] == sorted(one.path for one in found.files)


def test_a_file_that_is_no_text_or_too_large_has_none():
    found = read({"/etc/modprobe.d/a.conf": b"\xff", "/etc/modprobe.d/b.conf": "#" * 300_000})
    assert {found.file(f"/etc/modprobe.d/{one}.conf").text.why for one in "ab"} == {"error"}


def taped(files):
    """What a tape keeps of a pass that read everything."""
    answers = {}

    class Heard(TreeBackend):
        def ask(self, method, *arguments):
            answers[(method, *arguments)] = answer = super().ask(method, *arguments)
            return answer

    from hostagent.host.source import Source

    collect(Source(Heard(files)), ALL_READERS)
    return kept(answers, "live", lambda text: f"{abs(hash(text)):064x}")


def test_a_tape_has_no_whole_file_and_says_so():
    daemon = json.dumps({"registry-mirrors": ["https://svc:hunter2@m/"], "live-restore": True, "default-runtime": "runc"})
    files = {STATUS: BASH, **LIVE, **DOCKER, DAEMON_JSON: daemon, "/etc/apt/apt.conf.d/95proxy": SECRET}
    tape = taped(files)
    assert "hunter2" not in repr(tape)
    again = collect(host(_replayed(tape)), ["Installation"])[0].of(_kind("Installation"))
    assert again.live_restore is True
    assert again.file(DAEMON_JSON).text.why == "not-recorded"
    assert "a snapshot has no whole /etc/docker/daemon.json" in again.file(DAEMON_JSON).text.detail
    assert again.file("/etc/docker/daemon.json").mode == 0o644


def _replayed(tape):
    """The answers as a dictionary of questions; a part of an answer stays one."""
    return {" ".join(asked): answer for asked, answer in tape.items()}


def test_a_tape_keeps_every_package_and_nobody_who_made_it():
    nvidia = BASH.replace("bash", "nvidia-utils-580")
    tape = taped({STATUS: BASH + nvidia, **LIVE})
    text = tape["read", STATUS, str(64 * 1024 * 1024)].answer.decode()
    assert text.count("Package: ") == 2
    assert text.count("Maintainer: ") == 1, "only of those whose origin is read"
    assert read({STATUS: text}).packages == read({STATUS: BASH + nvidia}).packages


def test_a_tape_of_an_older_version_is_to_be_recorded_again():
    from hostagent.domains.packages.read_packages import read_packages

    source = host({STATUS: BASH + BASH.replace("bash", "dkms")})
    read_packages(source, lambda _: None)
    asked = ("read", STATUS, str(64 * 1024 * 1024))
    keep = merged(source.keeps[asked])
    older = filtered(asked, (BASH + BASH.replace("bash", "dkms")).encode(), keep, str)
    assert isinstance(older, Filtered)
    found = read({" ".join(asked): older, STATUS: "x"}).packages
    assert found.why == "not-recorded"
    assert "record again" in found.detail
