"""The one exception that means "the input was wrong", shown without a traceback; a check of names."""

from collections.abc import Collection


class JigsawError(Exception):
    """Something a person can mend: the message says what was wrong, where, and what to do."""


def check_known(name: str, known: Collection[str], what: str, where: str = "") -> None:
    """Refuse a name that is none of those known."""
    if name not in known:
        raise JigsawError(f"{where}there is no {what} {name!r}; known: {', '.join(known)}")
