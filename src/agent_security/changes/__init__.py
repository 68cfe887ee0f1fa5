"""A command's change set: read, judge, apply, undo (DESIGN §3.2, §6.3).

read_upper, stage_file     what a call would change, read and nothing done
judge_change_set           what of it a person must say yes to, and what is refused
ChangeStore                the only way into the workspace, and the way back
git_config, git_merge      which changes of a repository's configuration are inert; masking it
"""

from agent_security.changes.effects import EffectLimits, Finding, judge_change_set
from agent_security.changes.git_config import inert_change
from agent_security.changes.git_merge import mask_config, merge_config
from agent_security.changes.held import NEVER_APPLIED, HeldChange
from agent_security.changes.known import GitMemory
from agent_security.changes.results import Applied, Past, Undone
from agent_security.changes.staging import stage_file
from agent_security.changes.store import ChangeStore
from agent_security.changes.upper import read_upper

__all__ = [
    "NEVER_APPLIED",
    "Applied",
    "ChangeStore",
    "EffectLimits",
    "Finding",
    "GitMemory",
    "HeldChange",
    "Past",
    "Undone",
    "inert_change",
    "judge_change_set",
    "mask_config",
    "merge_config",
    "read_upper",
    "stage_file",
]
