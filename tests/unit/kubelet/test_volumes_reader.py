"""The volumes of what starts containers and jobs, from a dictionary as a host: mounts of several systems, fstab, flags and files."""

from dataclasses import replace

import pytest

from hostagent.core.retention import Filtered, Keep
from hostagent.core.typed import build
from hostagent.core.unread import Unread
from hostagent.domains.kubelet.read_volumes import read_volumes
from hostagent.domains.system.mounts import mount_of, parse_mounts
from hostagent.facts.cdi import Cdi
from hostagent.facts.host import Machine, Process, Services
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.slurm import SlurmNode
from hostagent.testing import host

KUBELET = Process(9, "kubelet", ("/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml"), 1.0, "kubelet.service")
SPACE = {"total_bytes": 1000, "free_bytes": 700, "total_inodes": 50, "free_inodes": 40}
ROOT = "/dev/sda1 / ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n"


#: What recordings kept of a runtime's file before image stores were read.
OLDER_TOML = ("root", "plugins/*/enable_selinux#", "crio/root", "crio/runtime/selinux#", "storage/graphroot")


def gap(field):
    return Unread("not-recorded", field)


def runtime(key, kind, *files, **more):
    fields = {"key": key, "kind": kind, "in_use": True, "state": "accepted", "config_files": list(files)}
    return build(Runtime, {**fields, **more}, "", gap)


def read(files, *runtimes, mounts=ROOT, processes=(), slurmd=False, conf="", kind="live", programs=(), specs=()):
    table = {"read /proc/1/mounts 8388608": mounts.encode()}
    spaces = {f"volume {one.place}": SPACE for one in parse_mounts(mounts)}
    known = {
        Runtime: runtimes,
        Services: Services(()),
        Machine: build(Machine, {}, "", gap),
        Launchers: replace(build(Launchers, {}, "", gap), slurmd=slurmd, programs=programs),
        Cdi: build(Cdi, {"specs": [{"path": path, "error": "", "kind": "nvidia.com/gpu"} for path in specs], "generated": True}, "", gap),
        SlurmNode: replace(build(SlurmNode, {}, "", gap), conf=conf or Unread("absent")),
    }
    known[Machine] = replace(known[Machine], processes=tuple(one for one in processes if isinstance(one, Process)))
    rows = [{"pid": one.pid, "name": one.name, "argv": list(one.argv), "started_at": one.started_at, "unit": one.unit} for one in processes]
    asked = {**table, **spaces, "host": {"hostname": "n7.example"}, "processes": rows, **files}
    return read_volumes(host(asked, kind), known.__getitem__).volumes


def by_path(found):
    return {one.path: one for one in found}


CONTAINERD = runtime("containerd", "containerd")

#: Mounts as systems publish them: the directory of containerd, and the mount that holds it.
SYSTEMS = {
    "bottlerocket": ("/dev/dm-0 / ext4 ro,relatime 0 0\n/dev/nvme1n1p1 /local ext4 rw 0 0\n/dev/nvme1n1p1 /var ext4 rw 0 0\n", "/var"),
    "flatcar": ("/dev/sda9 / ext4 rw 0 0\n/dev/mapper/usr /usr ext4 ro 0 0\n", "/"),
    "cos": (
        "/dev/dm-0 / ext2 ro 0 0\n/dev/sda1 /var ext4 rw,nosuid 0 0\n/dev/sda1 /var/lib/containerd ext4 rw 0 0\n",
        "/var/lib/containerd",
    ),
    "talos": ("rootfs / rootfs ro 0 0\n/dev/loop0 / squashfs ro 0 0\n/dev/sda6 /var xfs rw 0 0\n", "/var"),
    "openshift": ("/dev/sda4 / xfs rw 0 0\n/dev/sda4 /sysroot xfs ro 0 0\n/dev/sda4 /var xfs rw,prjquota 0 0\n", "/var"),
    "microos": ("/dev/sda2 / btrfs ro 0 0\n/dev/sda2 /var btrfs rw,subvol=/@/var 0 0\n", "/var"),
}


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_a_read_only_root_of_an_image_is_no_volume_of_containers(name):
    mounts, place = SYSTEMS[name]
    found = by_path(read({}, CONTAINERD, mounts=f"{mounts}tmpfs /run tmpfs rw 0 0\n", processes=(KUBELET,)))
    assert found["/var/lib/containerd"].mount == place
    assert {one.access for one in found.values()} == {"rw"}


