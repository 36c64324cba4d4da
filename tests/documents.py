"""Does what a page says: runs its commands in order and compares what they print with what the page shows.

    tests/documents.py [--demo] PAGE...

The page's code blocks say by their first line what they are; only the first word of it is shown to readers:

    sh                          commands, run one block after the other in one shell that stops at the first error
    sh no-run                   commands that are skipped
    … file=PATH                 the text of a file, written before the next commands
    … end-of=NAME in=PATH       rows of the Rust table NAME in a file, put at its end
    python, typescript          a program, which must end without an error
    powerquery                  a query, whose requests are sent (tests/programs.py)
    json, http, text            what the block before printed, or a part of it
    json no-run                 an example that nothing printed

A page works in a separate folder, which is a copy of the repository where the page changes files of it. Packages for
Node and Python that the tests have are installed there. In expected
output "…" matches any text; identifiers and times may be any. Servers listen on a free port in place of 8080, and
the server of TEST_POSTGRES_URL is the PostgreSQL of a page. With --demo one service with the demonstration set
serves all pages.
"""

import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import programs

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target/tests-run/documents"
BUILT = "target/release"  # where pages have the binary
BUILT_FOR_TESTS = "target/debug"
BINARY = ROOT / BUILT_FOR_TESTS / "proposal-service"
NODE_PACKAGES = "tests/node_modules"
PYTHON = "target/python/bin"
DOCUMENTED_ADDRESS = "127.0.0.1:8080"
DOCUMENTED_DATABASE = "127.0.0.1:5432"  # of PostgreSQL
SECONDS_FOR_A_BLOCK = 60
SECONDS_TO_BUILD = 1500

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Wrong(Exception):
    """A page that does not do what it says."""


@dataclass
class Block:
    page: Path
    line: int
    words: list[str]
    text: str

    @property
    def language(self):
        return self.words[0] if self.words else "text"

    def option(self, name):
        values = [word.partition("=")[2] for word in self.words if word.startswith(f"{name}=")]
        return values[0] if values else None

    @property
    def is_run(self):
        return self.language in ("sh", "python", "typescript", "powerquery") and "no-run" not in self.words

    @property
    def name(self):
        return f"{self.page.stem}-{self.line}"

    def error(self, message):
        return Wrong(f"{self.page.relative_to(ROOT)}:{self.line}: {message}")


def blocks_of(page):
    blocks, block = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = re.match(r"( *)```(.*)", line)
        if fence and block is None:
            indentation = len(fence[1])
            block = Block(page, number, fence[2].split(), "")
        elif fence:
            blocks.append(block)
            block = None
        elif block is not None:
            block.text += line[indentation:] + "\n"
    return blocks


class Shell:
    """One shell for all commands of a page, with the output of each block in files."""

    def __init__(self, folder, outputs, address):
        self.outputs = outputs
        self.done, done = os.pipe()
        path = f"{folder / BUILT}:{BINARY.parent}:{ROOT / PYTHON}:{os.environ['PATH']}"
        settings = {"PROPOSAL_SERVICE_LISTEN": address, "PATH": path}
        others = {name: value for name, value in os.environ.items() if not name.startswith("PROPOSAL_SERVICE_")}
        environment = others | settings
        # The services that a page starts end with its shell.
        start = f"set -eu; trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT; exec {done}>&{done}\n"
        self.end_of_block = f"echo >&{done}\n"
        self.process = subprocess.Popen(
            ["bash"], cwd=folder, env=environment, stdin=subprocess.PIPE, pass_fds=[done], text=True
        )
        os.close(done)
        self.send(start)

    def send(self, commands):
        self.process.stdin.write(commands)
        self.process.stdin.flush()

    def run(self, block, text):
        script, output, errors = (self.outputs / f"{block.line}.{kind}" for kind in ("sh", "out", "err"))
        script.write_text(text)
        output.touch()
        self.send(f"exec > '{output}' 2> '{errors}'\n. '{script}' < /dev/null\n{self.end_of_block}")
        if not self.has_ended(SECONDS_TO_BUILD if "cargo" in text else SECONDS_FOR_A_BLOCK):
            raise block.error(f"the commands failed:\n{text}\n{output.read_text()}\n{errors.read_text()}")
        return output.read_text()

    def has_ended(self, seconds):
        ready, _, _ = select.select([self.done], [], [], seconds)
        return bool(ready and os.read(self.done, 1))

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def run(page, blocks, compiled, address):
    outputs, folder = prepare(page, blocks)
    count, output = 0, None
    with database_server(blocks) as database, closing(Shell(folder, outputs, address)) as shell:
        for block in blocks:
            text = block.text.replace(DOCUMENTED_ADDRESS, address).replace(DOCUMENTED_DATABASE, database)
            if path := block.option("file"):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            elif table := block.option("end-of"):
                insert(block, folder / block.option("in"), table, text)
            elif block.language == "powerquery":
                output = sent(block, text)
            elif block.language in ("sh", "python", "typescript"):
                script = text if block.language == "sh" else program(block, text, compiled, outputs, address)
                output = shell.run(block, script) if block.is_run else None
                count += block.is_run
                continue
            elif block.language in ("json", "http", "text"):
                if output is None or "no-run" in block.words:
                    continue
                compare(block, text, output)
            else:
                continue
            count += 1
    if not any(block.is_run for block in blocks):
        raise Wrong(f"{page.relative_to(ROOT)}: no block was run")
    print(f"{page.relative_to(ROOT)}: {count} of {len(blocks)} blocks were done or compared")


