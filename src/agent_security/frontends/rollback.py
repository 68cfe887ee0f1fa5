"""`agent-security rollback SESSION`: put back everything a session changed, after a crash too."""

from __future__ import annotations

from contextlib import closing

import click

from agent_security.frontends.exits import Exit


@click.command("rollback", context_settings={"ignore_unknown_options": True})
@click.argument("session_id", metavar="SESSION")
@click.option("-y", "--yes", is_flag=True, help="Do not ask first.")
@click.option("--keep", is_flag=True, help="Keep what the session changed, and drop what undo needs.")
def command(session_id: str, yes: bool, keep: bool) -> int:
    """Put back what a session changed. SESSION is its id, or a beginning that fits only one.

    A file that you changed since is left alone and named.
    """
    from agent_security.changes import ChangeStore
    from agent_security.errors import UsageError
    from agent_security.frontends.putting_back import undone_lines
    from agent_security.text import for_terminal
    from agent_security.wiring.records import record_of
    from agent_security.wiring.workspace import workspace_at

    record = record_of(session_id)
    if record.running:
        raise UsageError(f"session {record.session_id} is still running: end it first")
    with closing(ChangeStore(workspace_at(record.working_dir), record.changes_folder)) as store:
        store.recover()
        if keep:
            store.keep()
            store.cleanup()
            click.echo("kept: nothing of this session can be undone any more", err=True)
            return Exit.DONE
        where = f"session {record.session_id} changed in {for_terminal(record.working_dir)}"
        if not yes and not click.confirm(f"put back what {where}?"):
            click.echo("nothing was touched", err=True)
            return Exit.DONE
        undone = store.rollback()
    for line in undone_lines(undone):
        click.echo(for_terminal(line))
    return Exit.INTERNAL if undone.conflicts else Exit.DONE
