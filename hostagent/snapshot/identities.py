"""Patterns of names of machines, devices, addresses and persons, in all spellings, with what is kept of each.

Sources: IEEE 802 (Ethernet addresses, also as Cisco and PXE write them), InfiniBand's GUIDs and sysfs, RFC 4291, SMBIOS, names of
NVMe and SCSI devices.
"""

import re

_HEX = "[0-9a-fA-F]"
UUID = re.compile(rf"(?<![0-9a-fA-F]){_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}(?![0-9a-fA-F])")
#: Ethernet, and InfiniBand in sysfs, which writes lower case: fingerprints of keys are in upper case. ``ifname=eth0:MAC`` too, and as udev
#: names interfaces, as PXE says from which one it booted, and as Cisco writes them.
MAC = re.compile(
    rf"(?<!\w)(?<!\b{_HEX}{{2}}:)(?<!::)(?:{_HEX}{{2}}(?::{_HEX}{{2}}){{5}}|{_HEX}{{2}}(?::{_HEX}{{2}}){{7}}|[0-9a-f]{{2}}(?::[0-9a-f]{{2}}){{19}})(?![\w:])"
    rf"|(?<![\w-]){_HEX}{{2}}(?:-{_HEX}{{2}}){{5,7}}(?![\w-])|(?:(?<=\benx)|(?<=\bwlx)|(?<=\bwwx))[0-9a-f]{{12}}(?![0-9a-z])"
    rf"|(?<![\w.-]){_HEX}{{4}}(?:\.{_HEX}{{4}}){{2}}(?![\w.-])|(?i:(?<=mac=)|(?<=hwaddr=)|(?<=ether )){_HEX}{{12}}(?![0-9a-zA-Z])"
)
_SOCKET = "[0-9A-F]{8}(?:[0-9A-F]{24})?:[0-9A-F]{4}"
#: Lines of /proc/net that have addresses without points and colons (ipv6_route, if_inet6, route, tcp and tcp6); all else of 32 digits is an
#: id, of a machine for example.
HEX = re.compile(
    rf"(?m)^(?P<route6>{_HEX}{{32}} {_HEX}{{2}} {_HEX}{{32}} {_HEX}{{2}} {_HEX}{{32}})(?= {_HEX}{{8}} )"
    rf"|^(?P<own6>{_HEX}{{32}})(?= {_HEX}{{2,8}} {_HEX}{{2}} {_HEX}{{2}} {_HEX}{{2}} )"
    r"|^(?P<route>\S{1,64}(?:\t[0-9A-F]{8}){2}\t[0-9A-F]{4}(?:\t\d{1,10}){3}\t[0-9A-F]{8})(?=\t)"
    rf"|^(?P<socket> {{0,8}}\d{{1,8}}: {_SOCKET} {_SOCKET})(?= )"
    rf"|(?<![0-9a-zA-Z])(?P<id>{_HEX}{{32}})(?![0-9a-zA-Z])"
)
#: GUIDs of InfiniBand and NVLink ports: 16 digits, in one piece or in four; and in names that udev makes of them (rdma-core, NAME_GUID).
GUID = re.compile(
    rf"(?<![0-9a-zA-Z])(?:0x{_HEX}{{16}}|(?=[0-9]{{0,15}}[a-fA-F]){_HEX}{{16}})(?![0-9a-zA-Z])"
    rf"|(?<![\w:.]){_HEX}{{4}}(?::{_HEX}{{4}}){{3}}(?![\w:.])"
    r"|(?:(?<=\bibx)|(?<=\biwx)|(?<=\bopax)|(?<=\brocex)|(?<=\brdmax))[0-9a-f]{16}(?![0-9a-z])"
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"  # no leading zero: 580.159.03.1 and 90.04.96.00.A1 are versions
IPV4 = re.compile(rf"(?<![\d.])(?!0\.|127\.|255\.)(?:{_OCTET}\.){{3}}{_OCTET}(?!\d|\.\d)")
IPV6 = re.compile(rf"(?<![\w:])(?=[\da-fA-F:]*:[\da-fA-F]*:){_HEX}{{0,4}}(?::{_HEX}{{0,4}}){{2,8}}(?![\w:]|\.\d)")
#: A GUID in octets could be an address: no program writes one like that.
OCTETS = re.compile(rf"{_HEX}{{2}}(?::{_HEX}{{2}}){{7}}")
#: How many bits of the address in front of it are its network's; in fib_trie on the next line.
BITS = re.compile(r"(?:\n {1,99})?/(\d{1,3})(?![\d.])")
#: A dotted quad that is a version, not an address: kernels and packages have those, four fields below 256 too.
VERSION_BEFORE = re.compile(r"(?i)(?:version[\"']?(?:\s?[:=]\s?[\"']?)?|linux|kernel|release|~|\+|\.\d{1,9}-)\s*$")
#: As clouds name hosts by their address.
DASHED = re.compile(rf"(?i)(?<![a-z0-9])ip-(?:{_OCTET}-){{3}}{_OCTET}(?![\d-])")

#: Of a program that a GPU's fault names: it may be a person's. The driver's ``<unknown>`` is none.
PROGRAM = re.compile(r"(?<=, name=)(?!<)[^,\n]+")
#: Serial numbers and names of devices. The keys of settings are found by `hostagent.core.secret.names`.
SERIAL = re.compile(
    r"(?i)(?:(?<=\bserial )|(?<=\bserial number )|(?<=\bserial no )|(?<=\bserial no\. )|(?<=\bs/n )|(?<=\bs/n:)|(?<=\bs/n: )"
    r"|(?<=\bsn )|(?<=\bsn: )|(?<=\bsn=)|(?<=\basset tag )|(?<=\basset tag: ))[A-Z0-9][\w-]{3,}"
)
DEVICE = re.compile(
    r"(?<![\w.-])(?:iqn\.\d{4}-\d\d\.[\w.-]{1,200}(?::[\w.:-]{1,200})?|nqn\.\d{4}-\d\d\.[\w.:-]{1,200}|(?:naa|eui|wwn|t10)[.-](?:0x)?[0-9A-Za-z_]{8,}"
    r"|i-[0-9a-f]{8,17}|(?:vol|eni|subnet|vpc|sg|ami)-[0-9a-f]{8,17}|arn:aws[\w-]{0,10}:[^\s\"']{1,200}"
    r"|(?:nvme|ata|scsi|virtio|usb|dm-uuid|md-uuid)-[A-Za-z][\w.:-]*_[\w.:-]{6,}|(?<==)(?:[0-9A-F]{4}-[0-9A-F]{4}|[0-9a-f]{8}-0\d))(?![\w-])"
)
#: Not after a slash (what stays of a URL), not the names of systemd's units. The maker of a package is no person, and stays.
EMAIL = re.compile(
    r"(?m)^(?P<publisher>(?:Maintainer|Original-Maintainer|Packager|Vendor|author):[^\n]*)"
    r"|(?<![\w.+/@-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}"
    r"(?!(?:service|socket|timer|mount|target|slice|scope|device|path|swap|automount|conf|d)\b)[A-Za-z]{2,24}(?![\w-])"
)
