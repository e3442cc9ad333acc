"""NCCL: libraries, plug-ins, settings."""
