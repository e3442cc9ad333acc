"""Network interfaces: the MTU that a job really gets, whether it agrees, addresses of the rails, ports that jobs want."""

from hostagent.check import Family

FAMILY = Family(title="The network", order=68, condition="FabricReady")
