"""Does a model describe the data? Tests of what the theorems assume, from sufficient statistics to findings."""

from bayesdp.diagnostics.gaussian import diagnose_groups
from bayesdp.diagnostics.markov import diagnose_chain
from bayesdp.diagnostics.samples import ChainStatistics, GroupSample
from bayesdp.models.diagnosis import Diagnosis, Finding, Verdict

__all__ = ["ChainStatistics", "Diagnosis", "Finding", "GroupSample", "Verdict", "diagnose_chain", "diagnose_groups"]
