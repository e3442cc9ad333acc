"""Releases of the driver, and its packages by distribution."""
