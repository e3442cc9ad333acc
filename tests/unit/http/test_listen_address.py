"""What `--listen` takes: a pod has `$(POD_IP):9476`, of whichever family the cluster is."""

import contextlib
import socket

import pytest

from hostagent.core.errors import HostagentError
from hostagent.http.listening import opened, parse_address


@pytest.mark.parametrize(
    ("address", "host"),
    [("10.244.1.7", "10.244.1.7"), ("fd00:10:244::7", "fd00:10:244::7"), ("[fd00:10:244::7]", "fd00:10:244::7"), ("[::]", "::")],
)
def test_an_address_of_a_pod_is_taken_with_and_without_brackets(address, host):
    place, port = parse_address(f"{address}:9476")
    assert (str(place), port) == (host, 9476)


@pytest.mark.parametrize("address", [":9476", "10.244.1.7", "fd00:10:244:0:0:0:0:7", "fd00::7:", "localhost:9476", "fd00::7:65536"])
def test_a_missing_address_or_port_is_refused(address):
    with pytest.raises(HostagentError, match="wanted ADDRESS:PORT"):
        parse_address(address)


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_the_socket_is_of_the_family_of_the_address(host, family):
    with contextlib.closing(_free(family, host)) as held:
        port = held.getsockname()[1]
    with contextlib.closing(opened(f"{host}:{port}")) as line:
        assert (line.family, line.getsockname()[:2]) == (family, (host, port))


def _free(family, host):
    line = socket.socket(family)
    try:
        line.bind((host, 0))
    except OSError as error:
        line.close()
        pytest.skip(f"this machine has no {host}: {error}")
    return line
