"""The one error that users see: what is wrong, where, what is allowed, and where to change it."""


class InputError(ValueError):
    """Bad input (a file, a config value), said so that the reader can mend it.

    The message names the file and line or the config key, the value, what is allowed, and where to change it.
    Entry points print it without a traceback and exit with a code other than 0.
    """
