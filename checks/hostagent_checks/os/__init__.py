"""The distribution: is it one NVIDIA publishes packages for, who owns it as an image, SELinux's word on devices."""

from hostagent.check import Family

FAMILY = Family(title="The distribution", order=10)
