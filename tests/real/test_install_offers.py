"""What apt is asked before anything is changed: its answers against what it then does, and that nothing of the target changes."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from hostagent.core.unread import Unread
from hostagent.install.offers import apt
from hostagent.install.offers.keeping import fetch
from hostagent.install.offers.session import Host, Session
from hostagent.plan import aptcommands
from hostagent.plan.model import Key, Remove, Write
from hostagent.plan.offers import Offers, Question, RefreshFault
from hostagent.sandbox import mounting
from hostagent.sandbox.namespaces import own_mounts
from tests.real.conftest import need_real
from tests.real.installroots import tree

pytestmark = pytest.mark.alone
KEYRING = "/usr/share/keyrings/hostagent-toolkit.gpg"
SOURCE = "/etc/apt/sources.list.d/hostagent-toolkit.sources"
TOOLKIT = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1")
APART = ("var/lib/dpkg", "var/cache/apt", "usr/share/keyrings")
ASKED = Question("candidates", TOOLKIT)


def source(url: str = "file:/srv/stub/toolkit", keyring: str = KEYRING, suite: str = "./") -> Write:
    return Write(SOURCE, f"Types: deb\nURIs: {url}\nSuites: {suite}\nSigned-By: {keyring}\n")


def key(root, name: str = "good") -> Key:
    return Key(KEYRING, source=str(root.stubs.keys.path(name)))


def ask(place: Path, laid, *questions: Question, timeout_s: int = 5) -> Offers:
    session = Session(Host(str(place), "image", "apt-get", timeout_s))
    try:
        offers = Offers(asked=True)
        for one in questions:  # in rounds, as a plan asks them
            offers = session.answer(offers, laid, (one,))
        return offers
    finally:
        session.close()


def at(version: str) -> list[tuple[str, str]]:
    return [(name, version) for name in TOOLKIT]


def test_the_answers_are_what_apt_then_does_and_asking_changes_nothing(make_root):
    """The same words, asked in the room and then done in the root with the same files: packages, sizes, origins."""
    root = make_root("debian")
    root.use_repositories()
    root.apt("install", *(f"{name}={version}" for name, version in at("1.18.2-1")))
    root.run("apt-mark", "hold", "nvidia-container-toolkit")
    before = tree(root.path)
    argv = aptcommands.install([*at("1.19.0-1"), ("kmod", "")], ["lsb-release"], 5)
    offers = ask(root.path, (), ASKED, Question("transaction", argv))
    assert tree(root.path) == before
    newest, *older = offers.candidates[TOOLKIT[0]]
    assert newest.url == "file:/srv/stub/toolkit/"
    assert newest.size_bytes > 0
    madison = root.run("apt-cache", "madison", TOOLKIT[0]).stdout
    assert [one.version for one in (newest, *older)] == [line.split("|")[1].strip() for line in madison.splitlines()]
    told = offers.transactions[argv]
    assert told.error == ""
    done = root.run(*argv).stdout
    after, installed = root.packages(), {one.name: one.after for one in told.moved}
    assert {name: after.get(name, " ").split()[1:] for name in installed} == {name: [one] if one else [] for name, one in installed.items()}
    assert {one.url for one in told.moved if one.name in TOOLKIT} == {"file:/srv/stub/toolkit/"}
    assert {one.before for one in told.moved if one.name in TOOLKIT} == {"1.18.2-1"}
    said = re.search(r"Need to get (?:0 B/)?([\d,.]+) (k?B|MB) of archives", done)
    assert said
    unit = {"B": 1, "kB": 1e3, "MB": 1e6}[said[2]]
    assert told.download_bytes == pytest.approx(float(said[1].replace(",", "")) * unit, rel=0.02)
    assert len(before) < len(tree(root.path)) + 1000


def test_a_pin_and_a_refused_transaction_are_as_apt_has_them(make_root):
    """A pin that is laid holds for the question; a transaction that apt refuses comes with its words; a version that nobody has, too."""
    root = make_root("debian")
    root.use_repositories()
    pin = Write("/etc/apt/preferences.d/hostagent-toolkit", f"Package: {' '.join(TOOLKIT)}\nPin: version 1.19.0-1\nPin-Priority: 1001\n")
    free, partial, missing = (aptcommands.install(versions, (), 5) for versions in ([(TOOLKIT[0], "")], at("1.19.0-1")[:1], at("9.9-1")))
    pinned = ask(root.path, (pin,), Question("transaction", free)).transactions[free]
    assert {one.after for one in pinned.moved} == {"1.19.0-1"}
    told = ask(root.path, (), *(Question("transaction", one) for one in (free, partial, missing))).transactions
    assert {one.after for one in told[free].moved} != {"1.19.0-1"}
    assert "Depends: nvidia-container-toolkit-base (= 1.19.0-1) but" in told[partial].error
    assert "Version '9.9-1' for" in told[missing].error
    assert not told[partial].moved


def test_an_address_of_a_removed_list_no_longer_conflicts(make_root):
    root = make_root("debian")
    root.use_repositories()
    old = "/etc/apt/sources.list.d/toolkit.sources"
    assert conflict(ask(root.path, (key(root), source("file:/srv/stub/toolkit")), ASKED)).code == "conflict"
    assert ask(root.path, (key(root), source("file:/srv/stub/toolkit"), Remove(old)), ASKED).fault is None


def conflict(offers: Offers) -> RefreshFault:
    assert isinstance(offers.fault, RefreshFault)
    return offers.fault


def test_each_fault_of_a_repository_has_its_code(make_root):
    """By the real apt: what is wrong with a repository, and no answer with it."""
    root = make_root("debian")
    own = root.path / "srv/stub"
    keys = root.stubs.keys
    for name in ("bad", "mangled", "unsigned", "worthless"):
        subprocess.run(["cp", "-a", own / "toolkit", own / name], check=True)
    text = (own / "bad/InRelease").read_text()
    (own / "bad/InRelease").write_text(text.replace("Architectures: amd64", "Architectures: arm64 amd64"))
    (own / "mangled/Packages.gz").unlink()
    (own / "mangled/Packages").write_text((own / "toolkit/Packages").read_text().replace("1.20.0", "1.20.9"))
    (own / "unsigned/InRelease").unlink()
    (own / "worthless/InRelease").write_bytes(keys.signed((own / "toolkit/Release").read_text(), "good", "SHA1"))
    good, place = key(root), "file:/srv/stub"
    laid = {
        "signature": [(good, source(f"{place}/bad")), (key(root, "wrong"), source()), (good, source(f"{place}/unsigned")), (source(),)],
        "weak-key": [(good, source(f"{place}/worthless"))],
        "unreachable": [(good, source(f"{place}/nowhere")), (good, source("http://bob:geheim@127.0.0.1:9/deb"))],
        "error": [(good, source(f"{place}/mangled")), (Write("/etc/apt/sources.list.d/x.list", "deb nonsense\n"),)],
        "key": [(Key(KEYRING, source="/nowhere.gpg"), source()), (Key(KEYRING, url="http://127.0.0.1:9/key"), source())],
    }
    before = tree(root.path)
    for code, several in laid.items():
        for operations in several:
            offers = ask(root.path, operations, ASKED)
            assert isinstance(offers.fault, RefreshFault), (code, operations)
            assert offers.fault.code == code, offers.fault
            assert not offers.candidates
            assert offers.fault.text
            assert "geheim" not in offers.fault.text + offers.fault.url
    assert tree(root.path) == before


def test_a_key_that_is_bound_by_sha1_is_weak_where_apt_refuses_it(tmp_path, make_root):
    """apt 3 with sqv; apt 2 takes such a key, which NVIDIA's older repositories have."""
    archive = need_real("stock-trixie.tar", "sudo bash tests/real/install_debian.sh")
    stubs = make_root("debian").path / "srv/stub"
    subprocess.run(["tar", "-C", tmp_path, "-xf", archive], check=True)
    tmp_path.chmod(0o755)
    for old in (tmp_path / "etc/apt/sources.list", *(tmp_path / "etc/apt/sources.list.d").iterdir()):
        old.unlink(missing_ok=True)
    (tmp_path / "srv").mkdir(exist_ok=True)
    subprocess.run(["cp", "-aL", stubs / "toolkit", tmp_path / "srv/toolkit"], check=True)
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["unshare", "--pid", "--fork", "--kill-child", "gpg", "--homedir", str(home), "--batch", "--quiet", "--no-tty"]
    subprocess.run(
        [*gpg, "--cert-digest-algo", "SHA1", "--passphrase", "", "--quick-generate-key", "old", "rsa2048", "sign", "never"], check=True
    )
    release, keyring = tmp_path / "srv/toolkit/Release", tmp_path / "old.gpg"
    keyring.write_bytes(subprocess.run([*gpg, "--export", "old"], check=True, capture_output=True).stdout)
    signed = subprocess.run([*gpg, "--clearsign"], input=release.read_bytes(), check=True, capture_output=True).stdout
    (tmp_path / "srv/toolkit/InRelease").write_bytes(signed)
    found = ask(tmp_path, (Key(KEYRING, source=str(keyring)), source("file:/srv/toolkit")), ASKED).fault
    assert isinstance(found, RefreshFault)
    assert found.code == "weak-key", found


