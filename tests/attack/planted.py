"""A healthy host with secrets, names of people and of hosts planted in every kind of file that is read. The forms are those of real configurations:
manual pages of apt, dnf, systemd, GRUB, dracut, cloud-init and NFS; the documents of containerd, Docker, CRI-O, k3s; what scanners for secrets know.
"""

import json

from tests.trees import netdevs, rdma, system
from tests.trees.netdevs import Netdev
from tests.trees.rdma import Hca
from tests.trees.system import Daemon

#: Names under which a value is secret, in units, environment files, TOML, INI …
NAMES = (
    "PASSWORD", "PASSWD", "PASSPHRASE", "DB_PASS", "PASS", "MYSQL_PWD", "BIND_PW", "PSK", "REGISTRY_CREDS", "CREDENTIALS", "DOCKER_AUTH_CONFIG", "GITHUB_PAT", "SIGNING_KEY",
    "MUNGE_KEY", "ACCOUNT_KEY", "API_KEY", "AWS_SECRET_ACCESS_KEY", "SESSION_TOKEN", "K3S_TOKEN", "CLIENT_SECRET", "JWT", "BEARER", "COOKIE", "WANDB_API_KEY", "NGC_CLI_API_KEY",
)  # fmt: skip
FLAGS = (
    "--token",
    "--password",
    "--pass",
    "--registry-pass",
    "-p",
    "--bearer",
    "--jwt",
    "--api-key",
    "--secret",
    "-t",
    "--header",
    "--etcd-s3-secret-key",
    "--client-secret",
    "-u",
    "--auth",
)
WORDS = (
    "rootpw", "inst.rootpw", "luks_pass", "rd.luks.key", "netroot=iscsi:u", "inst.ks", "autoinstall.token", "ds=nocloud;s", "systemd.setenv=TOKEN", "vaultkey", "nfsroot", "cryptdevice",
    "ignition.config.url", "ip", "rd.iscsi.password", "rd.iscsi.in.password", "k0s.token", "wifi.psk", "ipa_password", "live.pass",
)  # fmt: skip
TOML_KEYS = (
    "pass",
    "pwd",
    "key",
    "bearer",
    "Cookie",
    "X-JFrog-Art-Api",
    "password",
    "auth",
    "identitytoken",
    "username",
    "client_secret",
    "Authorization",
)


