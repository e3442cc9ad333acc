module hostagent.dev/tests/kueue-0.17

go 1.25.0

require sigs.k8s.io/kueue v0.17.0
