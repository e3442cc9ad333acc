"""The driver: loaded version against profile, disk, libraries and NVML; packages, DKMS, holds, pins, repositories; origin
(packages, .run file, driver container); device nodes, firmware, security floor.
"""

from hostagent.check import Family

FAMILY = Family(title="The driver and its packages", order=40, condition="DriverReady", part="driver")
