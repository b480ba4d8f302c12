"""`python -m bayesdp` is the command line."""

from bayesdp.cli import main

main()
