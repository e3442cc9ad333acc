"""Container runtimes, the NVIDIA Container Toolkit and CDI."""
