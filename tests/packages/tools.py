"""What all checks use."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "bootstrap/packaging"
WORK = ROOT / "target/packages"
BINARY = ROOT / "target/release/proposal-service"
# The tools of Python's index are next to the interpreter that runs this.
PYTHON_TOOLS = Path(sys.executable).parent


class Wrong(Exception):
    """A package that is not as it should be."""


def require(condition, message):
    if not condition:
        raise Wrong(message)


def run(*command, expect=0, quiet=False, **options):
    """Runs a command that must end with a status; its output on both streams."""
    words = [str(word) for word in command]
    path = f"{PYTHON_TOOLS}:{os.environ['PATH']}:/usr/sbin:/sbin"
    environment = {**os.environ, "PATH": path, **options.pop("env", {})}
    done = subprocess.run(words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    if expect is not None and done.returncode != expect:
        raise Wrong(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
    if not quiet:
        said = done.stdout.strip().splitlines()[-1:] or ["no finding"]
        print(f"  ✓ {Path(words[0]).name} {' '.join(words[1:3])[:60]}: {said[0][:140]}", flush=True)
    return done.stdout


def passed(message):
    print(f"  ✓ {message}", flush=True)


def version():
    """The version in Cargo.toml."""
    found = re.search(r'\[workspace\.package\][^\[]*?^version = "(.*?)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE | re.DOTALL)
    return found[1]


def fresh(name):
    """An empty folder to work in."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def sole(folder, pattern):
    """The one file of a pattern."""
    found = list(folder.glob(pattern))
    require(len(found) == 1, f"there should be one {pattern} in {folder}, and there are {len(found)}")
    return found[0]
