"""Every name the specification mentions stands where it says, with the parameters and defaults it gives."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

# module -> "name(parameters)" for what is called, "name" for the rest
NAMES: dict[str, str] = {
    "prompt_safety": """wrap_user_input(text) wrap_tool_result(tool_name,result) TRUST_BOUNDARIES
        mark_external_content(tool_name,tool_args,result,working_dir) is_path_within(path,root)
        intent_check(user_goal,scratchpad,tool_name,tool_args)""",
    "tool_policy": """filter_tool_schemas(schemas,allowed) DESTRUCTIVE_TOOLS ALWAYS_CONFIRM_TOOLS
        ALWAYS_CONFIRM_ARG_PATTERNS check_tool_policy(tool_name,args,working_dir)
        check_path_scope(tool_name,args,working_dir) check_shell_policy(command) check_web_policy(url)
        always_confirm_required(tool_name,args) _is_delete_via_write SHELL_DENYLIST_PATTERNS
        SHELL_DENYLIST_BINARIES""",
    "tools.validators": "ToolValidator(schemas) bounded_schemas(raw_schemas)",
    "resource_limits": """IterationCaps(max_turns,max_tool_calls)
        ContextBudget(max_tokens,trim_threshold,keep_recent)
        cap_tool_result(result,limit) CostTracker(max_cost_usd,price_in,price_out)""",
    "secret_management": """scan_environment_for_secrets() audit_system_prompt(prompt) ALLOWED_CONTAINER_ENV
        build_container_env(session_id,session_token) CREDENTIAL_MOUNT_PATHS check_credential_mounts()
        SessionCredentials()""",
    "session_control": "AbortController() kill_in_flight(container) FileRollback(working_dir)",
    "tools.audit": """AuditLog _truncate_for_log(result) MAX_RESULT_BYTES""",
    "tools.sandbox": """EXEC_TIMEOUT_S DockerSandbox(exec_timeout=,container_env=) DockerSandboxError
        run_tool(sandbox)""",
    "agent": """agent_loop handle_tool_calls(tool_calls) check_permission(tool_name,args)
        build_tool_registry(sandbox,allowed_tools)""",
}
MEMBERS: dict[tuple[str, str], str] = {
    ("tools.validators", "ToolValidator"): "validate(name,args)",
    ("resource_limits", "IterationCaps"): "reset_turn()",
    ("resource_limits", "ContextBudget"): "check_and_trim(messages)",
    ("resource_limits", "CostTracker"): "record_usage(usage) check()",
    ("secret_management", "SessionCredentials"): "session_id session_token revoke() __repr__()",
    (
        "session_control",
        "AbortController",
    ): """install_signal_handlers() remove_signal_handlers() triggered reason
        trigger(reason)""",
    ("session_control", "FileRollback"): "snapshot(path) offer_rollback() cleanup()",
    ("tools.sandbox", "DockerSandbox"): "run_tool",
    ("tools.audit", "AuditLog"): """log_permission_decision(tool,args,mode,allowed,reason)
        log_llm_request(model,message_count,token_estimate,has_tools) log_tool_result
        log_llm_response(model,finish_reason,usage,message_hash,tool_call_count) log_session_abort(reason)""",
}
INSTANCES = {
    ("resource_limits", "IterationCaps"): "turns tool_calls",
    ("resource_limits", "CostTracker"): "total_tokens_in total_tokens_out total_cost_usd",
}


def module(name: str) -> Any:
    return importlib.import_module(f"agent_security.{name}")


def stands(owner: Any, written: str) -> None:
    """The name is there; its first parameters are the document's, and whatever we added has a default."""
    name, _, inside = written.rstrip(")").partition("(")
    found = getattr(owner, name)
    if "(" not in written:
        return
    named = [word for word in inside.split(",") if word]
    parameters = [p for p in inspect.signature(found).parameters.values() if p.name != "self"]
    if any(word.endswith("=") for word in named):
        assert {word.rstrip("=") for word in named} <= {p.name for p in parameters}
        return
    assert [p.name for p in parameters[: len(named)]] == named


@pytest.mark.parametrize(("where", "written"), [(m, n) for m, text in NAMES.items() for n in text.split()])
def test_a_name_stands_where_the_document_puts_it(where: str, written: str) -> None:
    stands(module(where), written)


@pytest.mark.parametrize(
    ("where", "cls", "written"), [(*key, n) for key, text in MEMBERS.items() for n in text.split()]
)
def test_a_method_stands_on_its_class(where: str, cls: str, written: str) -> None:
    stands(getattr(module(where), cls), written)


@pytest.mark.parametrize(
    ("where", "cls", "name"), [(*key, n) for key, text in INSTANCES.items() for n in text.split()]
)
def test_a_counter_starts_at_nothing(where: str, cls: str, name: str) -> None:
    assert getattr(getattr(module(where), cls)(), name) == 0


DEFAULTS = {
    ("resource_limits", "IterationCaps"): {"max_turns": 40, "max_tool_calls": 200},
    ("resource_limits", "ContextBudget"): {"max_tokens": 24_000, "trim_threshold": 0.8, "keep_recent": 8},
    ("resource_limits", "cap_tool_result"): {"limit": 32 * 1024},
    ("resource_limits", "CostTracker"): {"max_cost_usd": 5.0},
    ("tools.sandbox", "DockerSandbox"): {"exec_timeout": 120},
}


@pytest.mark.parametrize(("where", "name"), DEFAULTS)
def test_a_default_is_the_documents(where: str, name: str) -> None:
    parameters = inspect.signature(getattr(module(where), name)).parameters
    expected = DEFAULTS[where, name]
    assert {key: parameters[key].default for key in expected} == expected


CONSTANTS: dict[tuple[str, str], str] = {
    ("tool_policy", "DESTRUCTIVE_TOOLS"): "run_bash write_file edit_file",
    ("tool_policy", "SHELL_DENYLIST_BINARIES"): """docker sudo su nc netcat ncat curl wget chmod chown mkfs dd
        shutdown reboot halt poweroff systemctl service crontab at""",
    ("secret_management", "ALLOWED_CONTAINER_ENV"): """PATH HOME USER LANG LC_ALL TERM AGENT_SESSION_ID
        AGENT_SESSION_TOKEN""",
    (
        "secret_management",
        "CREDENTIAL_MOUNT_PATHS",
    ): """~/.aws ~/.ssh ~/.config/gcloud ~/.docker ~/.netrc ~/.kube
        ~/.gnupg""",
}


@pytest.mark.parametrize(("where", "name"), CONSTANTS)
def test_a_list_holds_every_entry_of_the_document(where: str, name: str) -> None:
    assert set(CONSTANTS[where, name].split()) <= set(getattr(module(where), name))


def test_the_environment_list_holds_nothing_more() -> None:
    assert set(CONSTANTS["secret_management", "ALLOWED_CONTAINER_ENV"].split()) == set(
        module("secret_management").ALLOWED_CONTAINER_ENV
    )


def test_the_plain_numbers() -> None:
    assert module("tools.audit").MAX_RESULT_BYTES == 8 * 1024
    assert module("tools.sandbox").EXEC_TIMEOUT_S == 120
    assert not module("tool_policy").ALWAYS_CONFIRM_TOOLS


def test_every_event_of_the_document_has_a_method_of_its_name() -> None:
    audit = module("tools.audit")
    by_themselves = {"session_start", "session_end"}  # opening and closing write these
    assert all(hasattr(audit.AuditLog, f"log_{event}") for event in set(audit.EVENTS) - by_themselves)