def test_what_others_may_write_is_not_obeyed(make_root):
    """Programs of apt, and settings that name programs: who may write them would be root here."""
    root = make_root("debian")
    settings = root.path / "etc/apt/apt.conf.d/99own"
    settings.write_text('APT::Update::Pre-Invoke { "touch /srv/ran"; };\n')
    assert ask(root.path, (key(root), source()), ASKED).fault is None
    assert not (root.path / "srv/ran").exists()
    for path, change in ((settings, lambda one: one.chmod(0o666)), (root.path / "usr/bin/apt-get", lambda one: os.chown(one, 1000, 1000))):
        change(path)
        fault = ask(root.path, (key(root), source()), ASKED).fault
        assert isinstance(fault, Unread)
        assert fault.why == "denied"
        os.chown(path, 0, 0)
        path.chmod(0o755)


def test_every_path_that_is_trusted_is_one_that_apt_has(make_root):
    """A list of places that are looked at for nothing would prove nothing."""
    root = make_root("debian")
    there = [path for path in apt.Apt.TRUSTED if (root.path / path.lstrip("/")).exists()]
    assert {"/usr/bin/apt-get", "/usr/bin/apt-cache", "/usr/bin/dpkg", "/usr/lib/apt/methods", "/etc/apt/apt.conf.d"} <= set(there)


