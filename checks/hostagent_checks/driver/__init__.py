"""The driver: whether loaded version, profile, disk, libraries and NVML agree; packages, DKMS, holds, pins, repositories; origin
(packages, .run file, driver container); device nodes, firmware, security fixes.
"""

from hostagent.check import Family

FAMILY = Family(title="The driver and its packages", order=40, condition="DriverReady", part="driver")
