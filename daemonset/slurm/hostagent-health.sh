#!/bin/sh
# HealthCheckProgram: drains this node with a reason while it is not ready for GPU jobs, and resumes what hostagent has drained.
# slurmd gives no arguments, no PATH and no SLURM_CONF: options such as --profile or --slurm-conf belong here.
# It always ends with 0: a slurmd that starts may register its node only after that. What went wrong is in the system log.
# /usr/bin/hostagent is that of the package; of the single file and a virtual environment write /usr/local/bin/hostagent.
line=$(/usr/bin/hostagent slurm health 2>&1) || logger -t hostagent -p daemon.warning -- "$line"
exit 0
