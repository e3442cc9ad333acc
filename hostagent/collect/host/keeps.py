"""What is read of the lists of processes and sockets: the kinds and names of `hostagent.snapshot.keeping`."""

from hostagent.collect.kubelet.keeps import FLAGS as KUBELET_FLAGS
from hostagent.knowledge.daemons import processes
from hostagent.source.keep import Keep

#: Of a command line where a configuration is, and where the kubelet asks for containers: flags that are followed by a path.
_PATHS = ("--config", "--config-file", "-c", "--config-dir", "--container-runtime-endpoint")
#: And what dockerd and the kubelet are told in addition to their files: flags that are followed by words of their documents.
_WORDS = ("--add-runtime", "--cgroup-driver", "--default-runtime", "--exec-opt", "--host", "-H")
FLAGS = (*_PATHS, *_WORDS)
_KUBELETS = tuple(f"{name}*" for name in processes("kubelet"))
PROCESSES = Keep("arguments", (*_PATHS, *(f"{flag}#" for flag in (*_WORDS, *KUBELET_FLAGS) if flag not in _PATHS), "--docker!", *_KUBELETS))
#: Whoever looks for a socket names it.
SOCKETS = Keep("paths")
