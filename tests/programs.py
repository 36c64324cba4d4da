"""The programs on pages that are not the shell's: how each language is run.

Python runs unchanged. TypeScript is checked and compiled, all programs in one run of the compiler. Power Query cannot be run here: the
requests that a query names are sent, and what it takes from the answers must be there.
"""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILER = ROOT / "tests/node_modules/.bin/tsc"
COMPILER_OPTIONS = {"strict": True, "target": "es2022", "module": "nodenext", "lib": ["es2022", "dom", "dom.iterable"], "types": []}

# What a query in Power Query consists of, as far as requests are concerned.
TOKEN = re.compile(r'#?"(?:[^"]|"")*"|[\w.]+|\S')
TAKEN = re.compile(r"\[(_embedded)\]\[(\w+)\]")


class Failed(Exception):
    """A program that does not do what it says."""


def compile_typescript(programs, folder):
    """The programs by their names as JavaScript."""
    if not programs:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.mts" for name in programs]
    for file, text in zip(files, programs.values()):
        # Without an import or export it would be no module, and share its names with the others.
        file.write_text(f"{text}export {{}};\n")
    project = {"compilerOptions": COMPILER_OPTIONS, "files": [file.name for file in files]}
    (folder / "tsconfig.json").write_text(json.dumps(project))
    compiled = subprocess.run([COMPILER, "--project", folder], cwd=folder, capture_output=True, text=True)
    if compiled.returncode:
        raise Failed(compiled.stdout + compiled.stderr)
    return {name: file.with_suffix(".mjs").read_text() for name, file in zip(programs, files)}


def command(language, file):
    """The command that runs the program in a file."""
    return f"'{sys.executable}' '{file}'\n" if language == "python" else f"node '{file}'\n"


def send_requests_of_query(query):
    """Sends the requests that a query names by their addresses, and says what the answers were."""
    requests = list(requests_of(TOKEN.findall(query)))
    if not requests:
        raise Failed("the query names no request")
    answers = []
    for request in requests:
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                body = json.load(answer)
        except urllib.error.HTTPError as error:
            raise Failed(f"{request.full_url} was answered with {error.code}: {error.read().decode()}") from error
        for names in TAKEN.findall(query):
            if not isinstance(body.get(names[0], {}).get(names[1]), list):
                raise Failed(f"{request.full_url} has no {names[0]}.{names[1]}")
        answers.append(f"200 {request.full_url}\n")
    return "".join(answers)


def requests_of(tokens):
    for at, token in enumerate(tokens):
        address = tokens[at + 2] if token == "Web.Contents" else ""
        if not address.startswith('"'):
            continue
        has_options = tokens[at + 3] == ","
        options = record(iter(tokens[at + 5 :])) if has_options else {}
        url = string(address)
        if path := options.get("RelativePath"):
            url = f"{url}/{path}"
        if query := options.get("Query"):
            url = f"{url}?{urllib.parse.urlencode(query)}"
        yield urllib.request.Request(url, headers=options.get("Headers", {}))


def record(tokens):
    """The members of a record, whose opening bracket was read."""
    members, name = {}, None
    for token in tokens:
        if token == "]":
            break
        if token == "[":
            members[name] = record(tokens)
        elif token.startswith('"') and name is not None:
            members[name] = string(token)
        elif token == ",":
            name = None
        elif token != "=":
            name = string(token.removeprefix("#"))
    return members


def string(token):
    return token[1:-1].replace('""', '"') if token.startswith('"') else token
