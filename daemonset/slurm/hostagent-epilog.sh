#!/bin/sh
# Epilog: drains a node that had a critical fault during the job. As in hostagent-prolog.sh, only a finding is a failure.
/usr/bin/hostagent slurm epilog --refusal-code 100
[ $? -ne 100 ]
