module hostagent.dev/tests/trainer-2.3

go 1.26.0

require github.com/kubeflow/trainer/v2 v2.3.0
