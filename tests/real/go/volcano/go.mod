module hostagent.dev/tests/volcano

go 1.25.0

require volcano.sh/volcano v1.10.0
