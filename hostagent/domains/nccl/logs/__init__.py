"""NCCL's logs of jobs: records, their meaning, findings."""