def test_parts_of_the_target_that_are_mounted_apart_are_seen_and_stay_as_they_are(make_root, request):
    """/var/lib/dpkg, /var/cache/apt and /usr/share/keyrings on file systems of their own: a server's, and a build's with a cache."""
    root = make_root("debian")
    own_mounts()
    for name in APART:
        aside = root.path.parent / name.replace("/", "-")
        subprocess.run(["cp", "-a", root.path / name, aside], check=True)
        for path in (root.path / name).iterdir():
            subprocess.run(["rm", "-rf", path], check=True)
        mounting.bind(str(aside), str(root.path / name))
    request.addfinalizer(lambda: [mounting.detach(str(root.path / name)) for name in APART])
    before = tree(root.path)
    offers = ask(root.path, (key(root), source()), ASKED, Question("transaction", argv := aptcommands.install(at("1.19.0-1"), ["kmod"], 5)))
    assert offers.fault is None
    assert [one.before for one in offers.transactions[argv].moved if one.name == "kmod"] != [""]
    assert tree(root.path) == before


@pytest.mark.parametrize(
    "what", ["etc/apt/sources.list.d", "usr/share/keyrings", "etc/resolv.conf", "etc/apt/apt.conf", "var/lib/apt/lists"]
)
def test_links_of_a_hostile_image_lead_nowhere_outside_it(what, make_root, tmp_path):
    """Whatever the image's own links say: what is laid stays in the room, and this machine's files as they are."""
    root = make_root("debian")
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "own").write_text("own")
    path = root.path / what
    subprocess.run(["rm", "-rf", path], check=True)
    path.symlink_to(outside)
    before = tree(root.path)
    ask(root.path, (key(root), source()), ASKED)
    assert tree(root.path) == before
    assert [one.name for one in outside.iterdir()] == ["own"]
    assert (outside / "own").read_text() == "own"


def test_packages_to_go_back_to_come_from_the_plans_repositories_too(make_root, tmp_path):
    """The image knows no repository that has them; what nobody has is not there, and costs the others nothing."""
    root = make_root("debian")
    before = tree(root.path)
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o700)
    host = Host(str(root.path), "image", "apt-get", 5)
    wanted = [(TOOLKIT[0], "1.18.2-1"), (TOOLKIT[1], "1.18.2-1"), ("nosuch", "1")]
    assert fetch(host, (key(root), source()), wanted, str(kept)) is None
    assert sorted(one.name for one in kept.iterdir()) == sorted(f"{name}_1.18.2-1_amd64.deb" for name in TOOLKIT[:2])
    assert tree(root.path) == before


def test_whoever_is_killed_while_apt_waits_leaves_nothing_running(make_root):
    """A mirror that takes the connection and says nothing, and a SIGKILL: apt and its methods end with the process that asked."""
    root = make_root("debian")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        pid = os.fork()
        if pid == 0:
            ask(root.path, (key(root), source(f"http://127.0.0.1:{listening.getsockname()[1]}/deb")), ASKED)
            os._exit(0)
        listening.settimeout(60)
        connection, _ = listening.accept()
        assert programs_in(root.path)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        connection.close()
    ends = time.monotonic() + 10
    while (left := programs_in(root.path)) and time.monotonic() < ends:
        time.sleep(0.05)
    assert left == []


def programs_in(root: Path) -> list[str]:
    """Processes whose root directory that is."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(f"/proc/{pid}/root"), root.stat()):
                found.append(Path(f"/proc/{pid}/comm").read_text().strip())
    return found
