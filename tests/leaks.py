#!/usr/bin/env python3
"""Applies each seeded leak (tests/leaks/*.patch) to a copy of the source, builds the service, and
requires that the tests of policies find the leak. Names of patches as arguments limit the run."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target/leaks"
COPY = WORK / "source"


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


def copy_source():
    COPY.mkdir(parents=True, exist_ok=True)
    archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE)
    # With the times of the commit, cargo would keep the binary of an earlier leak.
    run("tar", "--extract", "--touch", "--directory", COPY, stdin=archive.stdout)


def is_found(patch):
    """Returns whether the tests fail with the leak. They must pass without it."""
    if patch:
        run("git", "apply", "--unsafe-paths", f"--directory={COPY}", patch, cwd="/")
    environment = os.environ | {"CARGO_TARGET_DIR": str(WORK / "target")}
    run("cargo", "build", "--locked", "--package", "bootstrap", cwd=COPY, env=environment)
    binary = WORK / "target/debug/proposal-service"
    environment = os.environ | {"PROPOSAL_SERVICE_BIN": str(binary)}
    tests = ["cargo", "test", "--locked", "--package", "tests", "--test", "policies"]
    tested = subprocess.run(tests, cwd=ROOT, env=environment, capture_output=True, text=True)
    if patch:
        run("git", "apply", "--reverse", "--unsafe-paths", f"--directory={COPY}", patch, cwd="/")
    return tested.returncode != 0


def main():
    copy_source()
    if is_found(None):
        sys.exit("the tests of policies fail without a leak")
    patches = sorted((ROOT / "tests/leaks").glob("*.patch"))
    names = sys.argv[1:]
    missed = []
    for patch in (patch for patch in patches if not names or patch.stem in names):
        found = is_found(patch)
        print(f"{patch.stem}: {'found' if found else 'MISSED'}", flush=True)
        if not found:
            missed.append(patch.stem)
    if missed:
        sys.exit(f"no test finds these leaks: {', '.join(missed)}")


main()
