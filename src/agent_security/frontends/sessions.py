"""`agent-security sessions`: the sessions kept on this machine, newest first."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import click


@click.command("sessions")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("-C", "--working-dir", "working_dir", help="Only the sessions of this project.")
def command(as_json: bool, working_dir: str | None) -> int:
    """List the sessions kept on this machine, newest first: running, ended or crashed."""
    from agent_security.wiring.records import SessionRecord, read_records
    from agent_security.wiring.workspace import workspace_at

    wanted = workspace_at(working_dir) if working_dir else ""

    def row(record: SessionRecord) -> str:
        if as_json:
            return json.dumps(asdict(record) | {"status": record.word})
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.started_s))
        changed = f"{record.files_changed} changed" if record.files_changed else "-"
        return f"{record.session_id:<18}{record.word:<9}{when}  {changed:<12}{record.working_dir}"

    from agent_security.text import for_terminal

    records = [record for record in read_records() if wanted in ("", record.working_dir)]
    for record in records:
        click.echo(row(record) if as_json else for_terminal(row(record)))
    if not records and not as_json:
        click.echo("no sessions yet", err=True)
    return 0
