"""The Helm chart: linted and rendered by Helm's own code, with every value both ways, and validated by the schemas of Kubernetes."""

import copy
import itertools
import json
import random
import subprocess
from collections import Counter

import kubernetes_validate
import yaml
from helm_python import Chart
from helm_python import chart as helm
from helm_python.errors import HelmError

from tools import BINARY, PACKAGING, ROOT, WORK, Wrong, passed, require, run, version

CHART = WORK / "chart/proposal-service"
KUBERNETES = ["1.27", "1.34", "1.37"]
OPERATOR = "monitoring.coreos.com/"
RANDOM_COMBINATIONS = 150

# A chart that can be installed, on each engine.
BASES = [
    {"allowAnonymous": True},
    {"allowAnonymous": True, "database": {"engine": "sqlite"}},
]

# Refused combinations of values, each with the reason.
REFUSED = [
    ({}, "no sign-in is configured"),
    ({"allowAnonymous": True, "database": {"existingSecret": ""}}, "name the secret"),
    ({"allowAnonymous": True, "serviceMonitor": {"enabled": True}, "admin": {"enabled": False}}, "needs admin.enabled"),
    ({"allowAnonymous": True, "autoscaling": {"enabled": True, "minReplicas": 9}}, "above autoscaling.maxReplicas"),
    ({"allowAnonymous": True, "replicas": "three"}, "replicas"),
    ({"allowAnonymous": True, "replica": 3}, "replica"),
    ({"allowAnonymous": True, "admin": {"port": 8080}}, "port"),
    ({"allowAnonymous": True, "baseUrl": "proposals.example.org"}, "baseUrl"),
    ({"allowAnonymous": True, "database": {"url": "postgres://me:secret@db/a"}}, "url"),
]


def check():
    run(PACKAGING / "release/assemble", quiet=True)
    alerts_are_those_of_prometheus()
    for values in BASES:
        report = helm.lint(CHART, values, strict=True)
        bad = [message for message in report["messages"] if message["severity"] > 1]
        require(not bad and not report["errors"], f"helm lint: {bad} {report['errors']}")
    passed("helm lint --strict: no finding")
    with Chart.load(CHART) as chart:
        schema = chart.schema
        require(leaves(schema) == leaves_of_values(schema, chart.values), "values.yaml and values.schema.json differ: "
                f"{leaves(schema) ^ leaves_of_values(schema, chart.values)}")
        passed(f"values.yaml and values.schema.json name the same {len(leaves(schema))} values")
        refusals(chart)
        changed = both_ways(chart, schema)
        passed(f"each value changes what is rendered: {changed} alternatives on two engines")
        random_combinations(chart, schema)
        roles(chart)
    passed("the property test is complete")


def alerts_are_those_of_prometheus():
    alerts = yaml.safe_load((PACKAGING / "prometheus/alerts.yaml").read_text())
    require(yaml.safe_load((CHART / "files/alerts.yaml").read_text()) == alerts, "the chart's alerts are not those of Prometheus")
    run("promtool", "check", "rules", PACKAGING / "prometheus/alerts.yaml")


# ---- values -----------------------------------------------------------------------------------------------------------------------


def leaves(schema, path=()):
    """The paths of all values that the schema describes; objects with free keys are one value."""
    if "properties" not in schema:
        return {path}
    return set().union(*(leaves(inner, (*path, name)) for name, inner in schema["properties"].items() if name != "global"))


def leaves_of_values(schema, values, path=()):
    found = set()
    for name, value in values.items():
        inner = schema.get("properties", {}).get(name, {})
        found |= leaves_of_values(inner, value, (*path, name)) if "properties" in inner else {(*path, name)}
    return found


def described(schema, path):
    for name in path:
        schema = schema["properties"][name]
    return schema


