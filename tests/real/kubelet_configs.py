"""Configurations that the real kubelet and ours are asked about: files, drop-ins and flags by name.

`config` is the file of --config, `drops` are files below --config-dir by name, `flags` come last. Where there is a --config-dir a last
drop-in lets the test ask; else the file or the flags have it themselves.
"""

import json
from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import NamedTuple

HOME = "/var/lib/k"
KIND = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
_TAIL = {
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "failCgroupV1": False, "cgroupsPerQOS": False, "localStorageCapacityIsolation": False,
    "makeIPTablesUtilChains": False, "volumePluginDir": "/var/lib/plugins", "healthzPort": 0,
}  # fmt: skip
_REACH = {"containerRuntimeEndpoint": "unix:///var/lib/runtime.sock", "enforceNodeAllocatable": []}
_HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
#: What the file says where it is to be asked itself, as lines of YAML.
INLINE = "".join(f"{key}: {json.dumps(value)}\n" for key, value in {**_TAIL, **_REACH}.items())
LAST = json.dumps({**_HEAD, **_TAIL, **_REACH})
FLAGS = (
    "--container-runtime-endpoint=unix:///var/lib/runtime.sock", "--fail-cgroupv1=false", "--cgroups-per-qos=false", "--enforce-node-allocatable=",
    "--local-storage-capacity-isolation=false", "--make-iptables-util-chains=false", "--volume-plugin-dir=/var/lib/plugins", "--healthz-port=0",
)  # fmt: skip


class Case(NamedTuple):
    config: str | bytes | None = None
    drops: Mapping = MappingProxyType({})
    flags: tuple = ()
    words: bool = True  # our reason has the kubelet's words


def _file(body, *flags, words=True):
    return Case(KIND + body + INLINE, {}, flags, words)


def _drops(config, *bodies, flags=(), words=True):
    return Case(
        None if config is None else KIND + config, {f"{10 + n}.conf": KIND + body for n, body in enumerate(bodies)}, tuple(flags), words
    )


def _json(pairs):
    """JSON out of members, of which two may have one key; bytes stand as they are."""
    return (
        "{"
        + ", ".join(f"{json.dumps(key)}: {value.decode() if isinstance(value, bytes) else json.dumps(value)}" for key, value in pairs)
        + "}"
    )


_JSON_HEAD = list(_HEAD.items())
_JSON_TAIL = list({**_TAIL, **_REACH}.items())
_EVICTION = "evictionHard: {memory.available: 300Mi}\n"
_STATIC = "cpuManagerPolicy: static\nkubeReserved: {cpu: 500m}\n"

