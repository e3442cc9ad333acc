"""Fields, flags, feature gates and defaults of the kubelet, by version."""
