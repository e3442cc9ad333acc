"""NVSwitches and what an NVLink fabric needs."""