CASES = {
    # one file
    "defaults-of-a-file": _file(""),
    "values-of-a-file": _file("maxPods: 42\npodsPerCore: 3\ntopologyManagerPolicy: best-effort\ntopologyManagerScope: pod\nkubeletCgroups: /a\n"),
    "null-values": _file("maxPods: null\nkubeReserved: null\nevictionHard: null\ncpuCFSQuota: null\ncpuCFSQuotaPeriod: null\ntopologyManagerPolicy: ~\n"),
    "null-duration": _file("cpuManagerReconcilePeriod: null\n"),
    "empty-values": _file('topologyManagerPolicy: ""\nkubeReserved: {}\nevictionHard: {}\nmaxPods: 0\ncpuManagerReconcilePeriod: 0s\nreservedMemory: []\n'),
    "empty-duration": _file('evictionPressureTransitionPeriod: ""\n'),
    "false-and-nothing": _file("cpuCFSQuota: false\nevictionMaxPodGracePeriod: -1\n"),
    "yaml-1.1-words": _file("cpuCFSQuota: off\nmaxPods: 0x20\npodsPerCore: 010\n"),
    "yaml-y": _file("cpuCFSQuota: n\nmaxPods: 1_00\n"),
    "whole-float": _file("maxPods: 1.5e1\n"),
    "float": _file("maxPods: 1.5\n"),
    "number-for-text": _file("topologyManagerPolicy: 5\n"),
    "text-for-number": _file('maxPods: "110"\n'),
    "number-in-a-map-of-text": _file("kubeReserved: {cpu: 1}\n"),
    "text-in-a-map-of-truth": _file('featureGates: {ContextualLogging: "true"}\n'),
    "too-large-a-number": _file("maxPods: 3000000000\n"),
    "list-for-map": _file("evictionHard: [a]\n"),
    "map-for-list": _file("reservedMemory: {numaNode: 0}\n"),
    "unknown-field": _file("noSuchField: 1\nmaxPods: 9\n"),
    "field-in-other-letters": _file("maxpods: 9\nMaxPods: 8\n"),
    "twice-in-yaml": _file("maxPods: 9\nkubeReserved: {cpu: 100m}\nmaxPods: 8\nkubeReserved: {memory: 1Gi}\n"),
    "twice-in-json": Case(_json([*_JSON_HEAD, ("kubeReserved", {"cpu": "100m"}), ("maxPods", 9), ("kubeReserved", {"memory": "1Gi"}), ("maxPods", 8), *_JSON_TAIL])),
    "json": Case(_json([*_JSON_HEAD, ("maxPods", 9), ("evictionSoft", {}), *_JSON_TAIL])),
    "json-float": Case(_json([*_JSON_HEAD, ("maxPods", b"9.0"), *_JSON_TAIL])),
    "json-with-a-comma-too-many": Case(_json([*_JSON_HEAD, *_JSON_TAIL])[:-1] + ",}"),
    "several-documents": Case(KIND + "maxPods: 9\n" + INLINE + "---\n" + KIND + "maxPods: 10\n"),
    "second-document-is-broken": Case(KIND + "maxPods: 9\n" + INLINE + "---\n{[\n"),
    "empty-document-first": Case("---\n---\n" + KIND + INLINE, words=False),
    "no-kind": Case("apiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 9\n"),
    "no-version": Case("kind: KubeletConfiguration\nmaxPods: 9\n"),
    "other-version": Case("apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n"),
    "other-kind": Case("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeProxyConfiguration\n"),
    "kind-in-other-letters": Case("apiversion: kubelet.config.k8s.io/v1beta1\nKind: KubeletConfiguration\nmaxPods: 9\n" + INLINE),
    "empty-file": Case(""),
    "comments-alone": Case("# nothing\n"),
    "list-at-the-top": Case("- a\n", words=False),
    "tabs": Case(KIND + "\tmaxPods: 9\n", words=False),
    "broken-yaml": Case(KIND + "maxPods: [1\n", words=False),
    "anchors-and-merges": _file("kubeReserved: &a {cpu: 100m}\nsystemReserved: {<<: *a, memory: 1Gi}\n"),
    "byte-order-mark": Case(b"\xef\xbb\xbf" + (KIND + "maxPods: 9\n" + INLINE).encode()),
    "durations": _file("cpuManagerReconcilePeriod: 90s\nevictionPressureTransitionPeriod: 1h1.5s\n"),
    "bad-duration": _file("cpuManagerReconcilePeriod: 1d\n"),
    "duration-without-unit": _file('cpuManagerReconcilePeriod: "10"\n'),
    "number-for-duration": _file("cpuManagerReconcilePeriod: 10\n"),
    # what validation refuses
    "unknown-topology-policy": _file("topologyManagerPolicy: Restricted\n"),
    "two-faults": _file("topologyManagerScope: node\nmaxPods: -1\n"),
    "system-cgroups-without-root": _file("systemCgroups: /s\n"),
    "reserved-cpus-with-cgroup": _file("reservedSystemCPUs: 0-1\nkubeReservedCgroup: /k\n"),
    "unreadable-cpus": _file("reservedSystemCPUs: 0-1,x\n"),
    "quota-period-without-gate": _file("cpuCFSQuotaPeriod: 10ms\n"),
    "quota-period-with-gate": _file("cpuCFSQuotaPeriod: 10ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: true}\n"),
    "reserved-memory-twice": _file("reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 0, limits: {memory: 0, cpu: 1}}]\n", words=False),
    "bad-quantity-in-memory": _file("reservedMemory: [{numaNode: 0, limits: {memory: 1X}}]\n"),
    # gates
    "gates": _file("featureGates: {CPUManagerPolicyAlphaOptions: true, ContextualLogging: false, AllBeta: true}\n"),
    "unknown-gate": _file("featureGates: {NoSuchGate: true}\n"),
    "removed-gate": _file("featureGates: {CPUManager: true}\n"),
    "locked-gate": _file("featureGates: {MemoryManager: false}\n"),
    "locked-gate-as-it-is": _file("featureGates: {MemoryManager: true}\n"),
    "gate-that-needs-another": _file("featureGates: {DRAConsumableCapacity: true, DRAAdminAccess: true}\n"),
    "gate-whose-need-is-off": _file("featureGates: {GracefulNodeShutdown: false}\n", words=False),
    "gates-of-flags-and-file": _file("featureGates: {ContextualLogging: false, NodeLogQuery: true}\n", "--feature-gates=ContextualLogging=true,CPUManagerPolicyAlphaOptions=true"),
    # policies, options, reservations
    "static-without-reservation": _file("cpuManagerPolicy: static\n"),
    "static": _file(_STATIC),
    "unknown-cpu-policy": _file("cpuManagerPolicy: Static\n"),
    "options-of-none": _file('cpuManagerPolicyOptions: {full-pcpus-only: "true"}\n'),
    "static-options": _file(_STATIC + 'cpuManagerPolicyOptions: {full-pcpus-only: "true", distribute-cpus-across-numa: "T"}\n'),
    "alpha-option-without-gate": _file(_STATIC + 'cpuManagerPolicyOptions: {align-by-socket: "true"}\n'),
    "alpha-option-with-gate": _file(_STATIC + 'cpuManagerPolicyOptions: {align-by-socket: "true"}\nfeatureGates: {CPUManagerPolicyAlphaOptions: true}\n'),
    "align-by-socket-and-single": _file(_STATIC + 'topologyManagerPolicy: single-numa-node\ncpuManagerPolicyOptions: {align-by-socket: "true"}\nfeatureGates: {CPUManagerPolicyAlphaOptions: true}\n'),
    "unknown-option": _file(_STATIC + 'cpuManagerPolicyOptions: {fast: "true"}\n'),
    "option-that-is-no-truth": _file(_STATIC + 'cpuManagerPolicyOptions: {full-pcpus-only: "yes"}\n'),
    "options-apart": _file(_STATIC + 'cpuManagerPolicyOptions: {distribute-cpus-across-numa: "true", prefer-align-cpus-by-uncorecache: "true"}\n'),
    "reserved-cpus": _file('cpuManagerPolicy: static\nreservedSystemCPUs: 0,4\nkubeReserved: {cpu: "1", memory: 1Gi}\n'),
    "reserved-cpus-over-system": _file('cpuManagerPolicy: static\nreservedSystemCPUs: 0-2\nsystemReserved: {cpu: "1", pid: "100"}\n'),
    "reserved-cpus-that-are-gone": _file("reservedSystemCPUs: 6-9\n"),
    "more-cpus-than-there-are": _file('cpuManagerPolicy: static\nkubeReserved: {cpu: "9"}\n'),
    "more-memory-than-there-is": _file("systemReserved: {memory: 20Gi}\n", words=False),
    "reservation-of-another-resource": _file("kubeReserved: {nvidia.com/gpu: 1}\n".replace(": 1}", ': "1"}')),
    "negative-reservation": _file("systemReserved: {memory: -1Gi}\n"),
    "reservation-that-is-no-quantity": _file("systemReserved: {memory: 1 Gi}\n"),
    "memory-static": _file(_EVICTION + "kubeReserved: {memory: 724Mi}\nmemoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 0.5Gi}}, {numaNode: 1, limits: {memory: 512Mi}}]\n"),
    "memory-static-in-drop-ins": _drops("", _EVICTION + "kubeReserved: {memory: 724Mi}\nmemoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 0.5Gi}}, {numaNode: 1, limits: {memory: 512Mi}}]\n"),
    "memory-static-in-whole-numbers": _file(_EVICTION + "kubeReserved: {memory: 724Mi}\nmemoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 0512Mi}}, {numaNode: 1, limits: {memory: 536870912}}]\n"),
    "memory-static-with-a-share": _file("evictionHard: {memory.available: 1%}\nmemoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]\n"),
    "memory-static-with-the-share": _file('evictionHard: {memory.available: "1%"}\nmemoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: "171798688"}}]\n'),
    "users-of-a-pod-too-few": _file("userNamespaces: {idsPerPod: 100}\n"),
    "users-of-a-pod-odd": _file("userNamespaces: {idsPerPod: 65537}\n"),
    "users-of-a-pod-too-many": _file("userNamespaces: {idsPerPod: 4294967296}\n"),
    "memory-static-without-sum": _file("memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n"),
    "memory-static-without-any": _file("evictionHard: {}\nmemoryManagerPolicy: Static\n"),
    "memory-on-a-node-that-is-gone": _file("memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 2, limits: {memory: 100Mi}}]\n"),
    "memory-huge-pages": _file("memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 100Mi, hugepages-2Mi: 2Mi}}]\n"),
    "unknown-memory-policy": _file("memoryManagerPolicy: static\n"),
    "more-pods-than-users": _file("maxPods: 65536\n"),
    "as-many-pods-as-users": _file("maxPods: 65535\n"),
    "canonical-quantities": _file("reservedMemory: [{numaNode: 0, limits: {memory: 1024Mi}}, {numaNode: 1, limits: {memory: 1e3, hugepages-1Gi: 1.5Gi}}]\n"),
    "topology-options": _file('topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true", max-allowable-numa-nodes: "16"}\n'),
    "too-low-a-limit-of-nodes": _file('topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: "4"}\n'),
    "options-of-no-topology-policy": _file('topologyManagerPolicyOptions: {nonsense: "4"}\n'),
    "thresholds": _file('evictionHard: {memory.available: 5%, nodefs.available: "0%", pid.available: "100"}\nevictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m30s}\nevictionMinimumReclaim: {memory.available: 0Mi}\n'),
    "threshold-without-period": _file("evictionSoft: {memory.available: 1Gi}\n"),
    "unknown-signal": _file("evictionHard: {memory.free: 1Gi}\n"),
    "threshold-of-more-than-all": _file("evictionHard: {memory.available: 150%}\n"),
    "merged-default-thresholds": _file("mergeDefaultEvictionSettings: true\n" + _EVICTION),
    # drop-ins
    "drop-ins-in-order": _drops("maxPods: 1\npodsPerCore: 1\n", "maxPods: 2\n", "maxPods: 3\n"),
    "drop-ins-alone": _drops(None, "maxPods: 2\n"),
    "maps-merge": _drops("kubeReserved: {cpu: 100m, memory: 1Gi}\n" + _EVICTION, "kubeReserved: {memory: 2Gi, pid: '100'}\nevictionHard: {nodefs.available: 1Gi}\n"),
    "default-thresholds-merge": _drops("", _EVICTION),
    "lists-are-replaced": _drops(
        "memoryManagerPolicy: None\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 2Gi}}]\n",
        "reservedMemory: [{numaNode: 1, limits: {memory: 3Gi}}]\n",
    ),
    "null-removes": _drops("maxPods: 9\nkubeReserved: {cpu: 100m, memory: 1Gi}\n" + _EVICTION, "maxPods: null\nkubeReserved: {cpu: null}\nevictionHard: null\ntopologyManagerPolicy: null\n"),
    "null-duration-in-a-drop-in": _drops("cpuManagerReconcilePeriod: 3s\n", "cpuManagerReconcilePeriod: null\n"),
    "empty-in-a-drop-in": _drops("kubeReserved: {cpu: 100m}\ntopologyManagerPolicy: restricted\n", 'kubeReserved: {}\ntopologyManagerPolicy: ""\nevictionHard: {}\n'),
    "unknown-field-in-a-drop-in": _drops("", "noSuchField: 1\nmaxPods: 9\n"),
    "other-letters-in-a-drop-in": _drops("maxPods: 7\n", "MAXPODS: 9\nRESERVEDSYSTEMCPUS: '1'\nKubeReserved: {cpu: 100m}\n"),
    "twice-in-a-drop-in": _drops("", "maxPods: 9\nmaxPods: 8\n"),
    "twice-in-a-drop-in-of-json": Case(KIND, {"10.conf": _json([*_JSON_HEAD, ("maxPods", 9), ("maxPods", 9)])}),
    "json-float-in-a-drop-in": Case(KIND, {"10.conf": _json([*_JSON_HEAD, ("maxPods", b"9.0")])}),
    "drop-in-without-kind": Case(KIND, {"10.conf": "apiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 9\n"}),
    "drop-in-without-version": Case(KIND, {"10.conf": "kind: KubeletConfiguration\nmaxPods: 9\n"}),
    "drop-in-of-another-kind": Case(KIND, {"10.conf": "apiVersion: v1\nkind: Node\n"}, words=False),
    "empty-drop-in": Case(KIND, {"10.conf": ""}),
    "bad-value-in-a-drop-in": _drops("", "maxPods: many\n"),
    "several-documents-in-a-drop-in": _drops("", "maxPods: 8\n---\nmaxPods: 9\n"),
    "suffixes": Case(KIND, {"10.yaml": KIND + "maxPods: 1\n", "11.conf.bak": KIND + "maxPods: 2\n", "12.CONF": "{", ".conf": KIND + "podsPerCore: 4\n", "README": "x"}),
    "sub-directories": Case(KIND, {"20.d/10.conf": KIND + "maxPods: 1\n", "20.conf": KIND + "maxPods: 2\n", "30.conf/a.conf": KIND + "podsPerCore: 5\n", "05/zz.conf": KIND + "maxPods: 3\n"}),
    "links": Case(KIND, {"10.conf": ("link", f"{HOME}/other"), "20": ("link", f"{HOME}/tree")}),
    "link-to-nothing": Case(KIND, {"10.conf": ("link", f"{HOME}/nothing")}, words=False),
    "gates-merge": _drops("featureGates: {ContextualLogging: false}\n", "featureGates: {NodeLogQuery: true}\n", flags=("--feature-gates=ContextualLogging=true",)),
    "unknown-gate-in-a-drop-in": _drops("", "featureGates: {NoSuchGate: true}\n"),
    "no-such-folder": Case(KIND + INLINE, {}, (f"--config-dir={HOME}/missing",), words=False),
    "no-such-file": Case(None, {}, (f"--config={HOME}/missing",)),
    # flags
    "flags-alone": Case(None, {}, (*FLAGS, "--max-pods=9", "--topology-manager-policy", "restricted")),
    "flags-over-files": _drops(
        "maxPods: 1\ntopologyManagerPolicy: restricted\n" + _EVICTION, "maxPods: 2\nkubeReserved: {memory: 1Gi}\n",
        flags=("--max_pods=3", "--eviction-hard=nodefs.available<1Gi", "--kube-reserved=cpu=100m", "--kube-reserved=pid=10", "--cpu-manager-reconcile-period=5s"),
    ),
    "maps-of-flags": _file(_STATIC, "--cpu-manager-policy-options=full-pcpus-only=true", "--cpu-manager-policy-options", "distribute-cpus-across-numa=true", "--system-reserved="),
    "reserved-memory-of-flags": _file("", "--reserved-memory", "0:memory=1024Mi;1:memory=1Gi,hugepages-2Mi=2Mi", "--reserved-memory=2:memory=3"),
    "empty-flags": _file("maxPods: 5\ntopologyManagerPolicyOptions: {a: b}\n", "--topology-manager-policy=", "--topology-manager-policy-options="),
    "unknown-flag": _file("", "--no-such-flag"),
    "removed-flag": _file("", "--pod-infra-container-image=x"),
    "flag-without-value": _file("", "--max-pods"),
    "flag-with-a-bad-value": _file("", "--max-pods=ten"),
    "number-in-another-base": _file("", "--max-pods=0x1F"),
    "truth-as-a-second-word": _file("", "--cpu-cfs-quota", "false"),
    "truth-alone": _file("cpuCFSQuota: false\n", "--cpu-cfs-quota", "-v=1"),
    "truth-that-is-none": _file("", "--cpu-cfs-quota=yes"),
    "bad-pair": _file("", "--kube-reserved=cpu"),
    "bad-duration-of-a-flag": _file("", "--cpu-manager-reconcile-period=5"),
    "another-word": _file("", "--max-pods=4", "run"),
    "two-dashes": _file("", "--", "--max-pods=4"),
    "twice-a-flag": _file("", "--max-pods=4", "--max-pods=5", "--config-dir="),
    "labels": _file("", "--node-labels=a=b,node.kubernetes.io/x=y,kubernetes.io/hostname=z"),
    "labels-that-are-not-ours": _file("", "--node-labels=kubernetes.io/role=gpu,node-role.kubernetes.io/gpu="),
    "unknown-gate-of-a-flag": _file("", "--feature-gates=NoSuchGate=true"),
    "bad-gate-of-a-flag": _file("", "--feature-gates=NodeLogQuery"),
}  # fmt: skip

