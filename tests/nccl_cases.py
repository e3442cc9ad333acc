"""Networks, environments and conf files made at random, for real NCCL and for what we say of it."""

import random

BASE = "/mnt/judge"
PASSWD_HOME, HOME, CONF = f"{BASE}/passwd", f"{BASE}/home", f"{BASE}/job.conf"
ETC = "/etc/nccl.conf"

NAMES = ("eth0", "eth1", "eth10", "ib0", "ib1", "ibp26s0", "docker0", "docker_gwbridge", "virbr0", "virbr1", "lo0", "loop", "cali1a2b", "eno1",
         "ens1f0np0", "bond0", "tailscale0", "rdma0", "mlx5", "net-1", "br-3f2a", "e", "ibs", "Ib0", "eth", "dock", "enp0s31f6x1234")  # fmt: skip
KINDS = ("veth",) * 6 + ("bridge", "macvlan", "tap")
STATES = ("up",) * 5 + ("no-carrier", "down")


def networks(seed, count, cases_each=2):
    """`count` of {"commands": lines for ip, "running": names that get carrier, "cases": [{"env", "files"}]}."""
    chance = random.Random(seed)
    return [network(chance, cases_each) for _ in range(count)]


def network(chance, cases_each):
    names = chance.sample(NAMES, chance.choice((0, 1, 2, 2, 3, 3, 4, 5, 6)))
    last = chance.random() < 0.16  # what is taken where nothing else is
    if last:
        names = chance.choice((["docker0"], ["virbr0", "docker_gwbridge"], ["virbr0", "virbr1"], ["virbr1"]))
    if chance.random() < 0.04:
        names = [f"eth{number}" for number in range(20)]
    commands, running, addresses = [], [], []
    if chance.random() < (0.3 if last else 0.8):
        commands.append("link set lo up")
        running.append("lo")
    for number, name in enumerate(names):
        lines, is_running = link(chance, number, name)
        commands += lines
        running += [name] * is_running
        told, added = of_interface(chance, number, name)
        commands += told
        addresses += added
    cases = [case(chance, [*names, "lo"], addresses) for _ in range(cases_each)]
    return {"commands": commands, "running": running, "cases": cases}


def link(chance, number, name):
    """Commands that make an interface, and whether it gets carrier."""
    kind, state = chance.choice(KINDS), chance.choice(STATES)
    index = f"index {chance.randint(2, 9) * 100 + number}" if chance.random() < 0.15 else ""
    end = f"peer{number}"
    made = {
        "veth": [f"link add {name} {index} type veth peer name {end}"],
        "bridge": [f"link add {name} {index} type bridge"],
        "macvlan": [f"link add {end} type veth peer name over{number}", f"link add {name} link {end} {index} type macvlan"],
        "tap": [f"tuntap add dev {name} mode tap"],
    }[kind]
    ends = {"macvlan": [end, f"over{number}"], "veth": [end]}.get(kind, [])
    quiet = [f"link set {one} addrgenmode none" for one in (name, *ends)]
    up = [f"link set {one} up" for one in ends] if state == "up" else []
    if state != "down":
        up.append(f"link set {name} up")
    return [*made, *quiet, *up], state == "up" and bool(ends)


def of_interface(chance, number, name):
    """Commands that give it addresses, and these as (interface, address, prefix)."""
    added = []
    subnet = number if chance.random() < 0.8 else 0
    hosts = range(number * 4 + 1, number * 4 + 3)
    added += [(name, f"10.0.{subnet}.{host}", chance.choice((8, 24, 24, 32))) for host in hosts[: chance.choice((0, 1, 1, 1, 2))]]
    added += [(name, f"fd00:0:0:{subnet}::{host}", chance.choice((64, 64, 128))) for host in hosts[: chance.choice((0, 0, 1, 2))]]
    if chance.random() < 0.3:
        added.append((name, f"fe80::{number + 1}", 64))
    chance.shuffle(added)
    commands = []
    for _, address, prefix in added:
        is_labelled = ":" not in address and len(name) < 12 and chance.random() < 0.1
        rest = f"label {name}:{number}" if is_labelled else "nodad" if ":" in address else ""
        commands.append(f"addr add {address}/{prefix} dev {name} {rest}")
    return commands, added


