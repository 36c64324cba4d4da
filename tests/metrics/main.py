"""What monitoring sees: loaded services, a Prometheus that scrapes them, and a collector that takes traces.

One service is on SQLite, one on PostgreSQL with a server that follows it, one knows callers. All are under load while Prometheus scrapes them
each second. Then every query of the dashboard must give numbers, every rule must be evaluated, no alert may fire, an exemplar must come back,
and the collector must have understood the traces. The files are checked by promtool first. Usage: main.py BINARY COLLECTOR
"""

import contextlib
import http.client
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "bootstrap/packaging"
ALERTS = PACKAGING / "prometheus/alerts.yaml"
DASHBOARD = PACKAGING / "grafana/dashboard.json"
RULES = ROOT / "tests/metrics/rules.yaml"
TRACE = "0af7651916cd43dd8448eb211c80319c"
# The load before the queries: as long as their rates look back, and the service's own samples take.
LOADED = 20
RATE_INTERVAL = "15s"
# What the collector has read of the service on SQLite, in the words of its log.
SPANS = {"POST /v1/proposals", "GET /v1/proposals/{proposals_id}", "Create proposals", "Get proposals", "rules", "read page", "write queue",
         "write batch", "commit"}
ATTRIBUTES = {"service.name: Str(proposal-service)", "http.route: Str(/v1/proposals)", "http.response.status_code: Int(201)",
              "db.system.name: Str(sqlite)"}
PATIENCE = 30
# A point on the curve P-256; no token is signed with its key.
JWK = {"kty": "EC", "crv": "P-256", "kid": "1", "alg": "ES256", "use": "sig",
       "x": "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY", "y": "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def until(what, check, patience=PATIENCE):
    ends = time.monotonic() + patience
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if (found := check()) is not None:
                return found
        if time.monotonic() > ends:
            raise SystemExit(f"{what} took longer than {patience} s")
        time.sleep(0.1)


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE) as answer:
        return answer.read().decode()


class Programs(contextlib.ExitStack):
    """Programs that end with the test."""

    def start(self, log, *command):
        output = self.enter_context(open(log, "w"))
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=subprocess.STDOUT)
        self.callback(process.wait)
        self.callback(process.terminate)
        return process


# ---- what is watched ------------------------------------------------------------------------------------------------------------------


