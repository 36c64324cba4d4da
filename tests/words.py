"""Refuses the words and phrases of tests/words.txt, which has a replacement for each.

    tests/words.py            refuses the words that are in force
    tests/words.py --gone     prints the lines that could come into force

A word is refused in the product's Rust: as a whole identifier and, in comments, between backticks; one that no sentence
would contain (`take_turn`, `PageWalk`) anywhere in a comment. A line `prose: word → replacement` refuses a word in
comments only. A line `phrase: words → replacement` refuses a phrase in every text of the repository: comments, strings,
names of tests, templates, scripts and pages.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/words.txt"
PRODUCT = ["domain", "application", "adapters", "bootstrap"]

# What Rust consists of, as far as it matters here; strings come first so that they hide what is within them.
TOKEN = re.compile(
    r"""(?P<string>\bb?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])')
    |(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<identifier>[A-Za-z_]\w*)""",
    re.VERBOSE | re.DOTALL,
)
LINE = re.compile(
    r"(?P<inactive>\# )?((?P<prose>prose: )|(?P<phrase>phrase: ))?(?P<word>\w+|(?<=phrase: )[\w ]+?)\s+→ (?P<replacement>.+)"
)
TEXTS = re.compile(r"\.(css|html|js|json|md|mjs|mts|py|R|rs|sh|sql|toml|tpl|txt|yaml|yml)$|^[^.]+$")
NOT_OURS = re.compile(r"package-lock\.json|tests/data/")
# Words of a phrase may be on two lines of a comment, or parts of a name.
BETWEEN_WORDS = r"(?:_|\s+(?:(?://[/!]?|#|\*)\s+)?)"


def main(arguments):
    lines = [found for line in LIST.read_text().splitlines() if (found := LINE.fullmatch(line))]
    files = [file for folder in PRODUCT for file in sorted((ROOT / folder).rglob("src/**/*.rs"))]
    found = [use for file in files for use in uses(file, lines)]
    found += phrases([line for line in lines if line["phrase"]])
    if arguments == ["--gone"]:
        used = {line for line, _ in found}
        print(*(line[0] for line in lines if line["inactive"] and line not in used), sep="\n")
        return
    refused = [place for line, place in found if not line["inactive"]]
    active = sum(not line["inactive"] for line in lines)
    print(f"{active} words are refused, {len(lines) - active} are still to go, in {len(files)} files")
    if refused:
        sys.exit("\n".join(refused))


def uses(file, lines):
    """The lines of the list that a file violates, each with a message."""
    text = file.read_text()
    identifiers = {line["word"]: line for line in lines if not line["prose"] and not line["phrase"]}
    prose = {line["word"]: line for line in lines if line["prose"]}
    for token in TOKEN.finditer(text):
        if token["identifier"]:
            words = [identifiers.get(token[0])]
        elif token["comment"]:
            words = in_comment(token[0], identifiers, prose)
        else:
            continue
        for line in filter(None, words):
            number = text.count("\n", 0, token.start()) + 1
            place = f"{file.relative_to(ROOT)}:{number}: `{line['word']}` is now {line['replacement']}"
            yield line, place


def phrases(lines):
    """The phrases that a file of the repository contains, each with a message."""
    of_phrase = {line["word"]: line for line in lines}
    any_phrase = "|".join(BETWEEN_WORDS.join(phrase.split()) for phrase in of_phrase)
    pattern = re.compile(rf"(?<![^\W_])(?:{any_phrase})(?![^\W_])", re.IGNORECASE)
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in names:
        file = ROOT / name
        if not TEXTS.search(file.name) or NOT_OURS.search(name) or file == LIST or not file.is_file():
            continue
        text = file.read_text()
        for use in pattern.finditer(text):
            phrase = " ".join(re.findall(r"[a-z]+", use[0].lower()))
            number = text.count("\n", 0, use.start()) + 1
            yield of_phrase[phrase], f"{name}:{number}: “{phrase}” is now {of_phrase[phrase]['replacement']}"


def in_comment(comment, identifiers, prose):
    code = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`", comment))))
    for word in re.findall(r"\w+", comment):
        is_only_code = "_" in word or re.search(r"[a-z][A-Z]", word)
        if word in identifiers and (word in code or is_only_code):
            yield identifiers[word]
        yield prose.get(word.lower())


if __name__ == "__main__":
    main(sys.argv[1:])