@contextmanager
def database_server(blocks):
    """Where the server of the tests is, for pages with a database; what the page makes there is dropped at its end."""
    if not any(DOCUMENTED_DATABASE in block.text for block in blocks):
        yield DOCUMENTED_DATABASE
        return
    server = os.environ["TEST_POSTGRES_URL"]
    if query(server, "SELECT datname FROM pg_database WHERE datname = 'proposals' UNION SELECT rolname FROM pg_roles WHERE rolname = 'proposals'"):
        raise Wrong("the server of TEST_POSTGRES_URL has a database or a role `proposals`, which may be yours: name another server")
    try:
        yield urllib.parse.urlsplit(server).netloc.rpartition("@")[2]
    finally:
        query(server, "DROP DATABASE IF EXISTS proposals WITH (FORCE)")
        query(server, "DROP ROLE IF EXISTS proposals")


def query(server, statement):
    command = ["psql", "--quiet", "--tuples-only", "--no-align", "--command", statement, server]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def sent(block, query):
    try:
        return programs.send_requests_of_query(query)
    except programs.Failed as failed:
        raise block.error(f"{failed}") from failed


def program(block, text, compiled, outputs, address):
    """Writes a program, and returns the command that runs it."""
    file = outputs / f"{block.line}.{'py' if block.language == 'python' else 'mjs'}"
    file.write_text(compiled[block.name].replace(DOCUMENTED_ADDRESS, address) if block.name in compiled else text)
    return programs.command(block.language, file)


def prepare(page, blocks):
    """Makes the folder for what is printed, and the folder that a page works in."""
    home = WORK / page.stem
    shutil.rmtree(home, ignore_errors=True)
    outputs, folder = home / "output", home / "copy"
    outputs.mkdir(parents=True)
    folder.mkdir()
    if any(block.language == "rust" and len(block.words) > 1 for block in blocks):
        copy_repository(home, folder)
    else:
        (folder / "target").mkdir()
        (folder / BUILT).symlink_to(BINARY.parent)
        (folder / "node_modules").symlink_to(ROOT / NODE_PACKAGES)
    return outputs, folder


