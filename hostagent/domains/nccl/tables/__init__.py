"""What is known of NCCL's versions: variables, networks, plug-ins, faults, words of its logs."""
