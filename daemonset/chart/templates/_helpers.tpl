{{- define "hostagent.image" -}}
{{- $tag := .Values.image.tag | default (ternary .Chart.AppVersion "" (empty .Values.image.digest)) -}}
{{- .Values.image.repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "hostagent.pull" -}}
image: {{ include "hostagent.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "hostagent.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "hostagent.labels" -}}
app.kubernetes.io/name: hostagent
{{- end }}

{{- define "hostagent.controllerLabels" -}}
app.kubernetes.io/name: hostagent-controller
{{- end }}

{{- define "hostagent.gateLabels" -}}
app.kubernetes.io/name: hostagent-gate
{{- end }}

{{- define "hostagent.controllerSubject" -}}
- kind: ServiceAccount
  name: {{ .Values.controller.serviceAccountName }}
  namespace: {{ .Values.namespace }}
{{- end }}

{{/* Whether the release makes the namespace. One that it is in itself Helm has found or made ("--create-namespace"), and fails on another;
where no cluster answers ("helm template") nothing is known of it. One that it has adopted it would delete once it is not rendered. */}}
{{- define "hostagent.makesNamespace" -}}
{{- $there := lookup "v1" "Namespace" "" .Values.namespace -}}
{{- $adopted := eq .Release.Name (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $there) -}}
{{- $answers := lookup "v1" "Namespace" "" "default" -}}
{{- if and .Values.createNamespace (or (ne .Release.Namespace .Values.namespace) (not $answers) $adopted) }}true{{ end }}
{{- end }}

{{/* A policy as the kustomizations have it, for the account, the namespace and the prefix of the values. */}}
{{- define "hostagent.policy" -}}
{{- $account := printf "system:serviceaccount:%s:%s" .context.Values.namespace .context.Values.serviceAccountName -}}
{{- .context.Files.Get .file | replace "system:serviceaccount:hostagent:hostagent" $account | replace "'hostagent.dev/'" (printf "'%s/'" .context.Values.prefix) }}
{{- end }}

{{- define "hostagent.profiles.profile" -}}
{{- if .Values.profile }}{{ .Values.profile }}{{ else -}}
schema_version: "1.5"
name: cluster
extends: default
{{- if .Values.unprivileged }}
nvml: optional
verbs: optional
pci_configuration: optional
{{- end }}
{{ end }}
{{- end }}

{{- define "hostagent.token" -}}
- name: token
  projected:
    sources:
      # Without an audience it is the API server's own. The kubelet renews it.
      - serviceAccountToken: {path: token, expirationSeconds: 3600}
      - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
      - downwardAPI: {items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]}
{{- end }}

{{- define "hostagent.egress" -}}
policyTypes: ["Ingress", "Egress"]
egress:
  - ports:
      {{- range .Values.networkPolicy.apiServerPorts }}
      - {protocol: TCP, port: {{ . }}}
      {{- end }}
{{- end }}

{{- define "hostagent.nodeAffinity" -}}
requiredDuringSchedulingIgnoredDuringExecution:
  nodeSelectorTerms:
    # GPU feature discovery, of the GPU Operator or the device plugin
    - matchExpressions: [{key: nvidia.com/gpu.present, operator: In, values: ["true"]}]
    # Node feature discovery: a PCI device of NVIDIA, by vendor (the GPU Operator's setting) and by class (3D, VGA) and vendor
    - matchExpressions: [{key: feature.node.kubernetes.io/pci-10de.present, operator: In, values: ["true"]}]
    - matchExpressions: [{key: feature.node.kubernetes.io/pci-0302_10de.present, operator: In, values: ["true"]}]
    - matchExpressions: [{key: feature.node.kubernetes.io/pci-0300_10de.present, operator: In, values: ["true"]}]
    # GKE
    - matchExpressions: [{key: cloud.google.com/gke-accelerator, operator: Exists}]
    # EKS with Karpenter, and its Auto Mode
    - matchExpressions: [{key: karpenter.k8s.aws/instance-gpu-manufacturer, operator: In, values: ["nvidia"]}]
    - matchExpressions: [{key: eks.amazonaws.com/instance-gpu-manufacturer, operator: In, values: ["nvidia"]}]
    # AKS, now and before
    - matchExpressions: [{key: kubernetes.azure.com/accelerator, operator: In, values: ["nvidia"]}]
    - matchExpressions: [{key: accelerator, operator: In, values: ["nvidia"]}]
    # A node that had an agent keeps it: without one it would be closed for silence.
    - matchExpressions: [{key: {{ .Values.prefix }}/ready, operator: Exists}]
{{- end }}
