"""Redaction takes time in proportion to its input, whatever repeats in it: any user of a host may start a process with any arguments."""

import time

import pytest

from hostagent.snapshot.redact import Redactor

REDACTOR = Redactor(b"k" * 32, ("gpu-17.dc1.corp.example.com", "gpu-17"))
SIZE = 16 * 1024

#: What each pattern is made of, begins with, ends with, or stumbles over.
UNITS = [
    # names of secrets, and what stands between a name and its value
    "token", "token ", "token=", "token: ", "token:", "token\n", "token-", "token_", "token.", "tokentoken", "token-file ", "password", "auth ", "atoken=",
    '"token":', '"token": "', "'token': '", '\\"token\\":', '\\"token\\": \\"', "authorization: Basic ", "password = ", "1\ttoken\t=\t", "token=1 ", "token=\\",
    # values: quoted, escaped, half quoted, lists, blocks, whole lines
    'token="', "token='", "token=''", "token='''", "token=''''", 'token="\\', "token='x''", "token=\"a'token='a\"", 'token="a"x', "token=[", "token=['", "token=['''",
    'token=["a",', "token=[a,", "token=[,", "token: [ ", '["token=", ', "token: |\n", "token: |\n a\n", "- token: |\n", "  token: >-\n", "token: a ", "token: a #",
    "export token=", "# token: ", '"token=', "'token=", '"a.token=', '"token=\\', '"token=\\"', "\"token='", 'token="a\n',
    # flags
    "--token", "--token ", "--token-", "-token ", "--token\n- ", '"--token",', "'--token' \\\n", "--token\\\n", "--token --", '"--token", token',
    # schemes and keys
    "Bearer ", "=Bearer ", "Bearer aaaaaaaa", "Basic ", "=Basic ", "=Basic aaaaaaaa ", "=Basic a=", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
    "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\nMIIE", "-----",
    # addresses with credentials
    "://", "://a", "://:", "://a:", "://a:1/", "://a:b", "://@", "://a@", "://a,", "://a:b@", "://a:b/@", "://a:b/,", "a@", "@",
    # identities
    "a@a.", "a@b.cc ", "a@b.cc\n", "Maintainer: ", "Maintainer: a@b.cc ", "/home/", "/home/a", "1.", "1.1.1.", "1.1.1.1", "1.1.1.1 ", "linux 1.1.1.1 ",
    "1:", "a:a:", "f:", "::", "::1 ", "a:b:c:d ", "0f", "0f-", "0f:", "f" * 32, "f" * 32 + " ", "12345678-", "host.", "a.host.example.com", "example.com",
    "a_", "_", "a-", "a.", "gpu-17", "gpu-17.",
    "0242.ac11.0002 ", "0242.", "02-42-", "01-02-42-ac-11-00-02 ", "eth0:02:42:ac:11:00:02 ", "eth0:", "50:6b:4b:03:00:ab:cd:ef ", "506b:4b03:00ab:cdef ", "506b:", "0x506b4b0300abcdef ",
    "506b4b0300abcdef ", "ip-10-0-0-1 ", "ip-10-", "home-", "home-a.mount ", "/users/a", ", name=a", ", name=", "serial a123 ", "serial ", "S/N: ", "iqn.1994-05.a:", "iqn.1994-05.a ", "arn:aws:",
    "nvme-A_", "nvme-A_a_", "ata-A", "~a/", "~a", "user-1.slice", "i-0123456789 ", "=ABCD-1234 ", "naa.0000000000 ",
    # addresses of all kinds
    "10.0.0.0/24 ", "10.0.0.0/", "10.0.0.0\n  /24\n", "10.0.0.0\n", "255.255.255.0 ", "version: 1.1.1.1 ", "2001:db8::/32 ", "2001:db8::1 ", "::ffff:10.0.0.1/120 ", "fe80:0000:0000:0000:0042:acff:fe11:0002 ",
    "0000:0000:0000:0000:0000:ffff:0a00:0101 ", "fe80::1%eth0 ", "ffff:", "0000:", "enx0242ac110002 ", "enx", "rocex", "rocex0042acfffe110002 ", "80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:1a:2b:3c ",
    "20010db8000000000000000000000001 02 40 00 80     eth0\n", "20010db8000000000000000000000001 02 ", "0" * 32 + " 00 ", f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} 00000400 00000001\n",
    "eth0\t0002010A\t0302010A\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n", "eth0\t0002010A\t", "0002010A\t", "  0: 0100007F:1F90 00000000:0000 0A \n", "0: 0100007F:", "\n0: ", "|-- 10.0.0.1\n   /32 host LOCAL\n",
    # tokens by their form
    "eyJ", "eyJaaaaaa.", "eyJaaaaaaaa ", "ghp_", "ghp_aaaaaaaa ", "xoxb-", "xoxb-aaaaaaaa ", "sk-", "sk-aaaaaaaaaaaaaaaa ", "AKIA", "AKIAAAAAAAAAAAAA ", "K10", "SG.aaaaaaaa.", "$6$", "$6$a$",
    "{SSHA}", "grub.pbkdf2.", "?sig=", "?sig=a&", "://hooks.slack.com/services/", "://a/receiver/v1/http/", "-----BEGIN PGP PRIVATE KEY BLOCK-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----\na-\n",
    # keys of all kinds
    "key", "key=", "key = a ", "akey=a ", "pass ", "pass=a ", "DB_PASS=a ", "--pass a ", "cookie: a\n", "user=a ", "art-api", "serial-number: ", "password_pbkdf2 a ",
    # alone
    "a", "a=", "1", "0_", "e1", "=", ":", "-", "- ", "--", '"', "'", "''", "\"'", "\\", "\\\\", '\\"', '"\\', "\\\n", '",', '" ', "',", "[", "]", "{", "}", ",", ", ",
    " ", "\t", "\n", " \n", "\n ", "\r\n", " #", "# ", "|", ">", "~", "+", "\u00e9", "\0",
]  # fmt: skip

