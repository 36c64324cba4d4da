"""What a check that fails says."""


class Wrong(Exception):
    """Something that was not as it is promised."""

    def __init__(self, expected, seen):
        super().__init__(f"expected: {expected}\n    seen: {seen}")
