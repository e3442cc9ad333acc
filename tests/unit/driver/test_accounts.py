"""Users and the group docker, of the files of a host."""

from hostagent.core.unread import Unread
from hostagent.engine.collect import collect
from hostagent.facts.accounts import Accounts
from hostagent.snapshot.keeping import kept
from hostagent.testing import host

FILES = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/sh\n+::::::\n",
    "/etc/group": "root:x:0:\ndocker:x:999:bob, alice,\n",
    "/etc/nsswitch.conf": "passwd: files systemd\n",
}


def read(files, kind="live"):
    facts, _ = collect(host(files, kind), ["Accounts"])
    return facts.of(Accounts)


def test_members_of_the_group_and_users_are_names_in_order():
    found = read(FILES)
    assert found == Accounts(True, ("alice", "bob"), ("alice", "root"), has_other_users=False)


def test_a_host_without_the_group_has_no_members():
    found = read({**FILES, "/etc/group": "root:x:0:\ndocker-users:x:5:eve\n"})
    assert (found.docker_group, found.docker_members) == (False, ())


def test_where_nsswitch_asks_others_a_name_may_be_known_that_no_file_has():
    assert read({**FILES, "/etc/nsswitch.conf": "group: ldap\npasswd: files sss\n"}).has_other_users is True
    assert read({path: text for path, text in FILES.items() if "nsswitch" not in path}).has_other_users is False


def test_a_file_that_cannot_be_read_is_no_empty_one():
    found = read({**FILES, "/etc/group": Unread("denied", "/etc/group"), "/etc/passwd": Unread("error", "/etc/passwd")})
    assert (found.docker_group.why, found.docker_members.why, found.users.why) == ("denied", "denied", "error")


def test_no_name_of_a_person_is_kept_on_a_tape():
    answers = {("read", path): text.encode() for path, text in FILES.items()}
    tape = kept(answers, "live", str)
    assert "alice" not in str(tape)
    found = read({f"{method} {path}": answer for (method, path), answer in tape.items()})
    assert (found.users.why, found.docker_members.why, found.docker_group.why) == ("not-recorded",) * 3
