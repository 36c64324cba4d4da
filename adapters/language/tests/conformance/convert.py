#!/usr/bin/env python3
"""Converts the conformance tests of the Common Expression Language into one table.

    convert.py FOLDER COMMIT > cel-spec.json

FOLDER holds the `*.textproto` files of google/cel-spec, `tests/simple/testdata`, as they are at
COMMIT. The table has the tests that apply to rules (see `reason_to_leave_out`), one a line, and
counts the others.
"""

import collections
import json
import pathlib
import re
import sys

TOKEN = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*)
    |(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<word>[A-Za-z_][\w.]*|[-+]?(?:inf|nan|\d[\w.]*(?:(?<=[eE])[-+]\d+)?|\.\d+))
    |(?P<any>\[[\w./]+\])
    |(?P<sign>[{}:,;<>\[\]])""",
    re.X,
)
ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.S)
PLAIN = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v"))

LITERALS = {"true", "false", "null"}
# The fields of a test that hold values.
VALUES = {"bindings", "value", "eval_error"}
KINDS = {"int64_value": "int", "double_value": "double", "bool_value": "bool",
         "string_value": "string", "null_value": "null", "type_value": "type"}
TIMES = {"[type.googleapis.com/google.protobuf.Timestamp]": "timestamp",
         "[type.googleapis.com/google.protobuf.Duration]": "duration"}


def unescaped(token):
    """The bytes of a quoted string of the text format."""
    def replace(match):
        code = match[1]
        if code[:1] in b"01234567":
            return bytes([int(code, 8) & 0xFF])
        if code[:1] == b"x":
            return bytes([int(code[1:], 16)])
        if code[:1] in b"uU":
            return chr(int(code[1:], 16)).encode()
        return bytes([PLAIN.get(code[0], code[0])])
    return ESCAPE.sub(replace, token[1:-1].encode())


def tokens(text):
    """The tokens of a file in protobuf's text format."""
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError(f"cannot read {text[at:at + 40]!r}")
        at = match.end()
        if match.lastgroup != "skip":
            yield match.lastgroup, match[0]


class Reader:
    """Reads a message as a list of pairs of a field and its value."""

    def __init__(self, text):
        self.tokens = [*tokens(text), ("end", "")]
        self.at = 0

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self):
        return self.tokens[self.at][1]

    def message(self, end):
        fields = []
        while self.peek() != end:
            _, name = self.next()
            if self.peek() == ":":
                self.next()
            if self.peek() == "[":
                self.next()
                while self.peek() != "]":
                    fields.append((name, self.value()))
                    if self.peek() == ",":
                        self.next()
                self.next()
            else:
                fields.append((name, self.value()))
            if self.peek() in (",", ";"):
                self.next()
        self.next()
        return fields

    def value(self):
        kind, token = self.next()
        if token == "{":
            return self.message("}")
        if kind != "string":
            return token
        value = unescaped(token)
        while self.tokens[self.at][0] == "string":
            value += unescaped(self.next()[1])
        return value


def first(message, name, default=None):
    return next((value for field, value in message if field == name), default)


def every(message, name):
    return [value for field, value in message if field == name]


def fields_within(message):
    """The names of all fields of a message, and of the messages in it."""
    for name, value in message:
        yield name
        if isinstance(value, list):
            yield from fields_within(value)


def values_of(test):
    """The fields of a test that hold values, with its times separate from messages."""
    return [(name, with_times(value)) for name, value in test if name in VALUES]


def with_times(message):
    """A message in which timestamps and durations are separate fields."""
    if not isinstance(message, list):
        return message
    within = first(message, "object_value")
    if within and within[0][0] in TIMES:
        return [(TIMES[within[0][0]], within[0][1])]
    return [(name, with_times(value)) for name, value in message]