class Planted:
    """Takes a form with ``{}`` for what is planted; remembers what may be found nowhere."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, str]] = []
        #: The environment of the job that the host is judged for.
        self.job = b""

    def secret(self, where: str) -> str:
        mark = f"s3cr{len(self.marks):03d}tZq"
        self.marks.append((mark, where))
        return mark

    def name(self, where: str, text: str) -> str:
        """An identity: a text of a form of its own."""
        self.marks.append((text, where))
        return text

    def lines(self, where: str, form: str, names: "tuple[str, ...]") -> str:
        return "".join(form.format(name, self.secret(f"{where}: {name}")) + "\n" for name in names)


def plant(tree) -> Planted:
    """Into a tree of `tests.trees.hosts.hgx_h100`."""
    planted = Planted()
    for part in (_apt, _beside, _boot, _units, _processes, _containerd, _other_runtimes, _cdi, _logs, _system, _people, _fabric, _nccl):
        part(tree, planted)
    return planted


def _apt(tree, planted):
    one = planted.secret
    tree.write(
        "/etc/apt/apt.conf.d/95proxy",
        f'Acquire::http::Proxy "http://svc:{one("apt proxy")}@proxy:3128";\n'
        f'Acquire {{ https {{ Password "{one("apt scope")}"; User "{planted.name("apt user", "aptuser.jane")}"; }}; }};\n'
        f'Acquire::https::repo::Password "{one("apt name")}";\nDPkg::Post-Invoke {{ "curl -u u:{one("apt command")} https://x"; }};\n'
        f'APT::Periodic::Unattended-Upgrade "1"; // {one("apt comment")}\n/* {one("apt block")} */\n#clear Acquire::{one("apt clear")};\n'
        f'Unattended-Upgrade::Mail "{planted.name("apt mail", "oncall.smith@corp-mail.example.net")}";\n',
    )
    tree.append(
        "/etc/apt/sources.list.d/cuda-ubuntu2404-x86_64.list",
        f"deb https://svc:{one('userinfo')}@mirror.corp/nvidia/ noble main\ndeb https://{one('token userinfo')}@nvidia.mirror.corp/a b\n"
        f"# deb [arch=amd64 auth={one('option')}] http://x:{one('off')}@h/cuda/repos/x /\ndeb http://u:{one('no source of ours')}@h/x y\n# {one('comment')}\n",
    )
    tree.write(
        "/etc/apt/sources.list.d/corp.sources",
        f"Types: deb\nURIs: https://u:{one('deb822')}@mirror/nvidia https://v:{one('deb822 other')}@mirror/other\nSuites: /\nX-Token: {one('deb822 field')}\n"
        f"Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQ{one('embedded key')}\n -----END PGP PUBLIC KEY BLOCK-----\n\n"
        f"Types: deb\nURIs: https://mirror/plain\nSuites: {one('other stanza')}\n",
    )
    tree.write(
        "/etc/apt/preferences.d/corp",
        f"# {one('pin comment')}\nExplanation: {one('pin explanation')}\nPackage: nvidia-x\nPin: version 1\nPin-Priority: 1001\n",
    )
    tree.write("/etc/apt/preferences.d/corp.wrong", f"nvidia {one('ignored preferences')}\n")
    tree.append(
        "/var/lib/dpkg/status",
        f"\nPackage: corp-agent\nStatus: install ok installed\nVersion: 1\nDescription: {one('package')}\n password={one('package 2')}\n",
    )
    tree.write("/etc/dnf/plugins/versionlock.list", f"# token={one('lock comment')}\n!{one('lock exclusion')}\n")
    tree.write("/etc/zypp/locks", f"type: package\nquery_string: {one('zypp')}\nsolvable_name: nvidia-z\n")
    tree.write(
        "/etc/dnf/versionlock.toml",
        f'version = "1.0"\nnote = "{one("lock note")}"\n[[packages]]\nname = "nvidia-y"\ncomment = "{one("lock table")}"\n',
    )


def _beside(tree, planted):
    """Beside what is used: behind a value, in a stanza, a section or an address of which something else counts."""
    one = planted.secret
    tree.write(
        "/etc/modprobe.d/notes.conf",
        f"options nvidia NVreg_A=1 # jane says {one('behind options')}\noptions nvidia NVreg_B=1 \\\n # {one('on a continued line')} \\\n {one('and on')}\n"
        f"options nvidia NVreg_C=1\t#{one('behind a tab')} NVreg_D=a#b\n",
    )
    tree.write(
        "/etc/apt/preferences.d/origins",
        f"Package: foo-{one('package of an origin')}\nPin: origin {one('origin')}\nPin-Priority: 900\n\n"
        f"Package: *\nPin: release o={one('release')}\nPin-Priority: 1001\n\nPackage: {one('without a pin')}\nPin-Priority: 1001\n",
    )
    tree.append("/etc/default/grub", f'GRUB_DEFAULT="0" # {one("behind quotes")}\nGRUB_DEFAULT=0 # {one("behind a word")}\n')
    tree.write("/etc/default/grub.d/60-note.cfg", f"GRUB_DEFAULT='0';{one('behind a command')}\n")
    tree.write(
        "/etc/yum/pluginconf.d/versionlock.list",
        f"nvidia-driver-3:580-1 # by {one('behind a lock')}\nnvidia-x-1-1 {one('behind another')}\n",
    )
    tree.append("/usr/lib/systemd/system/kubelet.service", f"\n[X-{one('a section')}]\nA=b\n[{one('another section')}]\nAfter=x\n")
    tree.write(
        "/etc/containerd/config.d/notimported.toml",
        f'version = 2\nimports = ["/etc/{one("imports of nobody")}/*.toml"]\n[grpc]\naddress = "/{one("socket of nobody")}"\n',
    )
    rests = "svc:p@{}@mirror", "svc:a/{}@mirror", "svc:{}?x@mirror", "svc:{}#x@mirror", "svc:{}/nvi/@mirror"
    uris = [f"https://{rest.format(one(rest))}/nvidia" for rest in rests]
    uris += [
        f"https://mirror/nvidia#{one('a fragment')}",
        f"https://mirror/nvidia?sig={one('a query')}@x",
        f"https://mirror/nvidia/?a=b#{one('both')}",
    ]
    tree.write("/etc/apt/sources.list.d/logins.list", "".join(f"deb {uri} /\n" for uri in uris))
    tree.write("/etc/apt/sources.list.d/logins.sources", f"Types: deb\nURIs: https://u:x@{one('in a stanza')}@mirror/nvidia\nSuites: /\n")
    tree.append("/proc/driver/nvidia/params", f"Corp{one('a parameter')}: 1\n")


def _boot(tree, planted):
    one = planted.secret
    words = planted.lines("kernel command line", "{}={}", WORDS).split()
    mac, cisco = planted.name("BOOTIF", "02-42-ac-9e-17-5b"), planted.name("ifname", "02:42:ac:9e:17:5c")
    ip, user = planted.name("ip=", "10.77.31.9"), planted.name("iscsi", "iqn.1994-05.com.corp:gpuhost77")
    tree.append(
        "/proc/cmdline", f"{' '.join(words)} BOOTIF=01-{mac} ifname=eth0:{cisco} ip={ip}::10.77.31.1 netroot={user} console=ttyS0\n"
    )
    tree.append(
        "/etc/default/grub",
        f'GRUB_CMDLINE_LINUX="rootpw={one("grub")} quiet"\npassword_pbkdf2 root grub.pbkdf2.sha512.10000.{one("grub hash")}\nexport GRUB_TOKEN={one("grub export")}\n'
        f"GRUB_PASSWORD={one('grub password')}\n# GRUB_DEFAULT was {one('grub comment')}\n",
    )
    tree.write("/etc/default/grub.d/50-cloud.cfg", f'GRUB_CMDLINE_LINUX_DEFAULT="ds=nocloud-net;s=http://u:{one("cloud seed")}@cloud/"\n')
    tree.write(
        "/etc/modprobe.d/corp.conf",
        f"# {one('modprobe comment')}\ninstall corp /bin/corp --key {one('modprobe install')}\noptions corp nvidia=1 secret={one('modprobe options')}\n"
        f"blacklist nouveau # {one('modprobe tail')}\n",
    )
    tree.append("/proc/stat", f"x {one('stat')}\n")
    tree.append("/proc/modules", f"corp 1 0 - Live 0x0 {one('modules')}\n")
    tree.append(f"/lib/modules/{tree.kernel}/modules.dep", f"extra/{one('modules.dep')}.ko:\n")


def _units(tree, planted):
    one = planted.secret
    environment = planted.lines("unit", "Environment={}={}", NAMES) + planted.lines("unit, quoted", 'Environment="{}={}" X=1', NAMES)
    more = (
        f"ExecStartPre=/usr/bin/curl -u admin:{one('curl -u')} https://x\nExecStart=/usr/bin/mysqld -p{one('mysql -p')}\nSetCredential=tls:{one('SetCredential')}\n"
        f"LoadCredentialEncrypted={one('LoadCredential')}\nEnvironment=A=b \\\n  MORE_TOKEN={one('continued')} \\\n  # comment {one('comment inside')}\n  C=d\n"
        f"# Environment=OLD={one('comment')}\nPassEnvironment=TOKEN\nUser={planted.name('User=', 'jane.unituser')}\nDescription={one('description')}\n"
    )
    tree.append("/usr/lib/systemd/system/kubelet.service", f"\n[Service]\n{environment}{more}")
    tree.write(
        "/etc/systemd/system/containerd.service.d/10-proxy.conf", "[Service]\n" + planted.lines("drop-in", "Environment={}={}", NAMES[:8])
    )
    tree.write("/etc/systemd/system.conf", f"[Manager]\nDefaultEnvironment=TOKEN={one('system.conf')}\n#DefaultLimitMEMLOCK=\n")
    tree.write("/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env", planted.lines("environment file", "{}={}", NAMES[:6]))


def _processes(tree, planted):
    argv = [word for flag in FLAGS for word in (flag, planted.secret(f"argv {flag}"))]
    equals = [f"{flag}={planted.secret(f'argv {flag}=')}" for flag in FLAGS]
    paths = ("-c", planted.secret("a configuration that is no path"), f"--config=token-{planted.secret('--config= no path')}")
    system.run(
        tree,
        Daemon(7001, ("/usr/bin/dockerd-rootless", *argv)),
        Daemon(7002, ("/usr/sbin/chronyd", *equals, *paths)),
        Daemon(7003, ("/usr/bin/slurmd", *argv[:8])),
    )
    tree.append(
        "/proc/net/unix",
        f"0000000000000000: 00000002 00000000 00010000 0001 01 99001 /run/user/1000/{planted.secret('socket')}.sock\n"
        f"0000000000000000: 00000002 00000000 00010000 0001 01 99002 /home/{planted.name('socket in a home', 'jane.sock')}/agent\n",
    )


def _containerd(tree, planted):
    one = planted.secret
    host = planted.name("registry", "harbor77.corp.example.net")
    registry = 'plugins."io.containerd.grpc.v1.cri".registry'
    values = "".join(f'{key} = "{planted.secret(f"toml {key}")}"\n' for key in TOML_KEYS)
    headers = "".join(f'{key} = ["{planted.secret(f"toml list {key}")}"]\n' for key in TOML_KEYS)
    tree.append(
        "/etc/containerd/config.toml",
        f'\n[{registry}.configs."{host}".auth]\n{values}\n[{registry}.configs."{host}".header]\n{headers}\n'
        f'[plugins."io.containerd.cri.v1.images".registry]\nconfig_path = "/etc/{one("a path")}"\n'
        f'[debug]\naddress = "https://u:{one("debug address")}@h"\n[proxy_plugins.x]\naddress = "{one("proxy plugin")}"\n[corp]\ntoken = "{one("unknown table")}"\n'
        f'[stream_processors.decrypt]\nargs = ["--decryption-keys-path", "{one("stream processor")}"]\nenv = ["OCICRYPT_TOKEN={one("stream environment")}"]\n'
        f'[timeouts]\n"io.corp.{one("timeout")}" = "1s"\n[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.corp]\nruntime_type = "io.containerd.runc.v2"\n'
        f'base_runtime_spec = "/etc/{one("runtime spec")}.json"\n[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.corp.options]\nEnv = "{one("runtime option")}"\n',
    )
    tree.write("/etc/containerd/conf.d/broken.disabled", one("a file that is not read"))
    tree.write(
        "/etc/containerd/config.d/broken.toml",
        f'version = 2\n[nvidia\npassword = "{one("broken toml")}"\n{one("broken bare")} = {one("broken value")}\n',
    )
    tree.append(
        "/etc/nvidia-container-runtime/config.toml",
        f'\n[corp]\nswarm-token = "{one("toolkit")}"\n[nvidia-container-cli.more]\nenvironment = ["NGC_API_KEY={one("toolkit environment")}"]\n# {one("toolkit comment")}\n',
    )


def _other_runtimes(tree, planted):
    one = planted.secret
    docker = {
        "runtimes": {"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": ["--token", one("docker runtime argument")], "options": {"key": one("docker runtime option")}}},
        "hosts": ["unix:///run/docker.sock", f"tcp://{planted.name('docker host', '10.77.31.44')}:2376"], "tlskey": one("docker tlskey"), "labels": [f"owner={one('docker label')}"],
        "proxies": {"http-proxy": f"http://u:{one('docker proxy')}@p", "https-proxy": f"http://{one('docker proxy user')}@p"}, "log-opts": {"splunk-token": one("docker splunk"), "gelf": one("gelf")},
        "registry-mirrors": [f"https://m:{one('docker mirror')}@mirror77.corp.example.net"], "exec-opts": ["native.cgroupdriver=systemd", f"native.token={one('docker exec-opt')}"],
        "features": {"cdi": True, one("docker feature"): True}, "auths": {"r": {"auth": one("docker auth")}}, "env": [f"TOKEN={one('docker env')}"], "insecure-registries": [planted.name("registry", "reg77.corp.example.net:5000")],
    }  # fmt: skip
    tree.program("/usr/bin/dockerd")
    tree.write("/etc/docker/daemon.json", json.dumps(docker))
    tree.program("/usr/bin/crio")
    tree.write(
        "/etc/crio/crio.conf",
        f'[crio.image]\nglobal_auth_file = "/etc/{one("crio auth")}"\npause_image_auth_file = "{one("crio pause")}"\n[crio.runtime]\ndefault_env = ["TOKEN={one("crio env")}"]\n'
        f'decryption_keys_path = "/{one("crio keys")}"\n[crio.runtime.runtimes.nvidia]\nruntime_path = "/usr/bin/nvidia-container-runtime"\nmonitor_env = ["PASS={one("crio monitor")}"]\n'
        f'[crio.metrics]\nmetrics_key = "{one("crio metrics")}"\n[crio.tracing]\nendpoint = "http://u:{one("crio tracing")}@h"\n',
    )
    tree.write("/etc/crio/crio.conf.d/10-x.conf", f'[crio.api]\nstream_tls_key = "{one("crio tls")}"\n')
    tree.program("/usr/local/bin/k3s")


def _cdi(tree, planted):
    one = planted.secret
    spec = {
        "cdiVersion": "0.6.0", "kind": "nvidia.com/corp", "annotations": {"note": one("cdi annotation")},
        "containerEdits": {"env": [f"{name}={planted.secret(f'cdi env {name}')}" for name in NAMES[:6]]},
        "devices": [{"name": "x", "annotations": {"a": one("cdi device")}, "containerEdits": {
            "env": [f"A={one('cdi device env')}"], "mounts": [{"hostPath": "/usr/bin/nvidia-smi", "containerPath": f"/{one('cdi container path')}", "options": [f"password={one('cdi option')}"]}],
            "hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-ctk", "args": ["x", "--token", one("cdi argument")], "env": [f"K={one('cdi hook env')}"]}],
        }}],
    }  # fmt: skip
    tree.write("/etc/cdi/corp.json", json.dumps(spec))
    tree.write("/etc/cdi/other.yaml", f"cdiVersion: 0.5.0\nkind: corp.example/dev\nsecret: {one('cdi of others')}\ndevices: []\n")
    tree.write("/etc/cdi/broken.yaml", f"nvidia: [\n  password: {one('broken yaml')}\n {one('broken yaml word')}: - }}\n")


def _logs(tree, planted):
    one = planted.secret
    system.log_kernel(
        tree,
        f"Command line: nvidia-drm.modeset=1 rootpw={one('kernel log: command line')} luks_pass={one('kernel log: luks')}",
        f"Kernel command line: nvidia rd.luks.key={one('kernel log: key')}",
        f"systemd[1]: Started nvidia-corp with token {one('kernel log: systemd')}.",
        f"audit: nvidia exe=/home/{planted.name('kernel log: home', 'jane.kernel')}/x key={one('kernel log: audit')}",
    )
    tree.append(
        "/var/log/fabricmanager.log",
        f"[Nov 10 2026 06:00:30] [INFO] [tid 870] token={one('log: info')}\n",
    )
    tree.write(
        f"/var/lib/dkms/nvidia/{tree.driver}/build/make.log",
        f"DKMS make.log for nvidia-{tree.driver} for kernel {tree.kernel} (x86_64)\nexport SIGN_KEY={one('make.log')}\nPASSWORD={one('make.log password')} make\n",
    )


def _system(tree, planted):
    one = planted.secret
    tree.append(
        "/usr/lib/os-release",
        f'X_TOKEN="{one("os-release")}"\nBUG_REPORT_URL="https://u:{one("os-release url")}@h"\nSUPPORT_KEY={one("os-release key")}\n',
    )
    tree.append(
        "/proc/1/mounts",
        f"//nas77/x /mnt cifs rw,username=j,password={one('mounts')} 0 0\nnas77.corp.example.net:/export/users/jane.mount /data nfs rw 0 0\n",
    )
    tree.append("/proc/901/limits", f"Max {one('limits')} 1 1 bytes\n")
    tree.append("/proc/devices", "")
    tree.append("/proc/driver/nvidia/version", f"GCC version: gcc ({one('gcc')})\n")
    tree.write(
        "/usr/local/cuda/version.json",
        json.dumps({"cuda": {"name": one("cuda name"), "version": "13.0.1"}, "x": {"token": one("cuda token")}}),
    )
    tree.write("/run/yum.pid", f"123\n{'x' * 80}{one('pid file')}\n")
    tree.append("/etc/machine-id", "")


def _people(tree, planted):
    """Names and addresses where nothing filters them: names of files and links."""
    jane = planted.name("a home in a generated unit", "janeq77")
    for path in (f"/run/systemd/generator/home-{jane}.mount", f"/etc/systemd/system/home-{jane}.automount"):
        tree.write(path, "[Unit]\n")
    tree.link("/etc/systemd/system/x.service", f"/home/{planted.name('a link into a home', 'joek78')}/x.service")
    tree.link("/etc/systemd/system/y.service", f"/export/users/{planted.name('a link into users', 'annp79')}/y.service")
    tree.write(f"/etc/systemd/system/net-{planted.name('a MAC of a unit', '02:42:ac:9e:17:5d')}.service", "[Unit]\n")
    tree.write(f"/etc/systemd/system/vm-{planted.name('a UUID of a unit', '3b9f7a52-41c8-4b1e-9d55-0c2a8e6f9b77')}.service", "[Unit]\n")
    tree.write(f"/etc/systemd/system/tun-{planted.name('an address of a unit', '10.77.31.45')}.service", "[Unit]\n")
    tree.write(f"/etc/systemd/system/ssh@{planted.name('a cloud name', 'ip-10-77-31-46')}.service", "[Unit]\n")
    tree.write(f"/etc/systemd/system/guid-{planted.name('a GUID', '0x506b4b0300abcdef')}.service", "[Unit]\n")


def _fabric(tree, planted):
    """An interface and an RDMA device that are named by an Ethernet address and a GUID, and what is made of both and of their addresses."""
    mac, inside = planted.name("an interface's own address", "02:42:ac:9e:17:5e"), "0042acfffe9e175e"
    netdev, device = f"enx{planted.name('an interface', '0242ac9e175e')}", f"rocex{planted.name('an RDMA device', inside)}"
    netdevs.add(tree, Netdev(netdev, addresses=(f"{planted.name('an address', '10.77.31.47')}/24",), mac=mac))
    netdevs.give(tree, netdev, f"{planted.name('an address of IPv6', '2001:db8:77:31:5ee5::47')}/64")
    rdma.add(tree, Hca(device, "Ethernet", guid=planted.name("a GUID of four parts", "0042:acff:fe9e:175e")), "", netdev=netdev)
    for where, text in (("a GID", "0a4d:1f2f"), ("the end of a link-local address", "acff:fe9e"), ("a table of addresses", "0042acfffe9e")):
        planted.name(where, text)
    tree.write(f"/sys/class/infiniband/{device}/node_desc", f"{planted.name('what a device is called', 'desc77-host')} {device}\n")
    netdevs.default_route(tree, netdev, planted.name("a gateway", "10.77.31.48"))


def _nccl(tree, planted):
    """Settings of a host, of a home and of a job: in names that NCCL does not know, in comments, in paths and in addresses."""
    one, home = planted.secret, planted.name("the home of a job", "marq80")
    conf = (
        "# {} set this\n#NCCL_X={}\nNCCL_X_TOKEN={}\nMY_PASSWORD={}\nexport NCCL_NET={}\n NCCL_DEBUG={}\nNCCL_HOSTID={}\nNCCL_SOCKET_MAGIC={}\n{}\n"
        "NCCL_NET=IB\0{}\nNCCL_DEBUG_FILE=/x/ghp_0123{}/%h\nNCCL_TOPO_FILE=https://u:{}@h/x.xml\nNCCL_IB_HCA=mlx5 token={}\nFI_LOG_PROV=hf_0123{}\n"
    )
    tree.write(
        "/etc/nccl.conf", _filled(conf, "nccl.conf", one) + f"NCCL_IBVERBS_LIB=/home/{planted.name('a home in a setting', 'lisq81')}/v.so\n"
    )
    tree.write(f"/data/{home}/.nccl.conf", _filled(conf, "a home's nccl.conf", one))
    tree.write(f"/data/{home}/topo.xml", f"<system><!-- {one('a topology')} --></system>")
    host, number = planted.name("a host in a setting", "meetq82.example.net"), planted.name("an address in a setting", "10.77.31.49")
    variables = {
        "HOME": f"/data/{home}", "USER": home, "LOGNAME": home, "PWD": f"/data/{home}/{one('a directory')}", "HOSTNAME": one("a host's variable"),
        **{name: one(f"a job: {name}") for name in NAMES}, **{f"NCCL_X_{name}": one(f"a job: NCCL_X_{name}") for name in NAMES},
        "NCCL_HOSTID": one("NCCL_HOSTID"), "NCCLX": one("NCCLX"), "OFI_X": one("OFI_X"), "FI_X": one("FI_X"),
        "NCCL_COMM_ID": f"{host}:29500", "NCCL_RAS_ADDR": f"{number}:28028", "NCCL_IB_ADDR_RANGE": f"{number}/32",
        "NCCL_GRAPH_FILE": f"/data/{home}/topo.xml", "NCCL_TUNER_PLUGIN": f"/scratch/{home}/x.so,/home/{planted.name('a home of a plug-in', 'tomq83')}/y.so",
        "NCCL_PROFILER_PLUGIN": f"/opt/glpat-0123456{one('a path')}/p.so", "LD_LIBRARY_PATH": f"/data/{home}/lib:/opt/hf_0123456{one('a search path')}/lib",
    }  # fmt: skip
    planted.job = b"".join(f"{name}={value}\0".encode() for name, value in variables.items())


def _filled(text, where, one):
    return text.format(*(one(f"{where}, {number}") for number in range(text.count("{}"))))


def damage(tree, kind: str) -> Planted:
    """The same where something is wrong, and a report says what: `kind` is a key of `DAMAGE`."""
    planted = Planted()
    DAMAGE[kind](tree, planted)
    return planted


def _errors_in_logs(tree, planted):
    one = planted.secret
    started = "[Nov 10 2026 06:00:31] [ERROR] [tid 870] "
    tree.append("/var/log/fabricmanager.log", "".join(f"{started}{name}={one(f'log: {name}')}\n" for name in NAMES[:12]))
    tree.append("/var/log/fabricmanager.log", f"{started}cannot fetch https://u:{one('log: url')}@h/x with token ghp_{one('log: form')}\n")
    tree.append(
        f"/var/lib/dkms/nvidia/{tree.driver}/build/make.log",
        f"DKMS make.log for nvidia-{tree.driver} for kernel 9.9.9-9 (x86_64)\nsign-file: error: SIGN_KEY={one('make.log error')}\n",
    )
    system.log_kernel(
        tree, f"NVRM: Xid (PCI:0000:1b:00): 31, pid=77, name={planted.name('a program', 'jane_train.py')}, Ch 00000010, intr 00000000."
    )


def _wrong_types(tree, planted):
    one = planted.secret
    tree.edit("/etc/containerd/config.toml", "enable_cdi = true", f'enable_cdi = "{one("a text for a boolean")}"')
    _docker_of(tree, json.dumps({"features": {"cdi": one("a text for a feature")}}))
    tree.write("/etc/nvidia-container-runtime/config.toml", f'[nvidia-container-runtime]\nmode = ["{one("a list for a text")}"]\n')
    tree.write(
        "/etc/cdi/env.json",
        json.dumps(
            {"cdiVersion": "0.6.0", "kind": "nvidia.com/e", "devices": [{"name": "a", "containerEdits": {"env": [one("no NAME=VALUE")]}}]}
        ),
    )


def _no_documents(tree, planted):
    one = planted.secret
    tree.append("/etc/containerd/config.toml", f'\n[x]\npassword = "{one("toml")}"\n{one("toml word")} {one("toml words")}\n')
    _docker_of(tree, f'{{"proxies": {{"http-proxy": "http://u:{one("json")}@h"}}, "x": "{one("json string")}\n}}')
    tree.write("/etc/nvidia-container-runtime/config.toml", f'[nvidia-container-runtime]\nmode = "auto"\npassword = {one("bare toml")}\n')
    tree.write("/etc/cdi/nvidia-env.yaml", f"nvidia: [\n  password: {one('yaml')}\n {one('yaml word')}: - }}\n")
    tree.write("/etc/apt/apt.conf.d/99broken", "x { " * 40 + f'Password "{one("apt.conf")}";')
    tree.write("/etc/apt/trusted.gpg.d/x.asc", f"-----BEGIN PGP PUBLIC KEY BLOCK-----\nno={one('keyring')}\n")
    tree.write("/etc/apt/sources.list.d/x.list", "deb http://h/nvidia /\n")
    tree.write("/etc/ld.so.cache", f"no cache {one('linker cache')}")
    tree.append("/var/lib/dkms/x", one("dkms"))


def _docker_of(tree, text):
    tree.program("/usr/bin/dockerd")
    tree.write("/etc/docker/daemon.json", text)


DAMAGE = {"errors in logs": _errors_in_logs, "wrong types": _wrong_types, "no documents": _no_documents}