class Issuer(http.server.BaseHTTPRequestHandler):
    """An issuer whose keys can be fetched."""

    def do_GET(self):
        url = f"http://127.0.0.1:{self.server.server_port}"
        known = {
            "/.well-known/openid-configuration": {"issuer": url, "jwks_uri": f"{url}/keys", "token_endpoint": f"{url}/token"},
            "/keys": {"keys": [JWK]},
        }
        body = json.dumps(known.get(self.path, {})).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def start_postgres(programs, folder):
    """A server, and one that follows it; returns the URLs of both."""
    binaries = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    as_root = os.geteuid() == 0
    if as_root:
        shutil.chown(folder, "postgres")

    def postgres(name, *arguments):
        prefix = ["runuser", "--user", "postgres", "--"] if as_root else []
        return run(*prefix, binaries / name, *arguments, cwd="/")

    def start(data, port):
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        postgres("pg_ctl", "start", "--wait", "--silent", "--pgdata", data, "--log", f"{data}.log", "--options", options)
        programs.callback(postgres, "pg_ctl", "stop", "--mode", "immediate", "--silent", "--pgdata", data)
        return f"postgres://postgres@127.0.0.1:{port}/postgres"

    first, second = folder / "first", folder / "second"
    postgres("initdb", "--pgdata", first, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-locale")
    port = free_port()
    primary = start(first, port)
    postgres("pg_basebackup", "--pgdata", second, "--host", "127.0.0.1", "--port", str(port), "--username", "postgres",
             "--write-recovery-conf", "--checkpoint", "fast")
    return primary, start(second, free_port())


class Watched:
    """A service and its admin listener."""

    def __init__(self, programs, binary, folder, name, *arguments):
        self.name = name
        self.port, admin = free_port(), free_port()
        self.admin = f"127.0.0.1:{admin}"
        self.key = None
        programs.start(folder / f"{name}.log", binary, "serve", "--listen", f"127.0.0.1:{self.port}", "--admin-listen", self.admin,
                       "--access-log", "json", *arguments)
        until(f"the start of {name}", lambda: get(f"http://{self.admin}/startupz"))


def start_collector(programs, collector, folder):
    """Starts the collector; returns its endpoint and its log."""
    endpoint, grpc, log = (f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}", folder / "collector.log")
    programs.start(log, collector, "start", "--otlp-http-endpoint", endpoint, "--otlp-grpc-endpoint", grpc, "--exporter", "blackhole",
                   "--debug-log", "traces", "--debug-log-verbosity", "detailed", "--pid-file", folder / "collector.pid")

    def connects():
        with socket.create_connection(endpoint.split(":")):
            return True

    until("the start of the collector", connects)
    return f"http://{endpoint}", log


def start_services(programs, binary, folder, endpoint):
    issuer = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    threading.Thread(target=issuer.serve_forever, daemon=True).start()
    key, line = run(binary, "keys", "new", "loader").strip().split("\n", 1)
    identity = folder / "identity.yaml"
    identity.write_text(f"issuers:\n  - {{name: sso, issuer: 'http://127.0.0.1:{issuer.server_port}'}}\nkeys:\n{line}\n")
    database = folder / "postgres"
    database.mkdir()
    primary, replica = start_postgres(programs, database)
    url = ["--database-url", primary]
    # Where reads can go to a replica, they do.
    if "--replica-url" in run(binary, "--help"):
        url += ["--replica-url", replica]
    knowing = Watched(programs, binary, folder, "identity", "--database-url", f"sqlite://{folder}/identity.db?mode=rwc",
                      "--identity", identity)
    knowing.key = key
    return [
        Watched(programs, binary, folder, "sqlite", "--database-url", f"sqlite://{folder}/sqlite.db?mode=rwc", "--rules", RULES,
                "--otlp-endpoint", endpoint),
        Watched(programs, binary, folder, "postgres", *url),
        knowing,
    ]


# ---- the load -------------------------------------------------------------------------------------------------------------------------


def send(connection, method, path, body=None, headers=None):
    headers = {"Content-Type": "application/json", "Traceparent": f"00-{TRACE}-b7ad6b7169203331-01"} | (headers or {})
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


def load(service, is_over):
    """One client: some of everything."""
    authorization = {"Authorization": f"Bearer {service.key}"} if service.key else {}
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    number = 0
    while not is_over.is_set():
        number += 1
        proposal = {"proposal_type": "research", "project_title": f"Upland rice {number}"}
        key = {"Idempotency-Key": f'"{threading.get_ident()}-{number}"'} | authorization
        status, body, headers = send(connection, "POST", "/v1/proposals", proposal, key)
        if status != 201:
            raise SystemExit(f"{service.name}: {status} {body.decode()}")
        path = f"/v1/proposals/{json.loads(body)['id']}"
        for method, target, sent, more in [
            ("POST", "/v1/proposals", proposal, key),
            ("GET", path, None, {}),
            ("GET", "/v1/proposals?page_size=5", None, {}),
            ("GET", "/v1/proposals?q=rice&page_size=2", None, {}),
            ("PATCH", path, {"project_title": "Other"}, {}),
            ("POST", "/v1/files", {"filename": "plan.pdf", "proposal_id": str(number)}, {}),
            ("GET", "/v1/missing", None, {}),
            ("GET", "/v1/files", None, {"Authorization": f"Bearer wrong.{number % 3}.token"}),
            ("DELETE", path, None, {}),
        ]:
            send(connection, method, target, sent, authorization | more)
    connection.close()


def listen(service, is_over):
    """A follower of the changes."""
    headers = {"Authorization": f"Bearer {service.key}"} if service.key else {}
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    connection.request("GET", "/v1/changes/stream", headers=headers)
    answer = connection.getresponse()
    while not is_over.is_set() and answer.readline():
        pass


# ---- what is checked -----------------------------------------------------------------------------------------------------------------------


def check_files():
    run("promtool", "check", "rules", ALERTS)
    run("promtool", "test", "rules", ALERTS.with_name("alerts.test.yaml"))
    names = re.findall(r"- alert: (\w+)", ALERTS.read_text())
    tested = set(re.findall(r"alertname: (\w+)", ALERTS.with_name("alerts.test.yaml").read_text()))
    explained = set(re.findall(r"^### (\w+)$", (ROOT / "docs/runbook.md").read_text(), re.MULTILINE))
    for name in names:
        if name not in tested or name not in explained:
            raise SystemExit(f"{name} needs a case in alerts.test.yaml and a paragraph in docs/runbook.md")
    return names


def start_prometheus(programs, folder, services):
    port = free_port()
    targets = [service.admin for service in services]
    configuration = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [{"job_name": "proposal-service", "static_configs": [{"targets": targets}]}],
    }
    file = folder / "prometheus.yaml"
    file.write_text(json.dumps(configuration))
    programs.start(folder / "prometheus.log", "prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder}/data",
                   f"--web.listen-address=127.0.0.1:{port}", "--enable-feature=exemplar-storage")
    url = f"http://127.0.0.1:{port}"
    until("the start of Prometheus", lambda: get(f"{url}/-/ready"))
    return f"{url}/api/v1"


