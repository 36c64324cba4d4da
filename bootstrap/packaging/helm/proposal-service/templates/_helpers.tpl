{{- define "proposal-service.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "proposal-service.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "proposal-service.name" . -}}
{{- (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "proposal-service.selectorLabels" -}}
app.kubernetes.io/name: {{ include "proposal-service.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "proposal-service.labels" -}}
{{ include "proposal-service.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "proposal-service.serviceAccountName" -}}
{{- default (.Values.serviceAccount.create | ternary (include "proposal-service.fullname" .) "default") .Values.serviceAccount.name -}}
{{- end -}}

{{- define "proposal-service.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "proposal-service.isPostgresql" -}}
{{- if eq .Values.database.engine "postgresql" }}true{{ end -}}
{{- end -}}

{{- /* What Pod Security's profile "restricted" asks of pods and containers. */ -}}
{{- define "proposal-service.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "proposal-service.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "proposal-service.databaseVolume" -}}
- name: database-url
  secret:
    secretName: {{ .Values.database.existingSecret | quote }}
    defaultMode: 0440
    items:
      - key: {{ .Values.database.secretKey | quote }}
        path: database-url
{{- end -}}

{{- define "proposal-service.databaseEnv" -}}
{{- if include "proposal-service.isPostgresql" . -}}
- name: PROPOSAL_SERVICE_DATABASE_URL_FILE
  value: /run/secrets/database/database-url
{{- else -}}
- name: PROPOSAL_SERVICE_DATABASE_URL
  value: sqlite:///data/proposals.db?mode=rwc
{{- end }}
- name: PROPOSAL_SERVICE_DATABASE_CONNECTIONS
  value: {{ .Values.database.connections | quote }}
- name: PROPOSAL_SERVICE_LOG_FORMAT
  value: {{ .Values.logFormat }}
{{- end -}}