def test_read_only_by_fstab_is_not_read_only_after_errors():
    mounts = "/dev/sda1 / ext4 rw 0 0\n/dev/md0 /var/lib/containerd {} ro{} 0 0\n"
    planned = "/dev/md0 /var/lib/containerd ext4 {} 0 2\n"

    def access(kind, more, options):
        files = {"/etc/fstab": planned.format(options)}
        return by_path(read(files, CONTAINERD, mounts=mounts.format(kind, more)))["/var/lib/containerd"].access

    assert access("ext4", ",errors=remount-ro", "defaults") == "ro-after-errors"
    assert access("ext4", ",errors=remount-ro", "ro,errors=remount-ro") == "ro"
    assert access("xfs", "", "defaults,nofail") == "ro-after-errors"
    assert access("ext4", ",emergency_ro", "ro") == "ro-after-errors"


def test_what_fstab_has_and_nobody_mounted():
    planned = (
        "# comment\n/dev/md0 /var/lib/containerd xfs defaults,nofail 0 2\n/dev/sdb /var/lib/kubelet xfs {} 0 0\n/swap none swap sw 0 0\n"
    )
    real = {f"realpath {path}": path for path in ("/var/lib/containerd", "/var/lib/kubelet")}
    found = by_path(read({"/etc/fstab": planned.format("noauto"), **real}, CONTAINERD, processes=(KUBELET,)))
    assert found["/var/lib/containerd"].unmounted == "/var/lib/containerd"
    assert found["/var/lib/kubelet"].unmounted == ""
    linked = {"realpath /var/lib/containerd": "/data/containerd"}
    assert by_path(read({"/etc/fstab": planned.format("noauto"), **linked}, CONTAINERD))["/data/containerd"].unmounted == ""


def test_a_directory_is_that_of_the_flag_then_of_the_file_then_the_runtime_s_own():
    toml = {"read /etc/containerd/config.toml 307200": b'version = 3\nroot = "/data/containerd"\n'}
    one = runtime("containerd", "containerd", "/etc/containerd/config.toml")
    flag = Process(5, "containerd", ("containerd", "--root", "/fast/containerd"), 1.0, "containerd.service")
    assert [one.path for one in read({}, CONTAINERD)][:1] == ["/var/lib/containerd"]
    assert read(toml, one)[0].path == "/data/containerd"
    assert read(toml, one, processes=(flag,))[0].path == "/fast/containerd"
    docker = runtime("docker", "docker", "/etc/docker/daemon.json")
    assert read({"read /etc/docker/daemon.json 307200": b'{"data-root": "/data/docker/"}'}, docker)[0].path == "/data/docker"
    crio = runtime("crio", "crio", "/etc/crio/crio.conf.d/10-crio.conf")
    assert read({"read /etc/containers/storage.conf 307200": b'[storage]\ngraphroot = "/data/crio"\n'}, crio)[0].path == "/data/crio"
    snap = runtime("docker", "docker", "/var/snap/docker/current/config/daemon.json")
    assert read({}, snap)[0].path == "/var/snap/docker/common/var-lib-docker"


def test_images_elsewhere_than_in_the_data_directory_are_a_volume_of_their_own():
    def uses(*arguments, **more):
        return [(one.role, one.path) for one in read(*arguments, **more) if one.role != "state"]

    toml = b'version = 3\n[plugins."io.containerd.snapshotter.v1.{}"]\nroot_path = "/data/snapshots"\n'
    one = runtime("containerd", "containerd", "/etc/containerd/config.toml")
    used = [("data", "/data/snapshots"), ("content", "/var/lib/containerd")]
    assert uses({"read /etc/containerd/config.toml 307200": toml.replace(b"{}", b"overlayfs")}, one) == used
    unused = toml.replace(b"{}", b"devmapper")
    assert uses({"read /etc/containerd/config.toml 307200": unused}, one) == [("data", "/var/lib/containerd")]
    chosen = unused + b'[plugins."io.containerd.cri.v1.images"]\nsnapshotter = "devmapper"\n'
    assert uses({"read /etc/containerd/config.toml 307200": chosen}, one) == used

    crio = runtime("crio", "crio", "/etc/crio/crio.conf.d/20-images.conf")
    files = {"read /etc/crio/crio.conf.d/20-images.conf 307200": b'[crio]\nimagestore = "/data/images"\n'}
    root = ("content", "/var/lib/containers/storage")
    assert uses(files, crio) == [("data", "/data/images"), root]
    assert uses({"read /etc/containers/storage.conf 307200": b'[storage]\nimagestore = "/fast"\n'}, crio) == [("data", "/fast"), root]
    flag = Process(5, "crio", ("/usr/bin/crio", "-r", "/data/crio", "--imagestore=/fast"), 1.0, "crio.service")
    assert uses(files, crio, processes=(flag,)) == [("data", "/fast"), ("content", "/data/crio")]