def ask(api, path, **query):
    answer = json.loads(get(f"{api}/{path}?{urllib.parse.urlencode(query)}"))
    return answer["data"]


def queries():
    """The title and query of everything that the dashboard shows."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    ids = [panel["id"] for panel in panels]
    if len(set(ids)) != len(ids):
        raise SystemExit("the dashboard has two panels with one id")
    for panel in panels:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$job", ".*").replace("$instance", ".*").replace("$__rate_interval", RATE_INTERVAL)
            yield panel["title"], query


def check_dashboard(api):
    empty, count = [], 0
    for title, query in queries():
        count += 1
        series = ask(api, "query", query=query)["result"]
        if all(value["value"][1] == "NaN" for value in series):
            empty.append(f"{title}: {query}\n  gives {'only NaN' if series else 'no series'}")
    if empty:
        raise SystemExit("the dashboard shows nothing in:\n" + "\n".join(empty))
    return count


def check_rules(api, names):
    rules = [rule for group in ask(api, "rules")["groups"] for rule in group["rules"]]
    broken = [f"{rule['name']}: {rule.get('lastError')}" for rule in rules if rule["health"] != "ok"]
    loaded = {rule["name"] for rule in rules}
    firing = [alert["labels"] for alert in ask(api, "alerts")["alerts"] if alert["state"] == "firing"]
    if broken or firing or not loaded.issuperset(names):
        raise SystemExit(f"rules: broken {broken}, firing {firing}, loaded {sorted(loaded)}")


def check_exemplars(api):
    now = time.time()
    found = ask(api, "query_exemplars", query="http_server_request_duration_seconds_bucket", start=now - 60, end=now)
    traces = {exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]}
    if traces != {TRACE}:
        raise SystemExit(f"exemplars: {traces}")


def check_traces(log):
    def missing():
        lines = set(map(str.strip, log.read_text().splitlines()))
        spans = {line.partition(":")[2].strip() for line in lines if line.startswith("Name ")}
        attributes = {line.removeprefix("-> ") for line in lines if line.startswith("-> ")}
        return SPANS - spans | ATTRIBUTES - attributes

    ends = time.monotonic() + 10
    while (absent := missing()) and time.monotonic() < ends:
        time.sleep(0.5)
    if absent:
        raise SystemExit(f"the collector has not read: {sorted(absent)}")
    return len(re.findall(r"^Span #", log.read_text(), re.MULTILINE))


def check_text(service):
    metrics = get(f"http://{service.admin}/metrics", Accept="text/plain")
    run("promtool", "check", "metrics", input=metrics)
    lines = metrics.splitlines()
    return len(metrics), sum(not line.startswith("#") for line in lines)


def main(binary, collector):
    began = time.monotonic()
    names = check_files()
    with Programs() as programs:
        folder = Path(programs.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        endpoint, log = start_collector(programs, collector, folder)
        services = start_services(programs, binary, folder, endpoint)
        api = start_prometheus(programs, folder, services)
        is_over = threading.Event()
        clients = [threading.Thread(target=work, args=(service, is_over), daemon=True) for service in services for work in (load, listen)]
        for client in clients:
            client.start()
        time.sleep(LOADED)
        count = check_dashboard(api)
        check_rules(api, names)
        check_exemplars(api)
        spans = check_traces(log)
        for service in services:
            size, series = check_text(service)
            print(f"{service.name}: {series} series, {size // 1024} KiB")
        is_over.set()
        for client in clients:
            client.join(timeout=5)
    print(f"{count} queries of the dashboard give numbers, {len(names)} alerts have cases and paragraphs, exemplars come back,"
          f" {spans} spans reached the collector ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:]))
