#!/bin/bash
# Leaves the kinds that 'hostagent gate --emit' writes, of each version that go/trainer-*, go/kueue-* and go/volcano pin, as
# CACHE/job-kinds/NAME/*.yaml: CustomResourceDefinitions of the Go modules. Run again it does nothing.
set -euo pipefail
cd "$(dirname "$0")/go"
export PATH="${PWD%/go}/bin:$PATH" # go
target=${XDG_CACHE_HOME:-$HOME/.cache}/hostagent-tests/job-kinds
mkdir -p "$target"
exec 9>"$target.lock"
flock 9

# kinds NAME MODULE FILE...: again when what go/NAME pins, or the list of files, has changed.
kinds() {
  local name=$1 module=$2 key folder
  shift 2
  key=$(cat "$name/go.mod" "$name/go.sum" <(echo "$@") | sha256sum | cut -c1-16)
  [ "$(cat "$target/$name/key" 2>/dev/null)" = "$key" ] && return
  folder=$(cd "$name" && go mod download "$module" && go list -m -f '{{.Dir}}' "$module")
  rm -rf "${target:?}/$name"
  mkdir "$target/$name"
  for file in "$@"; do
    cp "$folder/$file" "$target/$name/"
  done
  chmod u+w "$target/$name/"*.yaml
  echo "$key" >"$target/$name/key"
}

for version in 2.0 2.1 2.2 2.3; do
  kinds "trainer-$version" github.com/kubeflow/trainer/v2 manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml
done
for version in 0.15 0.17 0.19; do
  kinds "kueue-$version" sigs.k8s.io/kueue config/components/crd/bases/kueue.x-k8s.io_{resourceflavors,topologies}.yaml
done
kinds volcano volcano.sh/volcano config/crd/volcano/bases/batch.volcano.sh_jobs.yaml
