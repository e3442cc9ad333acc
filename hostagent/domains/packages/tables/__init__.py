"""Names of packages, commands of package managers, NVIDIA's repositories."""
