"""The exceptions of the package. Each is also the built-in exception that fits, so that either can be caught."""


class Error(Exception):
    """Any failure of Tributary."""


class InputError(Error, ValueError):
    """Bad input: a file, an option, an array. The message says what is wrong and what to do."""


class MissingFileError(InputError, FileNotFoundError):
    """A file or folder that is not there, or a folder without pictures."""


class OutOfMemoryError(Error, MemoryError):
    """The memory of the machine or of the GPU does not suffice."""


class VersionError(Error, ImportError):
    """The installed PyTorch is not the one that the module was built with."""


for _public in (Error, InputError, MissingFileError, OutOfMemoryError, VersionError):
    _public.__module__ = "tributary"
