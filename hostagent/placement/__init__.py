"""The kubelet's placement model, pure: whether this node's kubelet admits a pod, on which NUMA nodes, why not, and what would change that.

It takes facts, or the same out of a report's JSON, so that others can ask it about another node.
"""
