"""Calls of OpenDP, with its exceptions converted to NoiseError and its random generator protected.

OpenDP draws from its own copy of OpenSSL. Two environment variables can point that copy to a configuration file, which
may select another generator.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from bayesdp._support.validation import brief
from bayesdp.errors import NoiseError

__all__ = ["by_opendp", "require_untouched_generator"]

Result = TypeVar("Result")

_REDIRECTING = ("OPENSSL_CONF", "OPENSSL_CONF_INCLUDE")
"""OPENSSL_MODULES and OPENSSL_ENGINES are not needed: the OpenSSL in OpenDP 0.16 loads neither modules nor engines."""


def require_untouched_generator() -> None:
    """Raise NoiseError if the environment can redirect OpenDP's random generator; the error names the variable.

    The holder of the data can allow a setting by its value: BAYESDP_ALLOWED_OPENSSL_CONF must then equal OPENSSL_CONF.
    """
    for name in _REDIRECTING:
        value = os.environ.get(name)
        if value and os.environ.get(f"BAYESDP_ALLOWED_{name}") != value:
            raise NoiseError(
                f"cannot draw noise while {name} is set to {brief(value)}: an OpenSSL configuration can replace the "
                f"random generator. Unset {name}, or allow this value by setting BAYESDP_ALLOWED_{name} to it"
            )


def by_opendp(call: Callable[[], Result]) -> Result:
    """Return the result of a call of OpenDP.

    Raises NoiseError if the call fails. The message names only the kind of failure: OpenDP's text may show a value.

    >>> by_opendp(lambda: 3)
    3
    """
    from opendp.mod import OpenDPException, UnknownTypeException

    try:
        return call()
    except OpenDPException as error:
        kind = str(error.variant)
    except UnknownTypeException as error:
        kind = type(error).__name__
    # Raised outside the handler, so that OpenDP's error is not its context.
    raise NoiseError(f"OpenDP failed ({kind}): no noise was drawn and no answer given. Charges that were made remain")
