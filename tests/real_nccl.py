"""The real NCCL libraries that tests/real/install_libnccl.sh leaves, the judges of what we say of NCCL."""

LIBRARIES = ("2.18.3", "2.21.5", "2.23.4", "2.27.3", "2.28.9", "2.30.7", "2.32.3")
