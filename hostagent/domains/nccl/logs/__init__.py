"""Logs of jobs by NCCL: records, what they say, findings."""
