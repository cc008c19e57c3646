"""The configuration: what was said on the command line, in the environment, in ``.env`` and in ``config.yaml``.

In: a home, flags, an environment. Out: one typed, frozen `Config`, or `ConfigErrors` that name every mistake by file,
line and column. The only module that reads the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gateway.config.loading import Config, assemble
from gateway.config.node import ConfigErrors, Origin, Source, split
from gateway.config.platforms import Account
from gateway.config.profiles import with_profiles
from gateway.config.settings import Settings
from gateway.config.writing import set_key, unset_key
from gateway.home import Home

__all__ = ["Account", "Config", "ConfigErrors", "Origin", "Settings", "Source", "change", "find_home", "load"]

NO_FLAGS: Mapping[str, str] = {}


def load(
    home: Path | None = None, *, flags: Mapping[str, str] = NO_FLAGS, environ: Mapping[str, str] = os.environ
) -> Config:
    """
    Read the configuration. `flags` are keys as one types them (``web.port``) with their text.

    Raise `ConfigErrors` with everything that is wrong. Nothing is written, and the home need not exist.
    """
    return with_profiles(assemble(find_home(home, environ=environ), flags=flags, environ=environ), environ)


def find_home(home: Path | None = None, *, environ: Mapping[str, str] = os.environ) -> Home:
    """Return the home that a configuration is read from."""
    return Home.find(home, environ)


def change(home: Home, key: str, text: str | None, *, environ: Mapping[str, str] = os.environ) -> Config:
    """
    Set a key of the file to what the text means for it, or take it out where there is no text.

    The file is replaced only if the result loads. Raise `KeyError` where there is no such key, or it is not set.
    """
    path = split(key)
    return unset_key(home, path, environ=environ) if text is None else set_key(home, path, text, environ=environ)