def test_a_recording_without_the_settings_of_image_stores_keeps_its_answers():
    older = Filtered(b'root = "/data/containerd"\n', Keep("toml", OLDER_TOML))
    one = runtime("containerd", "containerd", "/etc/containerd/config.toml")
    assert read({"read /etc/containerd/config.toml 307200": older}, one)[0].path == "/data/containerd"


UNITS = {
    "list /etc/systemd/system": ["multi-user.target.wants", "tmp.mount", "var-lib-containerd.mount"],
    "list /etc/systemd/system/multi-user.target.wants": ["var-lib-containerd.mount"],
    "realpath /etc/systemd/system": "/etc/systemd/system",
    "realpath /etc/systemd/system/var-lib-containerd.mount": "/etc/systemd/system/var-lib-containerd.mount",
    "readlink /etc/systemd/system/multi-user.target.wants/var-lib-containerd.mount": "/etc/systemd/system/var-lib-containerd.mount",
    "stat /etc/systemd/system/var-lib-containerd.mount": {
        "kind": "file",
        "mode": 0o644,
        "uid": 0,
        "gid": 0,
        "size": 99,
        "mtime": 0.0,
        "major": 0,
        "minor": 0,
    },
    "read /etc/systemd/system/var-lib-containerd.mount": b"{}[Mount]\nWhat=/mnt/k8s-disks/0/containerd\nWhere=/var/lib/containerd\n"
    b"Type=none\nOptions=bind\n[Install]\nWantedBy=multi-user.target\n",
}


def test_what_an_enabled_mount_unit_has_and_is_not_mounted():
    path, file = "/var/lib/containerd", "/etc/systemd/system/var-lib-containerd.mount"

    def found(unit=b"", mounts=ROOT, **changes):
        text = {f"read {file}": UNITS[f"read {file}"].replace(b"{}", unit)}
        one = by_path(read({**UNITS, **text, f"realpath {path}": path, **changes}, CONTAINERD, mounts=mounts))[path]
        return one.unmounted, one.unmounted_by

    assert found() == (path, file)
    assert found(mounts=f"{ROOT}/dev/md127 /var/lib/containerd xfs rw 0 0\n") == ("", "")
    assert found(b"[Unit]\nConditionPathExists=/dev/md127\n") == ("", "")
    assert found(**{"list /etc/systemd/system/multi-user.target.wants": []}) == ("", "")
    assert found(**{f"read {file}": Unread("older-recording", "old")}) == ("", "")
    assert read({**UNITS, f"read {file}": Unread("denied", "no")}, CONTAINERD).why == "denied"


def test_podman_is_asked_for_its_store_where_it_serves_alone():
    def store(*runtimes, specs=("/var/run/cdi/nvidia.yaml",), files=None, **more):
        found = read(files or {}, *runtimes, programs=("podman",), specs=specs, **more)
        return [(one.role, one.path) for one in found if one.user == "podman"]

    conf = {"read /etc/containers/storage.conf 307200": b'[storage]\ngraphroot = "/data/podman"\n'}
    assert store() == [("data", "/var/lib/containers/storage")]
    assert store(files=conf) == [("data", "/data/podman")]
    assert store(CONTAINERD) == store(specs=()) == store(processes=(KUBELET,)) == []
    assert store(files={"read /etc/containers/storage.conf 307200": Unread("not-recorded", "old")}) == []
    lost = {"read /proc/1/mounts 8388608": Unread("not-recorded", "old")}
    assert store(files=lost) == []
    assert (
        read({"read /etc/containers/storage.conf 307200": Unread("denied", "no")}, programs=("podman",), specs=("/etc/cdi/a",)).why
        == "denied"
    )


def test_enroot_s_directories_are_those_of_its_file_on_disks_of_this_host():
    text = b"ENROOT_DATA_PATH /raid/enroot/data/user-$(id -u)\nENROOT_CACHE_PATH=/lustre/enroot\nENROOT_TEMP_PATH ${TMPDIR:-/tmp}\n"
    mounts = f"{ROOT}/dev/md0 /raid xfs rw 0 0\n10.0.0.1@o2ib:/fs /lustre lustre rw 0 0\n"
    files = {"read /etc/enroot/enroot.conf 65536": text}

    def found(*programs, slurmd=True, **more):
        volumes = read({**files, **more}, programs=programs, slurmd=slurmd, mounts=mounts)
        return [(one.role, one.path, one.mount) for one in volumes if one.user == "enroot"]

    assert found("enroot") == [("scratch", "/raid/enroot/data", "/raid")]
    assert found() == found("enroot", slurmd=False) == []
    assert found("enroot", **{"read /etc/enroot/enroot.conf 65536": Unread("older-recording", "old")}) == []


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("k3s", "/var/lib/rancher/k3s/agent/containerd"),
        ("rke2", "/var/lib/rancher/rke2/agent/containerd"),
        ("k0s", "/var/lib/k0s/containerd"),
        ("microk8s", "/var/snap/microk8s/common/var/lib/containerd"),
    ],
)
def test_a_distribution_s_containerd_has_its_own_directory(key, path):
    own = Process(5, "containerd", ("containerd", "-c", "/etc/other.toml", "--root=/wrong"), 1.0, "containerd.service")
    assert read({}, runtime(key, "containerd"), processes=(own,))[0].path == path


