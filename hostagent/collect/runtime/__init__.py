"""Container runtimes and their configuration."""