def alternatives(schema, path, default):
    """Other values than the default: each of an enumeration, the other of two, the examples."""
    described_as = described(schema, path)
    if described_as.get("type") == "boolean":
        return [not default]
    others = [value for value in described_as.get("enum", described_as.get("examples", [])) if value != default]
    require(others, f"{'.'.join(path)} has no alternative in values.schema.json")
    return others


def with_value(values, path, value):
    result = copy.deepcopy(values)
    inner = result
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner[path[-1]] = value
    return result


# Values that have an effect only with others.
COMPANIONS = {
    ("autoscaling",): [(("autoscaling", "enabled"), True), (("autoscaling", "minReplicas"), 2)],
    ("serviceMonitor",): [(("serviceMonitor", "enabled"), True)],
    ("prometheusRule",): [(("prometheusRule", "enabled"), True)],
    ("allowAnonymous",): [(("policies", "existingConfigMap"), "policies")],
}


def get(values, path):
    for name in path:
        values = values[name]
    return values


def both_ways(chart, schema):
    """Renders every value both ways. One that changes nothing on any engine does nothing."""
    changed = 0
    for path in sorted(leaves(schema)):
        default = get(chart.values, path)
        for value in alternatives(schema, path, default):
            differs = False
            for base in BASES:
                for companion, needed in COMPANIONS.get(path, COMPANIONS.get(path[:1], [])):
                    if companion != path:
                        base = with_value(base, companion, needed)
                before = get(chart.merge_values(base), path)
                before = default if before == value else before
                one, other = with_value(base, path, before), with_value(base, path, value)
                differs |= rendered(chart, one) != rendered(chart, other)
            require(differs, f"{'.'.join(path)}={value!r} changes nothing")
            changed += 1
    return changed


