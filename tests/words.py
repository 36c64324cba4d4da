"""Refuses words that the product's Rust does not use any more: tests/words.txt has them, each with its replacement.

    tests/words.py            refuses the words that are in force
    tests/words.py --gone     prints the lines that could come into force

A word is refused as a whole identifier and, in comments, between backticks; one that no sentence would contain
(`take_turn`, `PageWalk`) anywhere in a comment. A line `prose: word → replacement` refuses a word in comments only.
"""

import re
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
LINE = re.compile(r"(?P<inactive>\#\ )?(?P<prose>prose: )?(?P<word>\w+)\s+→ (?P<replacement>.+)")


def main(arguments):
    lines = [found for line in LIST.read_text().splitlines() if (found := LINE.fullmatch(line))]
    files = [file for folder in PRODUCT for file in sorted((ROOT / folder).rglob("src/**/*.rs"))]
    found = [use for file in files for use in uses(file, lines)]
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
    identifiers = {line["word"]: line for line in lines if not line["prose"]}
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


def in_comment(comment, identifiers, prose):
    code = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`", comment))))
    for word in re.findall(r"\w+", comment):
        is_only_code = "_" in word or re.search(r"[a-z][A-Z]", word)
        if word in identifiers and (word in code or is_only_code):
            yield identifiers[word]
        yield prose.get(word.lower())


if __name__ == "__main__":
    main(sys.argv[1:])
