"""Device nodes that come with the first program that wants them."""

from hostagent.check import Unread
from hostagent.facts.driver import Driver


def come_on_demand(driver: Driver) -> bool:
    """Whether a setuid nvidia-modprobe makes missing nodes; where the module's parameter forbids it, it makes none (nvidia-modprobe(1))."""
    parameters = {} if isinstance(driver.parameters, Unread) else dict(driver.parameters)
    return driver.nodes_on_demand is True and parameters.get("ModifyDeviceFiles") != "0"
