module hostagent.dev/tests/kueue-0.15

go 1.25.0

require sigs.k8s.io/kueue v0.15.0
