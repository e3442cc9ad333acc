"""Client of a Kubernetes API server: identity, requests, one kind of write, and its pace."""
