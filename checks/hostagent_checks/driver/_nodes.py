"""Device nodes that come with the first program that wants them."""

from hostagent.check import Unread, need
from hostagent.facts.driver import Driver


def come_on_demand(driver: Driver) -> bool:
    """Whether nvidia-modprobe, setuid, makes missing nodes: it makes none where the module's parameter forbids that (nvidia-modprobe(1))."""
    parameters = {} if isinstance(driver.parameters, Unread) else dict(driver.parameters)
    return need(driver.nodes_on_demand) and parameters.get("ModifyDeviceFiles") != "0"
