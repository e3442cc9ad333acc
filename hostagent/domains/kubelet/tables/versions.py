"""Which minor versions of the kubelet the tables beside this one describe."""

#: Oldest and newest minor version of Kubernetes 1 that the tables were read from.
OLDEST = 29
NEWEST = 37
#: The version that was measured: its program answers the same in `tests/real/test_kubelet_configz.py`.
MEASURED = 35
#: From this one on, drop-ins are merged into the fields of the configuration as they are written; before, into Go's own names for them.
MERGES_BY_NAME = 32
#: Before this one, drop-ins need an environment variable.
DROPINS = 30
DROPINS_VARIABLE = "KUBELET_CONFIG_DROPIN_DIR_ALPHA"
