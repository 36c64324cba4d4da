"""The SBOM: valid, complete by what the binary itself lists, and of the SQLite that the service writes with."""

import json
import struct
import tempfile
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from binary import audit_data
from tools import BINARY, PACKAGING, ROOT, WORK, fresh, passed, require, run, version

FILE = WORK / "sbom/proposal-service.cdx.json"


def check():
    fresh("sbom")
    run(PACKAGING / "release/sbom", FILE, quiet=True)
    text = FILE.read_text()
    error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    require(error is None, f"CycloneDX: {error}")
    bill = json.loads(text)
    passed(f"CycloneDX 1.5, strict: valid, {len(bill['components'])} components")
    again = WORK / "sbom/again.json"
    run(PACKAGING / "release/sbom", again, quiet=True)
    require(again.read_text() == text, "made twice, it differs")
    again.unlink()
    require(str(ROOT) not in text and str(Path.home()) + "/" not in text, "it holds a path of this machine")
    passed("made twice, it is the same, without a path of this machine")
    components = {(component["name"], component["version"]) for component in bill["components"]}
    linked = {(crate["name"], crate["version"]) for crate in audit_data(BINARY) if crate.get("kind", "runtime") == "runtime"}
    missing = linked - components - {("bootstrap", version())}
    require(not missing, f"the binary links crates that it lacks: {sorted(missing)}")
    passed(f"all {len(linked)} crates that the binary lists are in it")
    require(("sqlite", sqlite_of_service()) in components, f"SQLite {sqlite_of_service()} of the service is not in it")
    passed(f"SQLite {sqlite_of_service()}, by the file that the service writes, is in it, with jemalloc")
    names = {name for name, _ in components}
    require("jemalloc" in names, "jemalloc is missing")
    require("libz-sys" not in names, "the binary links the system's zlib; it has zlib-rs")


def sqlite_of_service():
    """The version that SQLite notes at byte 96 of a file it writes."""
    with tempfile.TemporaryDirectory() as folder:
        run(BINARY, "migrate", "--database-url", f"sqlite://{folder}/a.db?mode=rwc", quiet=True)
        number = struct.unpack(">I", (Path(folder) / "a.db").read_bytes()[96:100])[0]
    return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"
