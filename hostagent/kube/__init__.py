"""The client of a Kubernetes API server: who we are there, one kind of write, and how often."""