def case(chance, names, addresses):
    env, files = {"NCCL_DEBUG": "INFO"}, {}
    wanted = {}
    if chance.random() < 0.6:
        wanted["NCCL_SOCKET_IFNAME"] = ifname(chance, names)
    if chance.random() < 0.3:
        wanted["NCCL_SOCKET_FAMILY"] = chance.choice(("AF_INET", "AF_INET6", "AF_INET6", "af_inet6", "AF_INET ", "6", ""))
    if chance.random() < 0.15:
        wanted["NCCL_COMM_ID"] = comm_id(chance, names, addresses)
    if chance.random() < 0.6:
        env["HOME"] = chance.choice((HOME, HOME, PASSWD_HOME, BASE, ""))
    if chance.random() < 0.3:
        env["NCCL_CONF_FILE"] = chance.choice((CONF, CONF, f"{BASE}/missing", BASE, "", ETC))
    places = (f"{HOME}/.nccl.conf", f"{PASSWD_HOME}/.nccl.conf", CONF, ETC, "", "", "", "")
    for name, value in wanted.items():
        place = chance.choice(places)
        if place and "\0" not in value and "\n" not in value:
            files[place] = files.get(place, "") + noise(chance) + f"{name}={value}" + chance.choice(("\n", "\n", "\n", "\r\n", ""))
        else:
            env[name] = value
    for place in filter(None, places):
        if chance.random() < 0.3:
            files[place] = noise(chance) + files.get(place, "\n").removesuffix("\n") + "\n" + noise(chance)
    if chance.random() < 0.2:
        env["A"] = chance.choice(("", "env"))
    return {"env": env, "files": files}


def ifname(chance, names):
    tokens = []
    for _ in range(chance.choice((1, 1, 1, 2, 3, 18))):
        name = chance.choice([*names * 6, *NAMES])
        cut = name[: chance.randint(1, len(name))] if chance.random() < 0.35 else name
        tokens.append(chance.choice(("{}",) * 10 + ("{} ", " {}", "{}:1", ":{}", "", "^{}", "={}", "{}:1:2")).format(cut))
    if chance.random() < 0.06:  # beyond the sixteenth nothing is read
        tokens = [f"no{number}" for number in range(chance.randint(14, 17))] + [chance.choice(names)]
    form = chance.choice(("{}", "{}", "{}", "={}", "={}", "^{}", "^{}", "^={}", "=^{}", "^^{}", "=={}", "{},", ",{}"))
    return (
        chance.choice(("", "e", "^", "=", "^=", "^,", "=,", ",,", "^docker0")) if chance.random() < 0.12 else form.format(",".join(tokens))
    )


def comm_id(chance, names, addresses):
    far = chance.choice(("10.0.99.7:1", "192.168.7.7:29500", "127.0.0.9:5", "[fd00:0:0:99::1]:1", "[::1]:7", "[fe80::9]:1"))
    odd = chance.choice(("", "x", ":1", ",", "[fd00::1", "no.such.host.invalid:1", ",10.0.0.3:1"))
    near = []
    for name, address, _ in addresses:
        scope = f"%{chance.choice((name, name, *names))}" if address.startswith("fe80") else ""
        near.append(f"[{address}{scope}]:29500" if ":" in address else chance.choice((f"{address}:29500", address)))
    return chance.choice([far, far, odd, *near, *near])


def noise(chance):
    """Lines of a conf file, most of which mean nothing."""
    lines = ("# a comment", " # none", "A=1", "A=2 ", " A=3", "B=", "=c", "D", "export E=1", "F==f", "G=1=2", "\r", "", "H=\r", "I=1\r", "J=1\r\r", "#K=1",
             "L=a\0b", "M\0=1", "N=" + "n" * 1022, "N=" + "n" * 1023, "N=" + "n" * 1500, "O=\xe9\xff", "NCCL_NET = IB", "P='q'", "Q=\tr", "R=" + "r" * 5000,
             "\0S=1", "T=#t", "NCCL_CONF_FILE=/etc/other", "HOME=/other", "NCCL_NET=Socket")  # fmt: skip
    return "".join(f"{line}\n" for line in chance.sample(lines, chance.choice((0, 0, 1, 2, 5, 12))))
