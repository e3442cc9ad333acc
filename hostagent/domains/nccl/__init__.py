"""NCCL: libraries, settings, which network a job gets, logs of jobs, the class of a host."""
