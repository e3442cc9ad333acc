#!/bin/sh
# A HealthCheckProgram for Slurm: while this host is not ready for GPU jobs, its verdict is written to the system log. Nothing is changed:
# no node is drained or resumed. It ends with 0 whatever it finds, because slurmd repeats a program that does not and registers the node
# only after it. Slurm ends it after 60 seconds; the deadline is well below.
# /usr/bin/hostagent is that of the package; of the single file and a virtual environment write /usr/local/bin/hostagent.
profile=slurm  # or a file: slurmd passes no variables
line=$(/usr/bin/hostagent check --profile "$profile" --deadline 20 -q 2>&1) || logger -t hostagent -p daemon.warning -- "$line"
exit 0
