"""What is read of the lists of processes and sockets: the kinds and names of `hostagent.snapshot.keeping`."""

from hostagent.source.keep import Keep

#: Of a command line where a runtime's configuration is (`hostagent.collect.runtime.places`).
PROCESSES = Keep("arguments", ("--config", "--config-file", "-c"))
#: Whoever looks for a socket names it.
SOCKETS = Keep("paths")
