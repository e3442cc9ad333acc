"""Major numbers of a driver's character devices: the kernel assigns the number of a node, any user may choose its name."""

#: Fixed for nvidia.ko (devices.txt); the other drivers get theirs when they are loaded.
NVIDIA = 195
#: Prefix of NVIDIA's drivers there: nvidia, nvidia-uvm, nvidia-caps, nvidia-nvswitch, nvidia-nvlink.
NVIDIA_DRIVERS = "nvidia"


def majors(devices: str, drivers: str) -> frozenset[int]:
    r"""Majors of the drivers with the prefix `drivers`, by the text of /proc/devices (proc(5)).

    >>> sorted(majors("Character devices:\n  1 mem\n195 nvidia\n511 nvidia-uvm\n\nBlock devices:\n  7 nvidia-x\n", "nvidia"))
    [195, 511]
    """
    rows = (line.split() for line in devices.partition("Block devices:")[0].splitlines())
    return frozenset(
        int(row[0])
        for row in rows
        if len(row) == 2 and row[0].isascii() and row[0].isdigit() and len(row[0]) < 10 and row[1].startswith(drivers)
    )
