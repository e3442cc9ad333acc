"""The controller: one process per cluster, which taints nodes that are not ready, or have a silent agent."""