FILES_LEFT_OUT = {"optionals": "optional values", "macros2": "macros of two variables"}
# What rules do not have, as JSON has none of it or rules have no use for it: how it is seen in the
# expression of a test, and in the fields of the test.
LEFT_OUT = [
    ("protobuf messages", r"\bTestAllTypes\b|google\.protobuf\.(?!Timestamp\b|Duration\b)\w+",
     {"object_value", "enum_value"}),
    ("unsigned integers", r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)[uU]\b|\buint\b", {"uint64_value"}),
    ("bytes", r"(?<![\w'\"])([bB][rR]?|[rR][bB])[\"']|\bbytes\b", {"bytes_value"}),
]


def reason_to_leave_out(file, test):
    """Why a test says nothing about rules, or `None`."""
    if file.endswith("_ext"):
        return "extensions of the language"
    if file in FILES_LEFT_OUT:
        return FILES_LEFT_OUT[file]
    variables = [first(binding, "key").decode() for binding in every(test, "bindings")]
    if first(test, "container") or any("." in name for name in variables):
        return "containers and qualified names"
    expression = first(test, "expr").decode()
    fields = set(fields_within(values_of(test)))
    for reason, pattern, names in LEFT_OUT:
        if re.search(pattern, expression) or names & fields:
            return reason
    if not {"value", "eval_error"} & fields:
        return "no value, types only"
    return None


def converted(message):
    """A value as an object of one member, its kind."""
    (field, value), = with_times(message)
    if field == "list_value":
        return {"list": [converted(element) for element in every(value, "values")]}
    if field == "map_value":
        entries = every(value, "entries")
        return {"map": [[converted(first(entry, side)) for side in ("key", "value")]
                        for entry in entries]}
    if field in ("string_value", "type_value"):
        return {KINDS[field]: value.decode()}
    if field == "bool_value":
        return {"bool": value == "true"}
    return {KINDS[field]: None if field == "null_value" else value}


def source(message):
    """A value as an expression that gives it."""
    (field, value), = with_times(message)
    if field == "list_value":
        return f"[{', '.join(source(element) for element in every(value, 'values'))}]"
    if field == "map_value":
        entries = [f"{source(first(entry, 'key'))}: {source(first(entry, 'value'))}"
                   for entry in every(value, "entries")]
        return f"{{{', '.join(entries)}}}"
    if field == "duration":
        return f"duration('{int(first(value, 'seconds'))}.{int(first(value, 'nanos')):09}s')"
    if field == "string_value":
        return json.dumps(value.decode())
    return "null" if field == "null_value" else value


def row(name, test):
    """A row of the table."""
    bindings = {first(binding, "key").decode(): source(first(first(binding, "value"), "value"))
                for binding in every(test, "bindings")}
    # A literal keeps its value, even if a variable has its name.
    bindings = {name: value for name, value in bindings.items() if name not in LITERALS}
    result = first(test, "value")
    return {"name": name, "expr": first(test, "expr").decode(),
            **({"bindings": bindings} if bindings else {}),
            **({"value": converted(result)} if result else {"error": True})}


def main(folder, commit):
    left_out, rows = collections.Counter(), []
    for path in sorted(pathlib.Path(folder).glob("*.textproto")):
        for section in every(Reader(path.read_text()).message(""), "section"):
            for test in every(section, "test"):
                reason = reason_to_leave_out(path.stem, test)
                if reason:
                    left_out[reason] += 1
                    continue
                names = first(section, "name"), first(test, "name")
                rows.append(row("/".join([path.stem, *(name.decode() for name in names)]), test))
    head = {"source": f"https://github.com/google/cel-spec, tests/simple/testdata, commit {commit}",
            "licence": "Apache-2.0", "converted_by": "convert.py", "total": len(rows) + sum(left_out.values()),
            "left_out": dict(left_out.most_common())}
    written = [json.dumps(line, ensure_ascii=False) for line in rows]
    print(json.dumps(head, indent=1)[:-2] + ',\n "tests": [\n' + ",\n".join(written) + "\n]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
