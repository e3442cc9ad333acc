"""CDI specifications: present, valid, for the loaded driver, without duplicates, refreshed at boot."""

from hostagent.check import Family

FAMILY = Family(title="CDI specifications", order=90, condition="ToolkitReady", part="toolkit")
