{{- /* The pod of an instance: of the Deployment on PostgreSQL, of the StatefulSet on SQLite. */ -}}
{{- define "proposal-service.pod" -}}
metadata:
  labels:
    {{- include "proposal-service.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/component: service
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "proposal-service.serviceAccountName" . }}
  automountServiceAccountToken: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "proposal-service.podSecurity" . | nindent 4 }}
  {{- /* Ten seconds to close the store. */}}
  terminationGracePeriodSeconds: {{ add .Values.drain.delaySeconds .Values.drain.timeoutSeconds 10 }}
  containers:
    - name: proposal-service
      image: {{ include "proposal-service.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      securityContext:
        {{- include "proposal-service.containerSecurity" . | nindent 8 }}
      ports:
        - name: http
          containerPort: 8080
        {{- if .Values.admin.enabled }}
        - name: admin
          containerPort: {{ .Values.admin.port }}
        {{- end }}
      env:
        {{- include "proposal-service.env" . | nindent 8 }}
      {{- include "proposal-service.probes" . | nindent 6 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        {{- include "proposal-service.mounts" . | nindent 8 }}
  volumes:
    {{- include "proposal-service.volumes" . | nindent 4 }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.topologySpread }}
  topologySpreadConstraints:
    {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "proposal-service.selectorLabels" $ | nindent 10 }}
    {{- end }}
  {{- end }}
{{- end -}}

{{- define "proposal-service.env" -}}
- name: PROPOSAL_SERVICE_LISTEN
  value: 0.0.0.0:8080
- name: PROPOSAL_SERVICE_BASE_URL
  value: {{ default (printf "http://%s.%s:%v" (include "proposal-service.fullname" .) .Release.Namespace .Values.service.port) .Values.baseUrl | quote }}
{{- /* Callers in the cluster use the names of the Service, regardless of the base URL. */}}
{{- $name := include "proposal-service.fullname" . }}
{{- $full := printf "%s.%s" $name .Release.Namespace }}
- name: PROPOSAL_SERVICE_ALLOWED_HOST
  value: {{ printf "%s,%s,%s.svc,%s.svc.cluster.local" $name $full $full $full | quote }}
{{ include "proposal-service.databaseEnv" . }}
- name: PROPOSAL_SERVICE_MIGRATE
  value: {{ and .Values.migration.enabled (eq .Values.database.engine "postgresql") | ternary "never" "auto" }}
- name: PROPOSAL_SERVICE_TIME_ZONE
  value: {{ .Values.timeZone | quote }}
- name: PROPOSAL_SERVICE_DRAIN_DELAY
  value: {{ .Values.drain.delaySeconds }}s
- name: PROPOSAL_SERVICE_DRAIN_TIMEOUT
  value: {{ .Values.drain.timeoutSeconds }}s
{{- if .Values.admin.enabled }}
- name: PROPOSAL_SERVICE_ADMIN_LISTEN
  value: 0.0.0.0:{{ .Values.admin.port }}
{{- end }}
{{- if .Values.allowAnonymous }}
- name: PROPOSAL_SERVICE_ALLOW_ANONYMOUS
  value: "true"
{{- end }}
{{- range $name, $found := dict "IDENTITY" .Values.identity.existingSecret "POLICIES" .Values.policies.existingConfigMap "RULES" .Values.rules.existingConfigMap }}
{{- if $found }}
- name: PROPOSAL_SERVICE_{{ $name }}
  value: /etc/proposal-service/{{ lower $name }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "proposal-service.probes" -}}
{{- $port := .Values.admin.enabled | ternary "admin" "http" -}}
startupProbe:
  httpGet:
    path: {{ .Values.admin.enabled | ternary "/startupz" "/healthz" }}
    port: {{ $port }}
  {{- /* A start without the job migrates the schema first. */}}
  periodSeconds: 2
  failureThreshold: 300
readinessProbe:
  httpGet:
    path: /readyz
    port: {{ $port }}
  periodSeconds: 5
  timeoutSeconds: 6
  failureThreshold: 2
livenessProbe:
  httpGet:
    path: /healthz
    port: {{ $port }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- define "proposal-service.mounts" -}}
- name: temporary
  mountPath: /tmp
{{- if include "proposal-service.isPostgresql" . }}
- name: database-url
  mountPath: /run/secrets/database
  readOnly: true
{{- else }}
- name: data
  mountPath: /data
{{- end }}
{{- range $name, $found := dict "identity" .Values.identity.existingSecret "policies" .Values.policies.existingConfigMap "rules" .Values.rules.existingConfigMap }}
{{- if $found }}
- name: {{ $name }}
  mountPath: /etc/proposal-service/{{ $name }}
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{- define "proposal-service.volumes" -}}
- name: temporary
  emptyDir: {}
{{- if include "proposal-service.isPostgresql" . }}
{{ include "proposal-service.databaseVolume" . }}
{{- end }}
{{- with .Values.identity.existingSecret }}
- name: identity
  secret:
    secretName: {{ . | quote }}
    defaultMode: 0440
{{- end }}
{{- with .Values.policies.existingConfigMap }}
- name: policies
  configMap:
    name: {{ . | quote }}
{{- end }}
{{- with .Values.rules.existingConfigMap }}
- name: rules
  configMap:
    name: {{ . | quote }}
{{- end }}
{{- end -}}
