module hostagent.dev/tests/prometheus-operator

go 1.25.0

require github.com/prometheus-operator/prometheus-operator v0.88.0
