"""Kernel and modules: a module for this boot and for the next one, nouveau, Secure Boot and signatures, headers, initramfs."""

from hostagent.check import Family

FAMILY = Family(title="Kernel and modules", order=30, condition="DriverReady", part="driver")
