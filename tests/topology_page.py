"""``docs/topology.md`` and its picture: made from recorded hosts by ``python -m tests.docs``; a test holds both against drift."""

import textwrap

from hostagent.domains.topology.distance import CLASSES
from tests.golden import recorded_map
from tests.readme import output

PAGE, PICTURE = "docs/topology.md", "docs/topology.svg"
#: The host of the picture, and one whose kubelet rejects the pod.
HOST, REJECTING = "hgx-h100-ubuntu2404", "kubeadm-single-numa-node"
POD = "gpus=4,cpus=40,memory=1100Gi"

_PAGE = """\
# The map of a host, and the pods that it admits

Made by `make docs` from recorded hosts; edit `tests/topology_page.py`, not this page.

`hostagent topology` shows sockets, NUMA nodes, switches, GPUs and NICs as the kernel shows them, and says whether this host's kubelet admits a
pod. A pod that its kubelet rejects does not wait: it fails, and the scheduler, which knows nothing of NUMA nodes, may send the next one to
the same place.

![The sockets, NUMA nodes, switches, GPUs and NICs of a host with eight GPUs]({picture})

The picture is `hostagent topology --format svg -o host.svg`; `--format html` has it on a page, with the distances as tables. A box has a
thick line where a check found something, in the colour of its severity; nothing else has a colour.

## A pod that is rejected

<!-- output: {command} -->
```
{shown}
```

The command ends with exit code 1. Half of this host's GPUs are taken, and its kubelet keeps memory for each pod on NUMA nodes. The change
is the smallest that the model knows: the fewest fields among topology policy, scope and options, CPU policy options, memory policy and
the pod's own CPUs. It was tried in the model before it is shown. Where the kubelet's configuration is a provider's, the steps name the
provider's way.

`--pod` takes `gpus`, `cpus`, `memory`, `nics`, `hugepages-2Mi`, `hugepages-1Gi` and full resource names, with commas: one container whose
limits equal its requests. `gpus=0` asks for all GPUs of the host. Only a pod with both CPUs and memory is Guaranteed, as the API server
computes it, and only such a pod gets CPUs and memory of its own: without `memory` the CPUs are shared ones, which are on every NUMA node.
`--pod FILE` takes a Pod or any object with a pod template (Job, JobSet, TrainJob), as YAML or JSON; `-` is standard input. Several pods
are placed one after the other, so that the second finds what the first left. Without `--pod` the answer is for the `pods` of the profile,
each by itself and on the host as it would be without its pods.

## How to read it

| class | what lies between a GPU and the other device |
|---|---|
{classes}

A *rail* is a GPU with the NICs that are nearest to it; [fabric.md](fabric.md) says which of their ports carry jobs, and with which MTU. `?` is what could not be read or told, with the reason below: a virtual machine
shows no switches, so no distance is known there, and none is taken for `SYS`. A NUMA node of `-1` means that the firmware names none.

| word | meaning |
|---|---|
| ADMITTED | the kubelet starts the pod, on these NUMA nodes |
| aligned | all that it gets comes from one smallest set of NUMA nodes, and the policy guarantees it |
| not aligned by any guarantee | it may be so by chance |
| REJECTED | the kubelet refuses it, with its own word for that: `TopologyAffinityError`, `UnexpectedAdmissionError`, `SMTAlignmentError`, `OutOfcpu`, `OutOfmemory` |
| KubeletNotStarting | a kubelet with this configuration would not start, so it admits nothing |
| KubeletPanic | the kubelet ends while it looks at the pod, and starts again |
| NOT KNOWN | an answer that the model needs could not be read |

"Preferred" is a word of the kubelet's: a set of NUMA nodes that is as small as the smallest that could hold the request if nothing were taken. The
policy `restricted` admits only preferred sets. So four GPUs are rejected where two are free on each of two nodes, and a pod of eight GPUs
and few CPUs of its own is rejected because its CPUs fit one node and its GPUs do not.

## How devices are found

Sockets, NUMA nodes, bridges, GPUs and NICs come from sysfs alone; NVLinks from NVML where it answers. Which devices the kubelet has, and which are
taken, is asked in this order:

1. podresources, the kubelet's own interface: it alone knows each device's NUMA nodes;
2. the device plug-ins' checkpoint, a file of the kubelet;
3. neither: every NVIDIA GPU on PCI is taken as registered and free, but those on vfio-pci and display cards.

What is printed as NOT KNOWN names the answer that is missing; a snapshot from before this command was there lacks several.

CPUs and memory that pods have for themselves come from the kubelet's two state files. Which of several free devices a pod gets is the kubelet's
choice; the model takes the lowest first.

The configuration is what the kubelet makes of its file, its drop-ins and its flags; `hostagent check --json` shows it with the origin of
each value in `facts.kubelet`. It is not asked over the network unless the profile says so (`kubelet.configz`).

## What is simulated, and which versions

The hosts on this page are made trees (`simulated: true`). The model itself is judged by a real kubelet: its answers are compared with those of
kubelet 1.35's own packages over generated cases, and a sample with the kubelet program. What differs in earlier versions follows their
documents and was not compared.
"""


def page() -> str:
    rows = "\n".join(f"| `{word}` | {text} |" for word, text in CLASSES.items())
    command = f"hostagent topology --from tests/hosts/{REJECTING} --pod {POD}"
    shown = "\n".join(line.rstrip() for line in output(command).splitlines())
    return _PAGE.format(picture=PICTURE.removeprefix("docs/"), command=command, shown=textwrap.dedent(shown), classes=rows)


def picture() -> str:
    return recorded_map(HOST, "svg")