def test_slurm_names_its_directories():
    text = b"SlurmctldHost=head\nInclude local.conf\nTmpFS=/scratch\n"
    files = {"read /etc/slurm/slurm.conf 525312": text, "read /etc/slurm/local.conf 525312": b"SlurmdSpoolDir=/var/spool/slurmd.%n\n"}
    found = read(files, slurmd=True, conf="/etc/slurm/slurm.conf")
    assert [(one.user, one.role, one.path) for one in found] == [
        ("slurmd", "spool", "/var/spool/slurmd.n7"), ("slurmd", "scratch", "/scratch"), ("", "state", "/run"),
    ]  # fmt: skip
    assert [one.path for one in read({}, slurmd=True)] == ["/var/spool/slurmd", "/tmp", "/run"]


def test_a_host_that_starts_nothing_has_no_volumes_and_is_asked_nothing():
    assert read({"read /proc/1/mounts 8388608": Unread("denied", "no")}) == ()
    assert read({}, runtime("docker", "docker", in_use=False)) == ()


def test_what_may_not_be_read():
    assert read({"read /proc/1/mounts 8388608": Unread("denied", "no")}, CONTAINERD).why == "denied"
    mounts = "/dev/sda1 / ext4 rw 0 0\n/dev/md0 /secret xfs rw 0 0\n"
    one = runtime("docker", "docker", "/etc/docker/daemon.json")
    files = {"read /etc/docker/daemon.json 307200": b'{"data-root": "/secret/docker"}'}
    denied = {"volume /secret": Unread("denied", "no"), "volume /secret/docker": Unread("denied", "no")}
    assert read({**files, **denied}, one, mounts=mounts)[0].free_bytes.why == "denied"
    lost = {"read /etc/containerd/config.toml 307200": Unread("not-recorded", "old")}
    assert read(lost, runtime("containerd", "containerd", "/etc/containerd/config.toml")).why == "not-recorded"
    assert read({"processes": Unread("denied", "no")}, CONTAINERD).why == "denied"


def test_a_filesystem_that_counts_no_inodes_is_not_out_of_them():
    found = read({"volume /": {**SPACE, "total_inodes": 0, "free_inodes": 0}}, CONTAINERD)
    assert found[0].free_inodes.why == "not-supported"
    assert read({"volume /": {**SPACE, "free_inodes": 0}}, CONTAINERD)[0].free_inodes == 0


def test_the_last_of_several_mounts_at_one_place_counts():
    rows = parse_mounts("a / ext4 rw 0 0\nb /var xfs rw 0 0\nc /var ext4 ro 0 0\n")
    assert (mount_of(rows, "/var/lib").device, mount_of(rows, "/vari").device, mount_of((), "/")) == ("c", "a", None)


@pytest.mark.parametrize(
    ("device", "answer", "disk"),
    [
        ("/dev/nvme1n1p1", None, "nvme1n1p1"),
        ("/dev/mapper/vg0-images", "/dev/dm-3", "dm-3"),
        ("/dev/disk/by-label/images", "/dev/sdb1", "sdb1"),
        ("overlay", None, ""),
    ],
)
def test_a_volume_has_the_kernels_name_of_its_disk(device, answer, disk):
    files = {f"realpath {device}": answer} if answer else {}
    found = by_path(read(files, CONTAINERD, mounts=f"{ROOT}{device} /var/lib/containerd xfs rw 0 0\n"))
    assert found["/var/lib/containerd"].disk == disk


def test_a_link_that_was_not_read_leaves_the_rest_of_the_volume():
    found = by_path(read({}, CONTAINERD, mounts=f"{ROOT}/dev/mapper/vg0-images /var/lib/containerd xfs rw 0 0\n"))["/var/lib/containerd"]
    assert isinstance(found.disk, Unread)
    assert (found.device, found.free_bytes) == ("/dev/mapper/vg0-images", 700)