def random_combinations(chart, schema):
    random.seed(20)
    counts = Counter()
    for _ in range(RANDOM_COMBINATIONS):
        values = {"policies": {"existingConfigMap": "policies"}}
        for path in sorted(leaves(schema)):
            choices = [get(chart.values, path), *alternatives(schema, path, get(chart.values, path))]
            values = with_value(values, path, random.choice(choices))
        try:
            counts.update(objects["kind"] for objects in rendered(chart, values))
        except HelmError as error:
            require(any(reason in str(error) for _, reason in REFUSED), str(error))
            counts["refused with a reason"] += 1
    passed(f"{RANDOM_COMBINATIONS} random combinations: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))


def refusals(chart):
    for values, reason in REFUSED:
        try:
            chart.validate_schema(values)
            chart.render(values)
        except HelmError as error:
            require(reason in str(error), f"{values} is refused for another reason: {error}")
        else:
            raise Wrong(f"{values} is not refused")
    passed(f"{len(REFUSED)} wrong values are refused with the reason")


# ---- objects ----------------------------------------------------------------------------------------------------------------------

SEEN = set()
OPERATOR_OBJECTS = {}


def rendered(chart, values):
    """The objects that values make, each valid; by its text, an object is validated once."""
    chart.validate_schema(values)
    objects = []
    for name, text in chart.render(values, name="agency", namespace="proposals").items():
        if name.endswith("NOTES.txt"):
            objects.append({"kind": "Notes", "text": text})
            continue
        for item in yaml.safe_load_all(text):
            if item:
                objects.append(item)
                validate(item)
    names = [(item["kind"], item["metadata"]["name"]) for item in objects if "metadata" in item]
    require(len(names) == len(set(names)), f"two objects have one name: {names}")
    return objects


def validate(item):
    text = json.dumps(item, sort_keys=True)
    if text in SEEN:
        return
    SEEN.add(text)
    if item["apiVersion"].startswith(OPERATOR):
        OPERATOR_OBJECTS[text] = item
        return
    for kubernetes in KUBERNETES:
        try:
            kubernetes_validate.validate(item, kubernetes, strict=True)
        except kubernetes_validate.ValidationError as error:
            raise Wrong(f"{item['kind']} by Kubernetes {kubernetes}: {error.message} at {list(error.absolute_path)}") from None
    template = item.get("spec", {}).get("template")
    if template:
        is_restricted(item["kind"], template["spec"])


def is_restricted(kind, pod):
    """Pod Security's profile "restricted", field by field (Kubernetes' own check is in its API server alone)."""
    allowed = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
    security = pod["securityContext"]
    require(security["runAsNonRoot"] is True and security["runAsUser"] > 0, f"{kind}: runs as root")
    require(security["seccompProfile"]["type"] == "RuntimeDefault", f"{kind}: no seccomp profile")
    require(not any(pod.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")), f"{kind}: shares the host's namespaces")
    for volume in pod["volumes"]:
        require(set(volume) - {"name"} <= allowed, f"{kind}: the volume {volume['name']} is not allowed")
    for container in pod["containers"]:
        security = container["securityContext"]
        require(security["allowPrivilegeEscalation"] is False, f"{kind}: privileges can grow")
        require(security["capabilities"] == {"drop": ["ALL"]}, f"{kind}: has capabilities")
        require(security["readOnlyRootFilesystem"] is True, f"{kind}: its root can be written")
        require(not any("hostPort" in port for port in container.get("ports", [])), f"{kind}: a port of the host")


def roles(chart):
    """What the combinations above cannot tell: that each engine has its own objects, and what they refer to is there."""
    everything = {
        "autoscaling": {"enabled": True}, "serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True},
        "identity": {"existingSecret": "identity"}, "rules": {"existingConfigMap": "rules"},
    }
    expected = {"Deployment", "HorizontalPodAutoscaler", "Job", "NetworkPolicy", "Notes", "PodDisruptionBudget", "PrometheusRule",
                "Service", "ServiceAccount", "ServiceMonitor"}
    objects = rendered(chart, everything)
    require({item["kind"] for item in objects} == expected, f"on PostgreSQL: {sorted(item['kind'] for item in objects)}")
    on_sqlite = rendered(chart, {**everything, "database": {"engine": "sqlite"}})
    expected = expected - {"Deployment", "HorizontalPodAutoscaler", "Job", "PodDisruptionBudget"} | {"StatefulSet"}
    require({item["kind"] for item in on_sqlite} == expected, f"on SQLite: {sorted(item['kind'] for item in on_sqlite)}")
    for item in itertools.chain(objects, on_sqlite):
        require(item["kind"] != "Secret", "the chart makes a secret")
        if item["kind"] in ("Deployment", "StatefulSet"):
            pod = item["spec"]["template"]
            labels = pod["metadata"]["labels"]
            require(item["spec"]["selector"]["matchLabels"].items() <= labels.items(), "the selector does not match its pods")
            volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
            volumes |= {claim["metadata"]["name"] for claim in item["spec"].get("volumeClaimTemplates", [])}
            mounted = {mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
            require(mounted == volumes, f"mounted {mounted}, and there are {volumes}")
            variables_are_options(pod["spec"]["containers"][0]["env"])
    deployment = next(item for item in objects if item["kind"] == "Deployment")
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    require(image == f"proposal-service:{version()}", f"the chart's image is {image}")
    monitored = json.dumps(list(OPERATOR_OBJECTS.values()))
    done = subprocess.run(["node", ROOT / "tests/packages/operator.mjs"], input=monitored, text=True, capture_output=True, check=False)
    require(done.returncode == 0, f"the operator's schemas: {done.stdout}{done.stderr}")
    counts = Counter(item["kind"] for item in OPERATOR_OBJECTS.values())
    passed(f"{len(SEEN) - len(OPERATOR_OBJECTS)} objects are valid (strict) by Kubernetes {', '.join(KUBERNETES)}; "
         f"by the operator's definitions {dict(counts)}")


def variables_are_options(variables):
    """A variable that no option reads would be without effect. The binary is asked."""
    options = run(BINARY, "serve", "--help", quiet=True)
    for variable in variables:
        require(f"{variable['name']}=" in options or f"{variable['name']}]" in options, f"no option reads {variable['name']}")
