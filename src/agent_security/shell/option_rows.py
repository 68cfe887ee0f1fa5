"""The rows of the table of options that execute; `shell_options.py` says how each kind is read."""

from __future__ import annotations

from agent_security.shell.git import git
from agent_security.shell.options import (
    Find,
    Row,
    both,
    editor_commands,
    only,
    operand,
    option,
    programs,
    script,
    setting,
)

SED = {"at": "-e --expression", "valued": "efl", "files": "-f --file"}
AWK = {"at": "-e --source", "valued": "Fvfieo", "files": "-f --file"}


def _row(names: str, find: Find, match: str, not_match: str = "") -> Row:
    lines = [tuple(line for line in text.split(" ;; ") if line) for text in (match, not_match)]
    return Row(programs(names), find, *lines)


ROWS: tuple[Row, ...] = (
    _row(
        "tar gtar bsdtar star",
        both(
            option("--checkpoint-action", prefix="exec="),
            option(
                "--to-command --rsh-command --rmt-command"
                " --info-script --new-volume-script --use-compress-program -I -F",
                valued="fCTXbgHKLNV",
            ),
        ),
        "tar cf x --checkpoint=1 --checkpoint-action=exec=id . ;; tar xf x --to-com id ;; tar -I id -cf x .",
        "tar czf x.tgz . ;; tar xf x -C sub ;; tar --checkpoint-action=dot -cf x .",
    ),
    _row(
        "sort",
        option("--compress-program"),
        "sort --compress-prog id x ;; sort --compress-program=id x",
        "sort -k 2 x ;; sort --check x ;; sort -u x",
    ),
    _row(
        "man apropos whatis",
        option("-P --pager -H --html", valued="CLmMsSelrEtT"),
        "man -P id ls ;; man --html=id ls ;; man --pag=id ls",
        "man ls ;; man -k print",
    ),
    _row(
        "rg",
        option("--pre --hostname-bin", plain="-z --search-zip", valued="efgtTmABCMjdEr"),
        "rg --pre id x ;; rg -z x",
        "rg -n x ;; rg -tpy x ;; rg --pretty x ;; rg -ez x",
    ),
    _row(
        "rsync",
        option("-e --rsh --rsync-path", valued="BTfM"),
        "rsync -e id a b ;; rsync -ave id a b",
        "rsync -av a b ;; rsync --exclude x a b",
    ),
    _row("zip", option("-TT --unzip-command"), "zip -T -TT id x y", "zip -r x y ;; zip -T x"),
    _row("split", option("--filter"), "split --filter=id x", "split -l 5 x"),
    _row(
        "find gfind",
        operand(r"-ok(?:dir)?$", "-ok"),
        "find . -ok id \\;",
        "find . -exec id \\; ;; find . -name -o",
    ),
    _row("less more most", editor_commands(""), "less '+!id' x", "less +F x ;; less +/foo x ;; less x"),
    _row(
        "vim vi nvim view ex vimdiff gvim rvim",
        editor_commands("-c --cmd"),
        "vim -c '!id' ;; vim '+!id' x ;; ex -c 'r !id' x ;; nvim --cmd 'call system(1)'",
        "vim -c wq x ;; vim +10 x ;; ex -c '%s/a/b/ | x' f",
    ),
    _row(
        "sed gsed ssed",
        script("sed", **SED),
        "sed e ;; sed '1e id' x ;; sed -n 's/a/b/e' x ;; sed -e '1!e id' x",
        "sed 's/exec/e/' x ;; sed -n '/e/p' x ;; sed -i '1,2d' x ;; sed 's|a|e|g' x ;; sed y/abc/eee/ x",
    ),
    _row(
        "awk gawk mawk nawk original-awk",
        script("awk", **AWK),
        "awk 'BEGIN{system(\"id\")}' ;; awk '{print | \"id\"}' x ;; awk 'BEGIN{\"id\" | getline x}'",
        "awk '/system/' x ;; awk '{print \"system(1)\"}' x ;; awk -F'|' '{print $1}' x ;; awk '$1 || $2' x",
    ),
    _row(
        "gdb lldb cgdb",
        only(
            r"\s*(?:!|(?:shell|make|python|pipe|platform shell|source|script)\b)\s*(.*)",
            option("-ex -iex --ex --eval-command --init-eval-command -o -O --one-line"),
        ),
        "gdb -batch -ex '!id' ;; gdb -ex 'shell id'",
        "gdb prog ;; gdb --args prog ;; gdb -batch -ex bt prog",
    ),
    _row(
        "psql",
        both(
            operand(r"(?:-\w*c|--command=)?\s*\\!\s*(.*)", "\\!"),
            operand(r"(?:-o|--output=)\|(.*)", "-o"),
            operand(r"(?is).*\b(?:to|from)\s+program\b", "program"),
            operand(r"\|(.*)", "-o"),
        ),
        "psql -c '\\! id' ;; psql '-o|id' ;; psql -c \"copy t to program 'id'\"",
        "psql -c 'select 1'",
    ),
    _row(
        "mysql mariadb sqlite3",
        both(
            operand(r"\s*(?:\\!|system\b|\.(?:shell|system)\b)\s*(.*)", "shell escape"),
            operand(r"(?is).*\bload_extension\s*\(", "load_extension"),
            operand(r"\s*\.(?:import|output|once|excel)\s+['\"]?\|\s*([^'\"]*)", "pipe"),
        ),
        "sqlite3 x '.shell id' ;; sqlite3 x '.import \"|id\" t' ;; mysql -e 'system id' ;; mysql -e '\\! id'",
        "sqlite3 x 'select 1'",
    ),
    _row(
        "gcc g++ cc c++ clang clang++ cpp gfortran",
        both(option("-wrapper"), operand(r"-fplugin=(.*)", "-fplugin"), operand(r"-specs=(.*)", "-specs")),
        "gcc -wrapper id x.c ;; gcc -fplugin=./x.so x.c",
        "gcc -Wall -o x x.c ;; gcc -Wextra x.c",
    ),
    _row(
        "make gmake",
        both(operand(r"(?:SHELL|\.SHELLFLAGS|MAKESHELL)\s*[:+?]?=(.*)", "SHELL="), option("--eval")),
        "make SHELL=./x ;; make --eval=x",
        "make test ;; make -f x ;; make CC=gcc",
    ),
    _row(
        "npm pnpm yarn npx",
        both(
            option("--script-shell --shell --node-options --editor --viewer --init-module"),
            setting(
                "script-shell|shell|git|editor|viewer|init-module|onload-script|node-options|yarnPath|yarn-path"
            ),
            operand(
                r"(?:script-shell|shell|git|editor|viewer|init-module|onload-script|node-options)=(.+)",
                "config",
            ),
        ),
        "npm --script-shell=./x run a ;; npm config set script-shell=./x ;; npm config set shell ./x",
        "npm run test ;; npm install x",
    ),
    _row("tcpdump", option("-z", valued="iwrCGFUscBE"), "tcpdump -z id -w x", "tcpdump -i lo"),
    _row(
        "ssh scp sftp sshfs",
        both(
            option("-S", valued="bcDEeFIiJLlmOopPQRWw"),
            operand(r"(?i)(?:-o)?\s*(?:Proxy|Local|KnownHosts)Command[= ](.*)", "-o"),
        ),
        "scp -S id a b: ;; ssh -o ProxyCommand=id h",
        "scp a b:",
    ),
    _row(
        "apt apt-get dpkg",
        both(option("-o --option --pre-invoke --post-invoke"), operand(r"(?i).*-Invoke.*=(.*)", "-o")),
        "apt-get -o APT::Update::Pre-Invoke::=id update",
        "apt-get install x",
    ),
    _row("dc", both(operand(r"\s*!(.*)", "!"), operand(r"-e\s*!(.*)", "!")), "dc -e '!id'", "dc -e '1 1+p'"),
    _row(
        "rpm rpmbuild",
        both(option("--pipe"), operand(r".*%\((.*)\)", "--eval")),
        "rpm --eval '%(id)'",
        "rpm -qa",
    ),
    _row("m4", operand(r".*\be?syscmd\((.*)\)", "syscmd"), "m4 -Dx='syscmd(id)'", "m4 x.m4"),
    _row(
        "convert magick identify mogrify montage",
        operand(r"\|(.*)", "pipe"),
        "convert '|id' x.png",
        "convert a.png b.jpg",
    ),
    _row("mapfile readarray", option("-C", valued="dnOstuc"), "mapfile -C id x", "mapfile -t x"),
    _row("compgen complete", option("-C -F", valued="AGPSWXo"), "compgen -C id", "compgen -c"),
    _row("hash", option("-p"), "hash -p /tmp/x ls", "hash -r"),
    _row("enable", option("-f"), "enable -f ./x.so y", "enable -n test"),
    _row("openssl", option("-engine -provider"), "openssl req -engine ./x.so", "openssl version"),
    _row("nmap", option("--script"), "nmap --script x h", "nmap h"),
    _row(
        "pdflatex latex xelatex lualatex tex pdftex",
        option("", plain="--shell-escape -shell-escape --enable-write18"),
        "pdflatex -shell-escape x.tex",
        "pdflatex x.tex",
    ),
    _row("gs ghostscript", operand(r".*%pipe%(.*)", "%pipe%"), "gs -sOutputFile=%pipe%id x", "gs x.ps"),
    _row(
        "go",
        option("-exec -toolexec -vettool --exec --toolexec --vettool"),
        "go test -exec id ./... ;; go build -toolexec=id ;; go vet -vettool ./x ;; go test --exec=id",
        "go test ./... ;; go build -o x ./cmd",
    ),
    _row(
        "bazel bazelisk buck2 meson",
        option("--run_under --wrapper --test_launcher"),
        "bazel run --run_under=id //x ;; meson test --wrapper id",
        "bazel test //... ;; meson test",
    ),
    _row(
        "rustc cargo clippy-driver",
        operand(
            r"(?:-C|--codegen=|--config=)?\s*(?:\S*\.)?(?:linker|rustc|rustc-wrapper|runner)=(.*)",
            "-C linker",
        ),
        "rustc -C linker=id x.rs ;; rustc -Clinker=id x.rs ;; cargo --config build.rustc=id build",
        "rustc -C opt-level=3 x.rs ;; cargo build --release ;; cargo test linker",
    ),
    _row(
        "mvn mvnw",
        operand(r"-D(?:exec\.executable|maven\.ext\.class\.path)=(.*)", "-Dexec.executable"),
        "mvn exec:exec -Dexec.executable=id",
        "mvn -DskipTests package ;; mvn exec:java",
    ),
    _row("cpio", option("--rsh-command"), "cpio -o --rsh-command=id", "cpio -idm"),
    _row(
        "java",
        operand(r"-XX:On(?:Error|OutOfMemoryError)=(.*)", "-XX:OnError"),
        "java -XX:OnError=id Y ;; java '-XX:OnOutOfMemoryError=id' Y",
        "java -jar x.jar ;; java -Xmx1g Y",
    ),
    _row(
        "git",
        git,
        "git -c core.pager=id log ;; git ls-remote --upload-pa id x ;; git rebase -x id HEAD~1",
        "git log -c ;; git commit -m '-c core.pager=id' ;; git -c user.name=x commit",
    ),
)

BY_NAME: dict[str, tuple[Row, ...]] = {
    name: tuple(row for row in ROWS if name in row.programs) for row in ROWS for name in row.programs
}
