"""A podresources server of grpcio, on messages made from the kubelet's own proto: ``python podresources_server.py PROTO SOCKET_DIRECTORY [MORE]``.

Prints its process id once it listens. Two GPUs and a NIC are there; one GPU is a container's, one has no topology. MORE: so many GPUs more that can be given away.
"""

import importlib
import os
import sys
import tempfile
import threading
from concurrent import futures

import grpc
from grpc_tools import protoc


def made(proto):
    """The message classes, in a directory that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["protoc", f"--proto_path={os.path.dirname(proto)}", f"--python_out={folder}", os.path.basename(proto)]
        if protoc.main(arguments):
            sys.exit("protoc refuses the proto")
        sys.path.insert(0, folder)
        return importlib.import_module("api_pb2")


def main(proto, folder, more="0"):
    api = made(proto)
    on = lambda *nodes: api.TopologyInfo(nodes=[api.NUMANode(ID=node) for node in nodes])  # noqa: E731
    gpu = lambda *ids, nodes: api.ContainerDevices(resource_name="nvidia.com/gpu", device_ids=ids, topology=on(*nodes))  # noqa: E731
    free = api.ContainerDevices(resource_name="rdma/hca", device_ids=["mlx5_0"])
    others = [gpu(f"GPU-more-{at}", nodes=[0]) for at in range(int(more))]
    allocatable = api.AllocatableResourcesResponse(
        devices=[gpu("GPU-a", nodes=[0]), gpu("GPU-b", nodes=[1, 2]), free, *others], cpu_ids=[0, 1, 300]
    )
    container = api.ContainerResources(name="secret-name", devices=[gpu("GPU-b", nodes=[1, 2]), gpu("GPU-sick", nodes=[1])], cpu_ids=[5])
    pods = api.ListPodResourcesResponse(pod_resources=[api.PodResources(name="p", namespace="n", containers=[container])])
    answers = {"GetAllocatableResources": allocatable, "List": pods}
    methods = {
        name: grpc.unary_unary_rpc_method_handler(lambda _request, _context, one=one: one.SerializeToString())
        for name, one in answers.items()
    }
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.PodResourcesLister", methods),))
    os.chdir(folder)
    server.add_insecure_port("unix:kubelet.sock")
    server.start()
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
