"""`python -P -m agent_security`: the same program as `agent-security`."""

import sys

if not sys.flags.safe_path:
    # without -P the first entry is the working directory: a workspace's click.py would be ours (D16)
    del sys.path[0]

from agent_security.frontends.cli import main

sys.exit(main())
