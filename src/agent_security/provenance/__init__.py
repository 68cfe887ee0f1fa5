"""Where every value came from, and what may leave (§1, D5).

A value that reaches a sink is trusted only if it stands exactly in a message of the person or in
a source declared trusted. Everything else, values found nowhere included, is not. So forgetting
old texts (memory is bounded) can only cost a better sentence, never safety.
"""

from agent_security.provenance.addresses import DataInUrl, hosts_in, urls_in
from agent_security.provenance.trace import Provenance

__all__ = ["DataInUrl", "Provenance", "hosts_in", "urls_in"]
