"""Patterns of relevant kernel log records, matched at the start of a record.

Any user can start a record: the kernel puts a process's name, up to 15 characters (TASK_COMM_LEN), before its message about the
process (``NAME[12]: segfault at …``, ``NAME invoked oom-killer: …``, ``NAME: page allocation failure: …``), and the rest may end in
the name of a file. So every pattern is longer than a process's name can be.

Sources: open-gpu-kernel-modules (kernel_rc.c, osinit.c, kernel_gsp.c, nv-pci.c, error_nvswitch.h, error_nvswitch.c), Linux
kernel/module/signing.c, security/lockdown/lockdown.c; for the names arch/x86/mm/fault.c, mm/oom_kill.c, mm/page_alloc.c; read 2026-11.
"""

from typing import NamedTuple

#: Domain, bus and device of a PCI address, and its function where it is written.
ADDRESS = r"(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(\.[0-7])?"
#: Characters of an address: more of them than a name has room for behind "NVRM: GPU ".
_ADDRESS_LIKE = r"[\w:.]{12}"

#: The first record of every boot.
FIRST = r"Linux version \d+\.\d"
#: A fault of a GPU, of an NVSwitch; and what follows: the address, "GPU-I:05 GPU-CI:02" on a GPU with MIG (kernel_rc.c), the code.
#: A process's name has room for four characters after the parenthesis, and the kernel continues with none of these.
XID = r"NVRM: Xid \((?=[\w:.]{6})"
SXID = r"nvidia-nvswitch\d+:? SXid \("
OF_XID = rf"{ADDRESS}[^)]{{0,60}}\)[^:]{{0,40}}: (\d{{1,6}})\b"
#: What the driver writes after an SXid, with the same code: "Severity 0 Engine instance 55 …", then "Data {0x00000037, …}".
SXID_MORE = r", (?:Severity \d|Data \{)"
#: An SXid after which the switch must be reset; of severities (ctrl_dev_nvswitch.h) 1 is fatal.
SXID_FATAL = r", Fatal|, Severity 1 "
#: A record about one GPU. The message about one that is gone has several lines; old drivers write each as a record.
GPU = rf"(?:NVRM: (?:The NVIDIA )?GPU(?: at)?|nvidia) {ADDRESS}(?=\b)"
GONE = "fallen off the bus"
STILL_GONE = f"NVRM: {GONE}"
#: The driver's prefix about one GPU: the GPU, and the function that logs.
HEAD = rf"NVRM: (?:GPU\d+ |GPU(?: at)? {ADDRESS}:? )?(?:(?P<function>\w+): )?"
#: Only of NVIDIA's driver: nouveau requests files below nvidia/, too.
FIRMWARE = rf"nvidia {_ADDRESS_LIKE}: Direct firmware load for nvidia/\S{{1,200}} failed"
#: The module is loaded: the driver writes this after at least one GPU was probed successfully (nv.c).
LOADED = r"NVRM: loading NVIDIA UNIX "
#: A GPU needs no more recovery: part of the text of an Xid 154, which differs between drivers.
RECOVERY_CODE, RECOVERED = 154, " to 0x0 (None)"


class InitFailure(NamedTuple):
    """A record of a GPU that could not be initialised, after `HEAD`."""

    kind: str  # as `hostagent.facts.gpu.InitFailure` has it
    function: str  # prefix of its name, underscores aside
    begins: str
    has: str = ""


INIT_FAILURES = (
    InitFailure("firmware", "RmFetchGspRmImages", ""),
    InitFailure("wpr2", "", "unexpected WPR2 already up"),
    InitFailure("gsp", "", "Cannot initialize GSP firmware RM"),
    InitFailure("gsp", "kgspInitRm", "", "fail"),
    InitFailure("adapter", "", "RmInitAdapter failed"),
    InitFailure("adapter", "", "rm_init_adapter", " failed"),
)
#: The kernel refuses a module because of its key, or because it has none.
KEY_REFUSED = (
    r"(?:[\w-]+: )?[Ll]oading of (?:unsigned module|module with unavailable key)"
    r"|Lockdown: .{1,15}: unsigned module loading"
    r"|PKCS#7 signature not signed with a trusted key"
)
#: All of the above in short: the records that are kept of a kernel log. Also valid for PCRE2.
KEPT = (
    rf"NVRM: (?:Xid \([\w:.]{{6}}|(?:The NVIDIA )?GPU(?: at)? {_ADDRESS_LIKE}|{GONE}|(?:GPU\d+ )?(?:_?kgspInitRm|RmFetchGspRmImages|"
    r"(?:\w+: )?(?:unexpected WPR2 already up|Cannot initialize GSP firmware RM|RmInitAdapter failed|rm_init_adapter)))"
    rf"|{SXID}|nvidia {_ADDRESS_LIKE}: Direct firmware load for nvidia/|{LOADED}|{FIRST}|{KEY_REFUSED}"
)

#: A driver of a network card, or a bond, about its link: "Link down" (mlx5_core, hns3), "NIC Link is Down" (ixgbe, i40e, ice, igb,
#: bnxt_en), "Link is down" (tg3, r8169), "mlx4_en: eth0: Link Down", "bond0: (slave eth0): link status definitely down" and, of older
#: kernels, "bond0: link status definitely down for interface eth0", "bond0: interface eth0 is now down". A forged record only starts
#: a pass. Sources: Linux drivers/net/ethernet, drivers/net/bonding/bond_main.c; read 2026-11.
LINK = (
    rf"(?:[\w-]{{1,32}} {ADDRESS} \S{{1,40}}:|mlx4_en: \S{{1,40}}:) (?:\S{{1,40}}: \S{{1,40}} )?(?:NIC )?[Ll]ink (?:is )?"
    r"(?:[Dd]own|[Uu]p)\b"
    r"|(?:bonding: )?[\w.@-]{1,15}: (?:\((?:slave|port) \S{1,40}\): )?(?:link status (?:definitely )?(?:down|up)\b"
    r"|interface (?:\S{1,40} )?is now (?:down|up)\b)"
)
#: Each such record has one of them: a cheap test before the pattern.
LINK_WORDS = ("ink ", "is now ")
