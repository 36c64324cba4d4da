"""What schemathesis gets wrong about the document, and nothing else."""

import schemathesis

CONDITIONS = ("If-Match", "If-None-Match")


@schemathesis.hook
def filter_case(context, case):
    """Schemathesis 4.32.5 counts the number 0 as a valid value of every text parameter, whatever its pattern says; an entity
    tag has quotes."""
    return all((case.headers or {}).get(name) != "0" for name in CONDITIONS)
