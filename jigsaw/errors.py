"""The one exception that means "the input was wrong", shown to people without a traceback."""


class JigsawError(Exception):
    """Something a person can mend: the message says what was wrong, where, and what to do."""
