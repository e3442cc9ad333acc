"""What dnf and zypper are asked before anything is changed: their answers against what they then do. Real programs, made packages."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from hostagent.install.offers.session import Host, Session
from hostagent.plan import rpmcommands
from hostagent.plan.model import Write
from hostagent.plan.offers import Offers, Question, RefreshFault
from tests.real.conftest import need_real
from tests.real.installroots import place, tree

pytestmark = pytest.mark.alone
HOW = "sudo bash tests/real/install_rpm_root.sh"
#: (name, epoch, version, release, what it requires)
PACKAGES = (
    *(("nvidia-driver-cuda", 3, version, "1.el9", f"nvidia-driver-cuda-libs = 3:{version}") for version in ("580.95.05", "580.159.03")),
    *(("nvidia-driver-cuda-libs", 3, version, "1.el9", "") for version in ("580.95.05", "580.159.03")),
    ("nvidia-container-toolkit-of-a-name-that-no-column-of-eighty-characters-has-room-for", 0, "1.19.0", "1", ""),
    *(("nvidia-container-toolkit", 0, version, "1", "") for version in ("1.9.0", "1.19.0", "1.20.0")),
    ("nvidia-old", 0, "570.1", "1", ""),
)
SPEC = "Name: {}\nEpoch: {}\nVersion: {}\nRelease: {}\nSummary: s\nLicense: none\n{}%description\ns\n%files\n"
REPO = "[cuda]\nname=cuda\nbaseurl={}\nenabled=1\ngpgcheck=0\nautorefresh=0\ntype=rpm-md\n"


@pytest.fixture
def rpm_root():
    key = hashlib.sha256(Path(__file__).with_name("install_rpm_root.sh").read_bytes()).hexdigest()[:16]
    base = need_real(f"rpm-root-{key}", HOW)
    need_real("rpmbuild", "apt-get install rpm")
    if os.geteuid() != 0:
        pytest.skip("changes its root; to enable this test run it as root")
    with place() as where:
        root = where / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", base, root], check=True)
        for number, (name, epoch, version, release, requires) in enumerate(PACKAGES):
            spec = where / f"{number}.spec"
            spec.write_text(SPEC.format(name, epoch, version, release, f"Requires: {requires}\n" if requires else ""))
            target = ["--target", "x86_64", "-D", f"_topdir {where}/top", "-D", f"_rpmdir {root}/srv/rpm"]
            subprocess.run(["rpmbuild", "-bb", "--quiet", *target, str(spec)], check=True, capture_output=True)
        inside(root, "createrepo_c", "-q", "/srv/rpm")
        for name in ("yum.repos.d", "zypp/repos.d"):
            (root / "etc" / name / "cuda.repo").write_text(REPO.format("file:///srv/rpm"))
        inside(root, "dnf", "-y", "install", "nvidia-old", "nvidia-driver-cuda-3:580.95.05-1.el9")
        yield root


def inside(root: Path, *argv: str) -> str:
    done = subprocess.run(
        ["chroot", str(root), *argv], capture_output=True, text=True, check=False, env={"PATH": "/usr/sbin:/usr/bin", "HOME": "/root"}
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def installed(root: Path) -> set[str]:
    return set(inside(root, "rpm", "-qa", "--qf", "%{NAME} %{EPOCHNUM}:%{VERSION}-%{RELEASE}\n").splitlines())


def ask(root: Path, program: str, laid, *questions: Question) -> Offers:
    session = Session(Host(str(root), "image", program, 5))
    try:
        return session.answer(Offers(asked=True), laid, questions)
    finally:
        session.close()


@pytest.mark.parametrize("program", ["dnf", "zypper"])
def test_the_answers_are_what_the_package_manager_then_does(program, rpm_root):
    """Versions newest first with their repository; the very words of later, and what they then change; nothing changes by asking."""
    long = PACKAGES[4][0]
    versions = [("nvidia-driver-cuda", "3:580.159.03-1.el9"), ("nvidia-container-toolkit", "1.19.0-1"), (long, "1.19.0-1")]
    argv = rpmcommands.install(program, versions, ["nvidia-old"])
    missing = rpmcommands.install(program, [("nvidia-container-toolkit", "9.9-1")], ())
    found = installed(rpm_root)
    before = tree(rpm_root)
    asked = Question("candidates", ("nvidia-container-toolkit", "nvidia-old", "nowhere"))
    offers = ask(rpm_root, program, (), asked, Question("transaction", argv), Question("transaction", missing))
    assert tree(rpm_root) == before
    assert offers.fault is None
    toolkit = offers.candidates["nvidia-container-toolkit"]
    assert [one.version for one in toolkit] == ["1.20.0-1", "1.19.0-1", "1.9.0-1"]
    assert {one.url for one in toolkit} == {"file:/srv/rpm/"}
    assert offers.candidates["nowhere"] == ()
    assert "9.9" in offers.transactions[missing].error
    told = offers.transactions[argv]
    assert told.error == ""
    assert told.download_bytes > 0
    inside(rpm_root, *(("zypper", "--non-interactive", *argv[2:]) if program == "zypper" else argv))
    gone, come = found - installed(rpm_root), installed(rpm_root) - found
    assert {f"{one.name} {numbered(one.after)}" for one in told.moved if one.after} == come
    assert {f"{one.name} {numbered(one.before)}" for one in told.moved if one.before} == gone


def numbered(version: str) -> str:
    return version if ":" in version else f"0:{version}"


@pytest.mark.parametrize("program", ["dnf", "zypper"])
def test_a_repository_that_cannot_be_read_is_a_fault(program, rpm_root):
    """Also where the package manager itself passes over it and says that all is well."""
    path = {"dnf": "/etc/yum.repos.d/cuda.repo", "zypper": "/etc/zypp/repos.d/cuda.repo"}[program]
    for url in ("http://bob:geheim@127.0.0.1:9/rpm", "file:///srv/nowhere"):
        fault = ask(rpm_root, program, (Write(path, REPO.format(url)),), Question("candidates", ("nvidia-old",))).fault
        assert isinstance(fault, RefreshFault)
        assert fault.code == "unreachable", fault
        assert "geheim" not in fault.text + fault.url
