"""The controller: one small process for a cluster. It keeps work away from nodes that are not ready, or whose agent is silent."""
