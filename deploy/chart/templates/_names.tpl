{{- define "tessera.name" -}}
{{- $name := ternary .Release.Name (printf "%s-tessera" .Release.Name) (contains "tessera" .Release.Name) -}}
{{- trunc 50 $name | trimSuffix "-" -}}
{{- end }}

{{- define "tessera.selector" -}}
app.kubernetes.io/name: tessera
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tessera.labels" -}}
{{ include "tessera.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "tessera.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Refuses values that would lose data, or a service that would not start. */}}
{{- define "tessera.check" -}}
{{- $database := or .Values.database.secret .Values.postgresql.enabled -}}
{{- $several := or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) -}}
{{- if and $several (not (and $database .Values.pictures.address)) -}}
{{- fail "several replicas share a database and pictures: set database.secret or postgresql.enabled, and pictures.address, or leave replicas at 1 and autoscaling off" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.replicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "replicas is the least number with autoscaling: set autoscaling.maxReplicas to at least as many" -}}
{{- end -}}
{{- if and .Values.database.secret .Values.postgresql.enabled -}}
{{- fail "there are two databases: set database.secret or postgresql.enabled, not both" -}}
{{- end -}}
{{- if and .Values.postgresql.enabled (not .Values.postgresql.secret) -}}
{{- fail "postgresql.enabled needs postgresql.secret: the name of a Secret with `password`" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "ingress.enabled needs ingress.host, such as photos.example" -}}
{{- end -}}
{{- end }}

{{/* The environment of the service, and of its migration. */}}
{{- define "tessera.environment" -}}
{{- $name := include "tessera.name" . -}}
{{- $space := .Release.Namespace -}}
{{- $hosts := list $name (printf "%s.%s" $name $space) (printf "%s.%s.svc" $name $space) (printf "%s.%s.svc.cluster.local" $name $space) -}}
{{- if .Values.ingress.enabled }}{{ $hosts = append $hosts .Values.ingress.host }}{{ end -}}
env:
  - name: TESSERA_ALLOWED_HOSTS
    value: {{ concat $hosts .Values.allowedHosts | toJson | quote }}
  {{- with .Values.pictures.address }}
  - name: TESSERA_PICTURES
    value: {{ . | quote }}
  {{- end }}
  {{- if .Values.postgresql.enabled }}
  - name: POSTGRES_PASSWORD
    valueFrom: { secretKeyRef: { name: {{ .Values.postgresql.secret }}, key: password } }
  - name: TESSERA_DATABASE
    value: postgresql://tessera:$(POSTGRES_PASSWORD)@{{ $name }}-postgresql/tessera
  {{- end }}
  {{- range $setting, $value := .Values.settings }}
  - name: TESSERA_{{ $setting }}
    value: {{ $value | quote }}
  {{- end }}
envFrom:
  - secretRef: { name: {{ .Values.keys.secret }} }
  {{- with .Values.database.secret }}
  - secretRef: { name: {{ . }} }
  {{- end }}
  {{- with .Values.pictures.secret }}
  - secretRef: { name: {{ . }} }
  {{- end }}
{{- end }}

{{- define "tessera.container" -}}
image: {{ include "tessera.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{ include "tessera.environment" . }}
volumeMounts:
  - { name: data, mountPath: /data }
  - { name: temporary, mountPath: /tmp }
{{- end }}

{{- define "tessera.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false # they would set TESSERA_PORT
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end }}
