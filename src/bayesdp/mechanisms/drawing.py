"""The one place that calls OpenDP: its exceptions become ours, and nothing redirects its random generator.

OpenDP draws from its own copy of OpenSSL. Two environment variables can point that copy to a configuration file, and
such a file may select another generator.
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
"""OPENSSL_MODULES and OPENSSL_ENGINES are not among them: the OpenSSL in OpenDP 0.16 loads no modules and engines."""


def require_untouched_generator() -> None:
    """Refuse to draw noise while the environment can redirect OpenDP's random generator.

    The holder of the data can allow a setting by its value: BAYESDP_ALLOWED_OPENSSL_CONF must then equal OPENSSL_CONF.

    Raises NoiseError, which names the variable and its value.
    """
    for name in _REDIRECTING:
        value = os.environ.get(name)
        if value and os.environ.get(f"BAYESDP_ALLOWED_{name}") != value:
            raise NoiseError(
                f"no noise is drawn while {name} is set to {brief(value)}: an OpenSSL configuration can replace the "
                f"random generator. Unset {name}, or allow this value: set BAYESDP_ALLOWED_{name} to the same"
            )


def by_opendp(call: Callable[[], Result]) -> Result:
    """Return what a call of OpenDP returns.

    Raises NoiseError if OpenDP fails. It names the kind of failure only: OpenDP's own text may show a value.

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
    # Raised out here, the error does not carry OpenDP's along as its context.
    raise NoiseError(f"OpenDP failed ({kind}): no noise was drawn, and no answer given. What was charged stays charged")