#: Beside the drop-ins: what links lead to.
OTHERS = {f"{HOME}/other": KIND + "maxPods: 77\n", f"{HOME}/tree/10.conf": KIND + "maxPods: 78\n"}


def told(case):
    """Flags, and files by path, as the kubelet gets them."""
    files, flags = dict(OTHERS), list(case.flags)
    if case.config is not None:
        files[f"{HOME}/config.yaml"] = case.config
        flags = [f"--config={HOME}/config.yaml", *flags]
    if case.drops:
        files |= {f"{HOME}/conf.d/{name}": value for name, value in case.drops.items()} | {f"{HOME}/conf.d/99-last.conf": LAST}
        flags = [f"--config-dir={HOME}/conf.d", *flags]
    return tuple(flags), files


#: What a random configuration is made of: fields with values, right and wrong ones, as YAML has them.
_POOL = {
    "maxPods": ["1", "0", "null", "0x10", "1e2", "-1", '"5"', "[]", "2147483647", "~"],
    "podsPerCore": ["0", "3", "true", "1.0"],
    "topologyManagerPolicy": ["none", "best-effort", "restricted", "single-numa-node", '""', "null", "off"],
    "topologyManagerScope": ["pod", "container", '""', "y"],
    "topologyManagerPolicyOptions": ["{}", "null", '{prefer-closest-numa-nodes: "true"}', '{max-allowable-numa-nodes: "8"}', '{max-allowable-numa-nodes: "x"}', "{a: b}"],
    "cpuManagerPolicy": ["none", "static", '""', "null"],
    "cpuManagerPolicyOptions": ["{}", "null", '{full-pcpus-only: "1"}', '{strict-cpu-reservation: "true"}', '{distribute-cpus-across-cores: "true"}'],
    "cpuManagerReconcilePeriod": ["10s", "1m", "0s", "1h0m0.5s", "5", '"-1s"'],
    "reservedSystemCPUs": ['""', '"0"', "0-1", "1,0", "7-9", "null", "0"],
    "memoryManagerPolicy": ["None", "Static", '""', "none"],
    "reservedMemory": [
        "[]", "null", "[{numaNode: 0, limits: {memory: 100Mi}}]", "[{limits: {memory: 104857600}}]", "[{numaNode: 1, limits: {memory: 1Gi}}, {numaNode: 0, limits: null}]",
        "[{numaNode: 0, limits: {hugepages-1Gi: 1Gi}}]", "[null]", "[{numaNode: 5, limits: {memory: 100Mi}}]",
    ],
    "kubeReserved": ["{}", "null", "{cpu: 100m}", '{cpu: "2", memory: 1Gi}', "{memory: 10%}", "{cpu: null}", '{pid: "1000", ephemeral-storage: 1Gi}'],
    "systemReserved": ["{}", "null", "{cpu: 0.5}", "{cpu: 1500m, memory: 512Mi}", '{cpu: "0"}'],
    "evictionHard": ["{}", "null", "{memory.available: 100Mi}", "{memory.available: 5%}", "{nodefs.available: 1Gi, imagefs.inodesFree: 5%}", "{memory.available: 0}", "{memory.available: 1e3}"],
    "evictionSoft": ["{}", "{memory.available: 200Mi}", "null"],
    "evictionSoftGracePeriod": ["{}", "{memory.available: 30s}", "{memory.available: 30}", "null"],
    "evictionMinimumReclaim": ["{nodefs.available: 500Mi}", "{nodefs.available: 0%}", "null"],
    "evictionMaxPodGracePeriod": ["0", "60", "-1"],
    "evictionPressureTransitionPeriod": ["5m", "0", "30s", '""'],
    "mergeDefaultEvictionSettings": ["true", "false", "null", "on"],
    "featureGates": ["{}", "null", "{ContextualLogging: false}", "{CPUManagerPolicyAlphaOptions: true}", "{AllAlpha: false}", "{CPUManagerPolicyOptions: true}", "{CustomCPUCFSQuotaPeriod: yes}", "{Nothing: true}"],
    "cgroupRoot": ['""', "/pods"],
    "kubeletCgroups": ["/k", "null"],
    "systemCgroups": ["/s", '""'],
    "kubeReservedCgroup": ["/kr", '""'],
    "cpuCFSQuota": ["true", "false", "null", "no"],
    "cpuCFSQuotaPeriod": ["100ms", "10ms", "null", "0s"],
    "failCgroupV1": ["false", "null"],
    "MAXPODS": ["7", "null"],
    "evictionhard": ["{memory.available: 1Mi}"],
    "somethingElse": ["{a: [1, {b: null}]}"],
}  # fmt: skip
_FLAG_POOL = (
    "--max-pods=12", "--topology-manager-policy=best-effort", "--topology-manager-scope=pod", "--cpu-manager-policy=static", "--kube-reserved=cpu=200m,memory=100Mi",
    "--system-reserved=cpu=1", "--eviction-hard=memory.available<1Gi", "--eviction-soft=", "--feature-gates=ContextualLogging=false,AllBeta=true", "--reserved-cpus=0",
    "--memory-manager-policy=None", "--cpu-cfs-quota=0", "--cpu-manager-reconcile-period=1.5m", "--eviction-max-pod-grace-period=5", "--kubelet-cgroups=/f",
    "--cpu-manager-policy-options=full-pcpus-only=true", "--topology-manager-policy-options=prefer-closest-numa-nodes=false", "--pods-per-core=-0", "--eviction-minimum-reclaim=imagefs.available=1Gi",
)  # fmt: skip


def random_cases(count, seed):
    """So many configurations, the same for one seed: a file, up to two drop-ins, some flags."""
    random = Random(seed)
    return {f"random-{number}": _random_case(random) for number in range(count)}


def _random_case(random):
    bodies = [_random_body(random) for _ in range(random.choice((1, 1, 2, 3)))]
    flags = tuple(random.sample(_FLAG_POOL, random.choice((0, 0, 1, 3))))
    if len(bodies) == 1:  # a field of the lines that follow wins, in YAML as here
        return Case(KIND + bodies[0] + INLINE, {}, flags, words=False)
    return Case(KIND + bodies[0], {f"{10 + n}.conf": KIND + body for n, body in enumerate(bodies[1:])}, flags, words=False)


def _random_body(random):
    fields = random.sample(sorted(_POOL), random.choice((1, 2, 4, 6)))
    return "".join(f"{field}: {random.choice(_POOL[field])}\n" for field in fields)
