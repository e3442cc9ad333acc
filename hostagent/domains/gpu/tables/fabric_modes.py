"""FABRIC_MODE of the fabric manager's configuration. Source: NVIDIA Fabric Manager User Guide, section Fabric Manager Config Options."""

#: Modes other than 0 (bare metal, and a virtual machine that has the whole board), in which a partition has to be activated.
FABRIC_MODES = {1: "shared NVSwitch", 2: "vGPU"}
