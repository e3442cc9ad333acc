"""The distribution: whether NVIDIA publishes packages for it, who owns its image, whether SELinux lets containers use devices."""

from hostagent.check import Family

FAMILY = Family(title="The distribution", order=10)
