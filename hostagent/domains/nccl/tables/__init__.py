"""Tables of NCCL's versions: variables, networks, plug-ins, faults, texts of its logs."""
