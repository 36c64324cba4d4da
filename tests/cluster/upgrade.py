"""An upgrade to the next version of the schema, and part of the way back, while everything is served.

PROPOSAL_SERVICE_NEXT_BIN names the same service, built with the feature `next-schema`: it keeps a column of `items` also under another name.
"""

import os
import subprocess
import time
from pathlib import Path

import configuration
import parts
import service
from failure import Wrong
from service import BALANCER, INSTANCES

# An instance that was killed counts as running for a minute.
SECONDS_TO_CONTRACT = 70

LEFT_BEHIND = "SELECT count(*) FROM items WHERE written_at IS DISTINCT FROM updated_at"
NOT_NULL = "SELECT attnotnull FROM pg_attribute WHERE attrelid = 'items'::regclass AND attname = 'written_at'"
RULES = "docs/examples/rules"
VERSIONS = "SELECT version, oldest_reader, oldest_writer FROM schema_version"


def next_binary():
    path = configuration.ROOT / "target/tests-run/proposal-service-next"
    binary = os.environ.get("PROPOSAL_SERVICE_NEXT_BIN", f"{path}")
    if not Path(binary).exists():
        raise Wrong("a binary of the next version of the schema", f"{binary} is not there")
    return binary


def side_by_side(run):
    """The schema is expanded, the instances are replaced one by one and one of them back again, and the schema is contracted."""
    old, new = service.binary(), next_binary()
    begun = time.monotonic()
    run.start_load([BALANCER] * 5, [BALANCER] * 3, [BALANCER], [BALANCER] * 3)
    [[known, reader, writer]] = query(run, VERSIONS)
    following = f"{int(known) + 1}"
    planned = migrate(run, new, "--plan")
    if "ALTER TABLE items ADD COLUMN written_at" not in planned or query(run, VERSIONS) != [[known, reader, writer]]:
        raise Wrong("the plan names the steps and takes none", planned)
    query(run, "GRANT SELECT ON proposals TO PUBLIC")
    expanded = time.monotonic()
    migrate(run, new)
    run.figures["expand and backfill"] = f"{time.monotonic() - expanded:.1f} s"
    expect(run, VERSIONS, [[following, reader, writer]])
    refused = contract(run, new)
    if "stop all services of that version" not in refused:
        raise Wrong("the schema is not contracted under older instances", refused)
    agree(run, old, new)
    one, two, three = INSTANCES
    for name, binary in ((one, new), (two, new), (one, old), (one, new), (three, new)):
        replace(run, name, binary)
    run.figures["rows that older instances left behind"] = query(run, LEFT_BEHIND)[0][0]
    contracted = time.monotonic()
    parts.await_that("the schema is contracted", lambda: contract(run, new) is None, SECONDS_TO_CONTRACT, pause=1)
    run.figures["contract"] = f"{time.monotonic() - contracted:.1f} s"
    expect(run, VERSIONS, [[following, reader, following]])
    expect(run, NOT_NULL, [["t"]])
    if "too old" not in (refused := start(run, old)):
        raise Wrong("an older instance does not start on the contracted schema", refused)
    run.check_pauses(begun, 10, [BALANCER])
    run.finish()
    expect(run, LEFT_BEHIND, [["0"]])
    expect(run, "SELECT has_table_privilege('pg_monitor', 'proposals', 'SELECT')", [["t"]])


def replace(run, name, binary):
    """Ends an instance and starts it again as another build."""
    instance, balancer = run.cluster.instances[name], run.cluster.balancer
    if status := instance.stop():
        run.journal.violation(f"{name} ends with status 0", status)
    instance.command[0] = binary
    instance.start()
    service.await_ready(run.places, name, part=instance)
    balancer.await_state(name, True)


def agree(run, old, new):
    """Both builds publish the same document, judge rules alike, and the newer one takes the older one's export."""
    rules = f"{configuration.ROOT / RULES}"
    for arguments in (["openapi", "--rules", rules], ["rules", "check", rules], ["rules", "test", rules]):
        documents = [subprocess.run([build, *arguments], capture_output=True, timeout=60) for build in (old, new)]
        if documents[0].returncode or documents[0].stdout != documents[1].stdout:
            raise Wrong(f"{' '.join(arguments)} is the same of both builds", documents)
    exported, back = run.places.state / "exported.jsonl", run.places.state / "back.jsonl"
    copy = f"sqlite://{run.places.state}/copy.db?mode=rwc"
    for build, arguments in (
        (old, ["export", f"{exported}"]),
        (new, ["import", f"{exported}", "--database-url", copy]),
        (new, ["export", f"{back}", "--database-url", copy]),
    ):
        if (done := command(run, build, *arguments)).returncode:
            raise Wrong(f"{arguments[0]} succeeds", done.stderr)
    if exported.read_bytes() != back.read_bytes():
        raise Wrong("the newer build exports what the older one did", f"{exported} and {back} differ")


def command(run, binary, *arguments):
    """Runs a command of a build on the database, or on another that it names; the commands of docs/operations.md are run to the
    letter."""
    if "--database-url" not in arguments:
        arguments = (*arguments, "--database-url", run.places.url("postgresql"))
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=120)
    with open(run.places.logs / "upgrade.log", "a") as log:
        log.write(f"{binary} {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def migrate(run, binary, *arguments):
    done = command(run, binary, *documented("migrate", *arguments))
    if done.returncode:
        raise Wrong(f"migrate {' '.join(arguments)} succeeds", done.stderr)
    return done.stdout


def contract(run, binary):
    """Why the schema was not contracted; `None` when it was."""
    done = command(run, binary, *documented("migrate", "--phase", "contract"))
    return done.stderr if done.returncode else None


def documented(*arguments):
    """Arguments that the page on operations shows."""
    page = configuration.ROOT / "docs/operations.md"
    shown = f"proposal-service {' '.join(arguments)}\n"
    if shown not in page.read_text():
        raise Wrong(f"{page} shows {shown.strip()}", "it does not")
    return arguments


def start(run, binary):
    """Why an instance does not start."""
    return command(run, binary, "serve", "--listen", "127.0.0.1:0").stderr


def query(run, statement):
    return run.database.query(run.database.primary(), statement, "proposals")


def expect(run, statement, rows):
    if (seen := query(run, statement)) != rows:
        raise Wrong(f"{statement}: {rows}", seen)
