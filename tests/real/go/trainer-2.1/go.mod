module hostagent.dev/tests/trainer-2.1

go 1.25.0

require github.com/kubeflow/trainer/v2 v2.1.0
