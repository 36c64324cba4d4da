"""The released binary: no path of the machine that built it, the crates it is made of, and the libraries it needs."""

import json
import os
import zlib
from pathlib import Path

from tools import BINARY, ROOT, passed, require, run, version

# What the image and any Linux with glibc 2.34 have.
NEEDED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
OLDEST_GLIBC = (2, 34)


def check():
    passed(f"{BINARY.relative_to(ROOT)}: {BINARY.stat().st_size / 1e6:.1f} MB")
    paths()
    libraries()
    crates = audit_data(BINARY)
    require(any(crate["name"] == "libsqlite3-sys" for crate in crates), "libsqlite3-sys is not among the crates that it lists")
    passed(f"cargo auditable: it lists {len(crates)} crates")
    said = run(BINARY, "--version", quiet=True)
    require(version() in said and "commit unknown" not in said, f"--version says {said}")


def paths():
    content = BINARY.read_bytes()
    sysroot = run("rustc", "--print", "sysroot", quiet=True).strip()
    for path in (str(ROOT), str(Path.home()), os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")), sysroot):
        require(path == "/" or path.encode() + b"/" not in content, f"the binary holds the path {path}, {content.count(path.encode())} times")
    passed("it holds no path of this machine: workspace, home, Cargo's folder, toolchain")


def libraries():
    found = {line.split("[")[1].rstrip("]") for line in run("readelf", "--dynamic", BINARY, quiet=True).splitlines() if "(NEEDED)" in line}
    require(found <= NEEDED, f"it needs {found - NEEDED}")
    symbols = run("objdump", "--dynamic-syms", BINARY, quiet=True)
    versions = {tuple(int(part) for part in word.strip("()")[6:].split(".")) for word in symbols.split() if word.strip("()").startswith("GLIBC_2")}
    require(max(versions) <= OLDEST_GLIBC, f"it needs glibc {max(versions)}")
    passed(f"it needs {', '.join(sorted(found))}, of glibc {'.'.join(str(part) for part in max(versions))} or later")


def audit_data(binary):
    """The crates that `cargo auditable` wrote into a section of the binary."""
    section = binary.with_suffix(".dep-v0")
    run("objcopy", "--dump-section", f".dep-v0={section}", binary, os.devnull, quiet=True)
    packages = json.loads(zlib.decompress(section.read_bytes()))["packages"]
    section.unlink()
    return packages