def copy_repository(home, folder):
    """Copies the repository to a folder of `home`, with what is built for tests as far as a build there can use it."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # Not in our own folder: cargo would take what the copy left there for what is built of our files, and build
    # them no more.
    (folder / BUILT).mkdir(parents=True)
    shutil.copy2(BINARY, folder / BUILT)
    if (ROOT / BUILT_FOR_TESTS).is_dir():
        shutil.copytree(
            ROOT / BUILT_FOR_TESTS, folder / BUILT_FOR_TESTS, ignore=what_is_not_reused, copy_function=link_or_copy
        )
    build_without_optimization(home)


def build_without_optimization(home):
    """Writes a Cargo configuration above the copy: our crates are built without optimization, in a third of the time, and
    built dependencies are reused."""
    command = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    metadata = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    (home / ".cargo").mkdir()
    with open(home / ".cargo/config.toml", "w") as config:
        for package in json.loads(metadata)["packages"]:
            config.write(f"[profile.dev.package.{package['name']}]\nopt-level = 0\n")


def what_is_not_reused(folder, names):
    """The parts of a folder of built files that a build of the copy does not use: what is of our own crates, as far as it is large."""
    programs = [name for name in names if Path(folder).name == "deps" and "." not in name]
    return ["incremental", *programs]


def link_or_copy(source, target):
    """Libraries are gigabytes, and the compiler replaces them as whole files: a second name for one is as good as a copy."""
    if Path(source).suffix in (".rlib", ".rmeta", ".so"):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def insert(block, file, table, rows):
    lines = file.read_text().splitlines(keepends=True)
    start = next((at for at, line in enumerate(lines) if re.search(rf"\bstatic {table}\b", line)), None)
    if start is None:
        raise block.error(f"there is no table {table} in {file.name}")
    end = next(at for at in range(start, len(lines)) if lines[at].rstrip() == "];")
    file.write_text("".join(lines[:end]) + rows + "".join(lines[end:]))


def compare(block, expected, output):
    if block.language == "json":
        wanted = json.loads(expected)
        if not any(is_part(wanted, found) for found in objects_in(output)):
            raise block.error(f"the page shows\n{expected}\nand the commands printed\n{output}")
        return
    lines = iter(plain(line) for line in output.splitlines())
    for line in filter(str.strip, expected.splitlines()):
        if not any(matches(plain(line), other) for other in lines):
            raise block.error(f"the page shows\n{line}\nand the commands printed\n{output}")


def objects_in(output):
    """All JSON objects and arrays that begin a line."""
    decoder = json.JSONDecoder()
    for start in re.finditer(r"^[\[{]", output, re.MULTILINE):
        try:
            yield decoder.raw_decode(output, start.start())[0]
        except json.JSONDecodeError:
            continue


def is_part(wanted, found):
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and is_part(value, found[name]) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        is_open = wanted[-1:] == ["…"]
        wanted = wanted[:-1] if is_open else wanted
        return (
            isinstance(found, list)
            and (len(found) >= len(wanted) if is_open else len(found) == len(wanted))
            and all(map(is_part, wanted, found))
        )
    if isinstance(wanted, str):
        return isinstance(found, str) and matches(plain(wanted), plain(found))
    return wanted == found


def plain(line):
    return TIME.sub("TIME", UUID.sub("UUID", line.strip()))


def matches(pattern, line):
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), line) is not None


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextmanager
def demonstration(address):
    """A service with the demonstration set, for pages that start none."""
    folder = WORK / "demonstration"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    binary = os.environ.get("PROPOSAL_SERVICE_BIN", BINARY)
    store = f"sqlite://{folder}/proposals.db?mode=rwc"
    with open(folder / "log", "w") as log:
        arguments = [binary, "serve", "--demo", "--listen", address, "--database-url", store]
        service = subprocess.Popen(arguments, stdout=log, stderr=log)
    try:
        wait_until_ready(address, service)
        yield
    finally:
        service.terminate()
        service.wait(timeout=20)


def wait_until_ready(address, service):
    for _ in range(300):
        if service.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"http://{address}/readyz", timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise Wrong(f"the service did not start; see {WORK / 'demonstration/log'}")


def main(arguments):
    is_demo = arguments[:1] == ["--demo"]
    pages = [(ROOT / page).resolve() for page in arguments[is_demo:]]
    blocks = {page: blocks_of(page) for page in pages}
    sources = {
        block.name: block.text for page in pages for block in blocks[page] if block.language == "typescript" and block.is_run
    }
    try:
        compiled = programs.compile_typescript(sources, WORK / "typescript")
        if not is_demo:
            for page in pages:
                run(page, blocks[page], compiled, free_address())
            return
        address = free_address()
        with demonstration(address):
            for page in pages:
                run(page, blocks[page], compiled, address)
    except (Wrong, programs.Failed) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main(sys.argv[1:])
