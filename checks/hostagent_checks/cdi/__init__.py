"""CDI specifications: present, valid, made for the loaded driver, without duplicates, renewed at boot."""

from hostagent.check import Family

FAMILY = Family(title="CDI specifications", order=90, condition="ToolkitReady", part="toolkit")
