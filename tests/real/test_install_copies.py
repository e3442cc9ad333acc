"""A whole installation by the single file: Ansible is in it, and nothing else of this machine's Python packages is there."""

import os

import pytest

from tests import copies
from tests.real.daemonrun import eventually
from tests.real.installing import Host, changed
from tests.real.installroots import tree

pytestmark = [pytest.mark.alone, pytest.mark.full]
#: What hostagent sees at /var/cache, and in the second case, where it cannot write there, at /tmp: `$0`.
KEPT = 'mount --bind "$0" /var/cache'
TEMPORARY = 'mount -t tmpfs -o ro tmpfs /var/cache && mount --bind "$0" /tmp'


class SingleFile(Host):
    def __init__(self, root, where, mounts):
        super().__init__(root)
        self.cache = where / "cache"
        self.cache.mkdir()
        self._by = ["unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', str(self.cache), str(copies.single_file(where))]

    def command(self, name, *words):
        return [*self._by, *super().command(name, *words)[3:]]


def done(host, *words):
    ended = host.call(*words)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]


def test_the_single_file_installs_and_takes_back(make_root):
    root = make_root("debian")
    with copies.place() as where:
        host = SingleFile(root, where, KEPT)
        before = host.state()
        assert host.failing() != []
        done(host, "install", "--yes")
        assert host.failing() == []
        files = tree(root.path)
        done(host, "install", "--yes")
        assert changed(files, tree(root.path)) == []
        done(host, "rollback", "--yes")
        after = host.state()
        assert {name: changed(before[name], after[name]) for name in ("etc", "packages")} == {"etc": [], "packages": []}
        assert os.listdir(host.cache) == ["hostagent"]


def test_it_installs_from_a_temporary_directory_where_it_has_no_cache(make_root):
    root = make_root("debian")
    with copies.place() as where:
        host = SingleFile(root, where, TEMPORARY)
        done(host, "install", "--yes", "--only", "toolkit")
        assert "nvidia-container-toolkit" in root.packages()
        eventually(lambda: os.listdir(host.cache) == [])
