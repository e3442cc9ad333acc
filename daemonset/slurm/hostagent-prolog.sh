#!/bin/sh
# Prolog: refuses a job on a node that is not ready. A prolog that fails drains its node, and hostagent or its Python may be missing or
# broken on all nodes at once: so only a refusal, which has a code of its own, is a failure.
/usr/bin/hostagent slurm prolog --refusal-code 100
[ $? -ne 100 ]