#: A beginning that waits for an end, much of one thing, and something that is no end.
UNENDED = [
    ('"token=', " ", ""), ("'token:", "\t", "\n"), ('token="', "\\", ""), ('token="', "\\", '"'), ("token='", "''", "x"), ('token="', "a'", ""), ("token=", " ", "\n"),
    ("token", " ", "x"), ("token: |\n", " ", "x"), ("token: |\n", "\n", "x"), ("token=[", ", ", ";"), ("token=[", "\n", ""), ("--token", "\t", "-"), ("--token\\\n", " ", "-"),
    ("Bearer", " ", "\n"), ("=Basic aaaaaaaa", " ", "x"), ("=Basic ", "a", "!"), ("-----BEGIN PRIVATE KEY-----", "a\n", "-"), ("-----BEGIN PRIVATE KEY-----", "- ", ""),
    ("://:", "a", ""), ("://a", ":", ""), ("://:a", "/", ","), ("/home/", "a", ""), ("a@", "a.", "1"), ("", "a", "@"), ("a:", "a", ""), ("token=", "1", "x"), ("token=", "1_", "x"),
    ("token=0x", "f", "g"), ("eyJ", "a", ""), ("eyJaaaaaa", ".a", " "), ("-----BEGIN A PRIVATE KEY-----", "a,.", "-----"), ("iqn.1994-05.", "a", ":"), ("nvme-A", "_", " "),
    ("?sig=", "a", "&"), (", name=", "a", ""), ("/home/", "a.", "mount"), ("home-", "a.moun", ""), ("$6$", "a", ""), ("ifname=", "eth0:", "02"), ("K10", "0", "g"), ("token=1-", "1:", "x"), ("Maintainer:", " a@b.cc", ""), ("x token=[", "a ", ""), ("{", "token: {", ""),
    ("10.0.0.0\n", " ", "/24"), ("10.0.0.0/", "1", ""), ("10.0.0.0", "\n ", "/"), ("", "\t0002010A", "\t"), ("eth0\t", "0", "\t"), ("0: ", "0", ":"), ("", " ", "0: 0100007F:1F90 "), ("f" * 32, " 00", " eth0"), ("enx", "0", "z"),
    ("fe80:", ":0", "z"), ("2001:db8:", "0", "::"), ("version", " ", "1.1.1.1"), ("80:", "00:", "z"),
]  # fmt: skip


def seconds(text):
    started = time.process_time()
    REDACTOR.text(text)
    return time.process_time() - started


@pytest.mark.parametrize(("start", "unit", "end"), [*[("", unit, "") for unit in UNITS], *UNENDED])
def test_twice_as_much_takes_twice_as_long(start, unit, end):
    """A square would take four times as long. The best of several tries: a busy machine is no reason."""
    once, twice = (start + unit * (size // len(unit)) + end for size in (SIZE, 2 * SIZE))
    short = long = float("inf")
    for _ in range(8):
        short, long = min(short, seconds(once)), min(long, seconds(twice))
        if long / short < 3:
            return
        if long > 1:  # twenty times what anything else takes: no noise
            break
    longest = seconds(start + unit * (4 * SIZE // len(unit)) + end)
    if longest < 3 * long:  # a step (of a cache, of the collector of garbage) is no square: that would take four times as long again
        return
    pytest.fail(f"{2 * SIZE} characters take {long:.3f} s, half of them {short:.3f} s")


def test_enough_is_repeated():
    assert len(set(UNITS)) == len(UNITS) >= 86
