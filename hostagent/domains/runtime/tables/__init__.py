"""What each version of a container runtime, of CDI and of the toolkit does."""
