"""NCCL, pure: what a log of it says, which settings count, and which interface it takes. What is not asked for is not imported."""
