"""Reading package databases, pins, locks and sources from a host made of a dictionary."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.packages.read_apt import parse_sources_deb822, parse_sources_list
from hostagent.domains.packages.read_packages import owners, read_packages
from hostagent.domains.packages.read_version_locks import parse_preferences, parse_versionlock, regex_glob
from hostagent.domains.runtime.read_toolkit import read_toolkit
from hostagent.facts.packages import Packages, VersionLock
from hostagent.facts.runtime import Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.testing import host

STATUS = "/var/lib/dpkg/status"
RPM = "/var/lib/rpm/rpmdb.sqlite"
QUERY = r"run rpm --dbpath /var/lib/rpm -qa --queryformat %{NAME}\t%{EPOCH}\t%{VERSION}-%{RELEASE}\t%{ARCH}\t%{VENDOR}\t%{SOURCERPM}\n"


def stanza(name, version, status="install ok installed", arch="amd64", **fields):
    extra = "".join(f"{key}: {value}\n" for key, value in fields.items())
    return f"Package: {name}\nStatus: {status}\nPriority: optional\n{extra}Architecture: {arch}\nVersion: {version}\nDescription: x\n y\n\n"


def read(files, kind="live") -> Packages:
    return read_packages(host(files, kind), lambda _: None)


def read_tool(files, kind="live", runtimes=()) -> Toolkit:
    source = host(files, kind)
    return read_toolkit(source, lambda kind: read_packages(source, lambda _: None) if kind is Packages else runtimes)


def rpm_row(name, version, epoch="(none)", vendor="NVIDIA"):
    return f"{name}\t{epoch}\t{version}\tx86_64\t{vendor}\t{name}-{version}.src.rpm\n"


def dnf_host(**files):
    """With a package, as every host has."""
    return rpm_host(rpm_row("dkms", "3.2.2-1.el9"), **files)


def rpm_host(rows, **files):
    return {RPM: "x", QUERY: {"exit_code": 0, "stdout": rows, "stderr": ""}, **files}


def test_only_known_families_are_kept_sorted_and_stripped():
    text = stanza("nvidia-utils-580", "580.126.09-0ubuntu0.24.04.1") + stanza("bash", "5.2") + stanza("dkms", "3.0.11-1")
    found = read({STATUS: text})
    assert [(one.name, one.upstream, one.origin) for one in found.installed] == [
        ("dkms", "3.0.11", "cuda"),
        ("nvidia-utils-580", "580.126.09", "distribution"),
    ]
    assert (found.manager, found.interrupted) == ("dpkg", False)


def test_a_removed_package_with_configuration_left_is_not_installed():
    assert read({STATUS: stanza("nvidia-utils-570", "570.1", "deinstall ok config-files")}).installed == ()


@pytest.mark.parametrize(
    ("status", "state", "held"),
    [
        ("install ok half-configured", "half-configured", False),
        ("hold ok installed", "installed", True),
        ("install reinstreq half-installed", "half-installed reinstreq", False),
        ("install ok triggers-awaited", "triggers-awaited", False),
    ],
)
def test_state_and_hold_are_dpkgs_words(status, state, held):
    (one,) = read({STATUS: stanza("nvidia-dkms-580-open", "580.95.05-1ubuntu1", status)}).installed
    assert (one.state, one.held) == (state, held)


def test_an_interrupted_dpkg_leaves_numbered_files():
    status = {STATUS: stanza("nvidia-utils-580", "580.95.05-1ubuntu1")}
    assert read({**status, "/var/lib/dpkg/updates/0000": "x"}).interrupted is True
    assert read({**status, "/var/lib/dpkg/updates/tmp.i": "x"}).interrupted is False
    assert read({**status, "/var/lib/dpkg/updates/0000": "x", "list /var/lib/dpkg/updates": Unread("denied")}).interrupted.why == "denied"


@pytest.mark.parametrize(
    "text",
    ["Package: nvidia-utils-580\nVersion: 1\n", "Package: nvidia-utils-580\nStatus: install ok installed\n", stanza("nvidia", "1") + "\0"],
)
def test_a_damaged_status_is_an_error_that_names_the_file(text):
    found = read({STATUS: text}).installed
    assert found.why == "error"
    assert STATUS in found.detail


def test_a_host_without_a_package_manager_says_so():
    found = read({"/etc/os-release": "ID=talos\n"})
    assert (found.manager.why, found.installed.why) == ("absent", "absent")


def test_an_empty_dpkg_database_on_an_rpm_host_is_passed_over():
    found = read(rpm_host(rpm_row("nvidia-driver-cuda", "580.95.05-1.el9", epoch="3"), **{STATUS: ""}))
    assert found.manager == "rpm"
    assert [(one.version, one.upstream, one.origin) for one in found.installed] == [("3:580.95.05-1.el9", "580.95.05", "cuda")]


def test_a_database_that_may_not_be_looked_at_is_not_another_manager_and_not_none():
    for path in (STATUS, RPM):
        found = read({path: Unread("denied")})
        values = (found.manager, found.installed, found.interrupted, found.apt_sources, found.module_streams, found.unattended_upgrades)
        assert [one.why for one in values] == ["denied"] * 6, path
    assert read(rpm_host("", **{STATUS: Unread("denied")})).manager.why == "denied"


def test_an_rpm_database_that_rpm_cannot_read_is_unread():
    assert read({RPM: "x"}).installed.why == "error"
    assert read({RPM: "x", QUERY: Unread("timeout")}).installed.why == "timeout"
    assert read({RPM: "x", QUERY: {"exit_code": 1, "stdout": "", "stderr": "error: cannot open"}}).installed.why == "error"
    assert read({RPM: "x", QUERY: {"exit_code": 0, "stdout": "nvidia-driver\n", "stderr": ""}}).installed.why == "error"


def test_what_rpm_skipped_is_not_what_is_not_installed():
    row = rpm_row("nvidia-driver-cuda", "580.95.05-1.el9")
    skipped = "warning: Found bdb_ro Packages database\nerror: rpmdbNextIterator: skipping h#  7 blob size(8): BAD\n"
    found = read({RPM: "x", QUERY: {"exit_code": 0, "stdout": row, "stderr": skipped}}).installed
    assert (found.why, found.detail) == ("error", "rpm -qa: error: rpmdbNextIterator: skipping h#  7 blob size(8): BAD")
    assert read(rpm_host("")).installed == Unread("error", "rpm -qa: there is a database, and no package in it")
    warned = {"exit_code": 0, "stdout": row, "stderr": "warning: Found bdb_ro Packages database\n"}
    assert [one.name for one in read({RPM: "x", QUERY: warned}).installed] == ["nvidia-driver-cuda"]


def test_an_owner_is_unread_where_rpm_skips_a_package():
    question = r"run rpm --dbpath /var/lib/rpm -q --queryformat [%{FILENAMES}\t%{=NAME}\n] nvidia-driver-cuda-libs"
    answer = {"exit_code": 0, "stdout": "", "stderr": "error: rpmdbNextIterator: skipping h#  7 blob size(8): BAD\n"}
    files = rpm_host(rpm_row("nvidia-driver-cuda-libs", "580.95.05-1.el9"), **{question: answer})
    assert owners(host(files), read(files), ["/lib64/a"])["/lib64/a"].why == "error"


def test_a_pin_of_nvidias_pinning_package_holds_by_name_and_by_source():
    pin = "Package: cuda-drivers* src:nvidia-graphics-drivers-580:any\nPin: version 580.126.09-*\nPin-Priority: 1000\n"
    text = (
        stanza("libnvidia-compute-580", "580.126.09-1ubuntu1", Source="nvidia-graphics-drivers-580")
        + stanza("cuda-drivers-580", "580.126.09-1")
        + stanza("nvidia-fabricmanager", "580.126.09-1", Source="fabricmanager")
        + stanza("libnvidia-gl-580", "580.95.05-1ubuntu1", Source="nvidia-graphics-drivers-580 (580.95.05-1)")
    )
    found = read({STATUS: text, "/etc/apt/preferences.d/nvidia-driver-pin": pin})
    assert {one.name: one.held for one in found.installed} == {
        "cuda-drivers-580": True,
        "libnvidia-compute-580": True,
        "libnvidia-gl-580": False,
        "nvidia-fabricmanager": False,
    }


def test_a_pin_below_the_ordinary_priority_or_to_a_release_holds_nothing():
    text = "Package: nvidia-*\nPin: version 580*\nPin-Priority: 400\n\nPackage: *\nPin: release l=NVIDIA CUDA\nPin-Priority: 600\n"
    assert parse_preferences(text, "f") == ()


def test_a_preferences_file_with_a_wrong_name_is_ignored_and_reported():
    pin = "Package: nvidia-*\nPin: version 580*\nPin-Priority: 1001\n"
    directory = "/etc/apt/preferences.d"
    found = read({STATUS: stanza("nvidia-utils-580", "580.1-1"), **{f"{directory}/{name}": pin for name in ("a.conf", "b.pref.bak", "c")}})
    assert found.ignored_preferences == (f"{directory}/a.conf",)
    assert [lock.file for lock in found.locks] == [f"{directory}/c"]


def test_versionlocks_of_both_dnfs_zypper_and_tdnf_are_read():
    found = read(
        rpm_host(
            rpm_row("nvidia-driver-cuda", "580.95.05-1.el9", epoch="3") + rpm_row("nvidia-imex", "580.95.05-1.el9"),
            **{
                "/etc/dnf/plugins/versionlock.list": "nvidia-driver-cuda-3:580.95.05-1.el9.*\n",
                "/etc/dnf/versionlock.toml": 'version = "1.0"\n[[packages]]\nname = "kmod-nvidia-open-dkms"\n',
                "/etc/zypp/locks": "type: package\nsolvable_name: nvidia-compute-G06\n",
                "/etc/tdnf/locks.d/nvidia.conf": "nvidia-container-toolkit\n",
            },
        )
    )
    assert {one.name: one.held for one in found.installed} == {"nvidia-driver-cuda": True, "nvidia-imex": False}
    assert [lock.package for lock in found.locks] == [
        "nvidia-driver-cuda",
        "kmod-nvidia-open-dkms",
        "nvidia-compute-G06",
        "nvidia-container-toolkit",
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/dnf/versionlock.toml", "packages = 3"),
        ("/etc/dnf/versionlock.toml", "= 1"),
        ("/etc/dnf/plugins/versionlock.list", "x\n" * 2000),
        ("/etc/dnf/plugins/versionlock.list", "x" * 500),
    ],
)
def test_a_lock_file_that_cannot_be_understood_is_an_error(path, text):
    found = read(rpm_host("", **{path: text}))
    assert found.locks.why == "error"


def test_sources_are_kept_without_credentials_and_only_nvidias():
    text = "deb [arch=amd64 signed-by=/k.gpg trusted=yes] https://me:secret@mirror/compute/cuda/repos/debian12/x86_64 /\ndeb http://deb/debian sid main\n"
    (one,) = parse_sources_list(text, "f")
    assert (one.uri, one.trusted) == ("https://mirror/compute/cuda/repos/debian12/x86_64/", True)


def test_an_old_toolkit_list_and_an_embedded_key_are_told_apart():
    text = "Types: deb\nURIs: http://m/libnvidia-container/stable/deb/amd64\nSuites: /\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"
    assert parse_sources_deb822(text, "f")[0].signed_by == "embedded"


def test_unattended_upgrades_are_read_as_apt_reads_its_configuration():
    text = stanza("unattended-upgrades", "2.9.1") + stanza("apt", "2.7.14")
    conf = {
        "/etc/apt/apt.conf.d/20auto-upgrades": 'APT::Periodic::Unattended-Upgrade "1";\n',
        "/etc/apt/apt.conf.d/50unattended-upgrades": '// x\nUnattended-Upgrade::Allowed-Origins {\n "${distro_id}:${distro_codename}-security";\n};\n'
        'Unattended-Upgrade::Package-Blacklist {\n  "nvidia-";\n  "libnvidia-.*$";\n};\n',
        "/etc/apt/apt.conf.d/99ignored.bak": 'APT::Periodic::Unattended-Upgrade "0";\n',
    }
    found = read({STATUS: text, **conf})
    assert (found.unattended_upgrades, found.unattended_blacklist) == (True, ("nvidia-*", "libnvidia-*"))
    assert found.unattended_origins == ("${distro_id}:${distro_codename}-security",)
    assert found.apt_version == "2.7.14"
    timer = {"/etc/systemd/system/apt-daily-upgrade.timer": ("link", "/dev/null")}
    assert read({STATUS: text, **conf, **timer}).unattended_upgrades is False
    assert read({STATUS: stanza("apt", "2.7.14"), **conf}).unattended_upgrades is False


def test_dnf_automatic_upgrades_only_with_a_timer_that_installs():
    conf = {"/etc/dnf/automatic.conf": "[commands]\napply_updates = yes\n[base]\nexcludepkgs=*nvidia* cuda*\n"}
    timers = "/etc/systemd/system/timers.target.wants"
    assert read(dnf_host(**conf)).unattended_upgrades is False
    found = read(dnf_host(**conf, **{f"{timers}/dnf-automatic.timer": ""}))
    assert (found.unattended_upgrades, found.unattended_blacklist) == (True, ("*nvidia*", "cuda*"))
    assert read(dnf_host(**conf, **{f"{timers}/dnf-automatic-notifyonly.timer": ""})).unattended_upgrades is False
    assert read(dnf_host(**{f"{timers}/dnf-automatic-install.timer": ""})).unattended_upgrades is True


def test_the_enabled_stream_of_a_module_is_read():
    text = "[nvidia-driver]\nname=nvidia-driver\nstream=580-open\nprofiles=\nstate=enabled\n"
    assert read(rpm_host("", **{"/etc/dnf/modules.d/nvidia-driver.module": text})).module_streams == (("nvidia-driver", "580-open"),)


def test_the_owner_of_a_library_is_found_on_both_sides_of_a_merged_usr():
    files = {
        STATUS: stanza("libnvidia-compute-580", "580.1-1", **{"Multi-Arch": "same"}) + stanza("nvidia-utils-580", "580.1-1"),
        "/var/lib/dpkg/info/libnvidia-compute-580:amd64.list": "/.\n/lib/x86_64-linux-gnu/libcuda.so.580.1\n",
        "/var/lib/dpkg/info/nvidia-utils-580.list": "/usr/bin/nvidia-smi\n",
    }
    found = owners(host(files), read(files), ["/usr/lib/x86_64-linux-gnu/libcuda.so.580.1", "/usr/lib/libnvidia-ml.so.570.1"])
    assert list(found.values()) == ["libnvidia-compute-580", ""]


def test_an_owner_is_unread_where_a_list_of_files_is():
    files = {STATUS: stanza("libcuda1", "535.1-1"), "/var/lib/dpkg/info/libcuda1:amd64.list": Unread("denied")}
    assert owners(host(files), read(files), ["/x"])["/x"].why == "denied"


def test_rpm_is_asked_once_for_all_owners():
    question = r"run rpm --dbpath /var/lib/rpm -q --queryformat [%{FILENAMES}\t%{=NAME}\n] nvidia-driver-cuda-libs"
    answer = {"exit_code": 0, "stdout": "/usr/lib64/a\tnvidia-driver-cuda-libs\n", "stderr": ""}
    files = rpm_host(rpm_row("nvidia-driver-cuda-libs", "580.95.05-1.el9"), **{question: answer})
    assert owners(host(files), read(files), ["/lib64/a", "/b"]) == {"/lib64/a": "nvidia-driver-cuda-libs", "/b": ""}
    assert owners(host(files | {question: Unread("timeout")}), read(files), ["/b"])["/b"].why == "timeout"


def test_the_lowest_of_the_toolkits_packages_is_its_version():
    names = ("libnvidia-container-tools", "libnvidia-container1", "nvidia-container-toolkit", "nvidia-container-toolkit-base")
    text = "".join(stanza(name, "1.19.0-1" if name == "libnvidia-container1" else "1.20.0-1") for name in names)
    found = read_tool({STATUS: text, "/usr/local/nvidia/toolkit/libnvidia-container.so.1.19.1": ""})
    assert (found.version, found.operator_version, len(found.packages)) == ("1.19.0", "1.19.1", 4)


def test_the_program_is_asked_only_where_no_package_tells():
    run = {"exit_code": 0, "stdout": "NVIDIA Container Toolkit CLI version 1.19.0-rc.1\ncommit: x\n", "stderr": ""}
    found = read_tool({"/usr/bin/nvidia-ctk": "elf", "run /usr/bin/nvidia-ctk --version": run})
    assert (found.version, found.packages, found.operator_version) == ("1.19.0~rc.1", (), "")


def test_a_system_that_nobody_adds_packages_to_has_it_below_usr_local():
    run = {"exit_code": 0, "stdout": "NVIDIA Container Toolkit CLI version 1.19.1\n", "stderr": ""}
    found = read_tool({"/usr/local/bin/nvidia-ctk": "elf", "run /usr/local/bin/nvidia-ctk --version": run})
    assert (found.version, [path for path, _ in found.binaries]) == ("1.19.1", ["/usr/local/bin/nvidia-ctk"])


def test_a_toolkit_whose_program_does_not_answer_is_no_missing_one():
    found = read_tool({"/usr/bin/nvidia-ctk": "elf", "run /usr/bin/nvidia-ctk --version": Unread("denied", "run")})
    assert found.version == Unread("denied", "run")
    assert read_tool({"stat /usr/bin/nvidia-ctk": Unread("timeout", "stat")}).version.why == "timeout"


def test_no_toolkit_is_absent_and_an_unreadable_database_is_not():
    assert read_tool({STATUS: stanza("apt", "2.7")}).version.why == "absent"
    assert read_tool({STATUS: "Package: nvidia-ctk\n"}).version.why == "error"


def test_a_configuration_of_the_toolkit_that_is_no_toml_says_where():
    path = "/etc/nvidia-container-runtime/config.toml"
    found = read_tool({path: "[nvidia-container-runtime]\nmode = \n"})
    assert "line 2" in found.config_error
    assert found.mode.why == "error"
    assert read_tool({path: "[nvidia-container-cli]\n"}).mode == "auto"


def test_an_expression_that_says_more_than_a_glob_names_nothing():
    assert regex_glob("linux-(image|modules)-.*") == "linux-(image|modules)-.*"
    assert regex_glob("(a+)+$") == "(a+)+$"


def test_a_lock_without_a_version_holds_any():
    assert parse_versionlock("nvidia-driver\n", "f") == (VersionLock("f", "nvidia-driver", ""),)


def test_the_toolkit_of_dockers_snap_is_beside_it():
    program = "/snap/docker/current/usr/bin/nvidia-ctk"
    run = {"exit_code": 0, "stdout": "NVIDIA Container Toolkit CLI version 1.19.1\n", "stderr": ""}
    files = {program: "elf", f"run {program} --version": run}
    snaps = Runtime(**(dict.fromkeys(Runtime.__dataclass_fields__, ()) | {"key": "docker"}))
    found = read_tool(files, runtimes=(snaps,))
    assert [path for path, _ in found.binaries] == [program]
    assert found.version == "1.19.1"
