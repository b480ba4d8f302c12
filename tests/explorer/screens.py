"""Screens after the first jobs, and the values of records that none of them may show."""

from bayesdp.explorer.choices import Choices
from bayesdp.explorer.explored_file import ExploredFile
from bayesdp.explorer.page_text import PageText, page_text, wanted_of
from bayesdp.explorer.priced_assumptions import PricedAssumptions
from bayesdp.explorer.view import Findings, done, next_job, together


def settled(
    explored: ExploredFile, choices: Choices, priced_assumptions: PricedAssumptions | None = None, most: int = 2
) -> PageText:
    """Return the screen after the first jobs: the chart of the quick theorems, and what is asked by all of them."""
    wanted = wanted_of(explored, choices, priced_assumptions)
    findings = Findings.about(wanted)
    for _ in range(most):
        job = next_job(findings, wanted)
        if job is not None:
            findings = together(findings, done(job))
    return page_text(explored, choices, priced_assumptions, findings)


SECRETS = ("SENTINELattic", "SENTINELbob", "9876543")


def secrets_in(shown: object) -> list[str]:
    return [secret for secret in SECRETS if secret in repr(shown) or f"{9876543:,}" in repr(shown)]
