"""Known readers and writers: which of a program's words are paths. One table, read by `path arguments`.

Operands are written as a pattern over their places: `r` read, `w` written, `-` no path; the letter
before `*` goes on to the end, letters after it count from the end. `cp` is `r*w`: all read, the last
written. Options that take a value say the same: `-o:w`, `-m:-`. Programs that are not here are
judged by words that look like paths leaving the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent_security.shell.getopt import names, read
from agent_security.shell.words import Word
from agent_security.tool_policy.places import looks_like_place
from agent_security.tool_policy.program_places import SPECIAL, Place


@dataclass(frozen=True, slots=True)
class Program:
    """One row: `here` says that without operands it works on the directory it runs in."""

    operands: str
    options: dict[str, str]
    here: bool = False


_TABLE = """
cat tac nl rev od hexdump hd strings base64 base32 md5sum sha1sum sha224sum sha256sum sha384sum
    sha512sum b2sum cksum sum fold fmt expand unexpand paste comm join column pr look zcat bzcat xzcat
    zstdcat bat batcat more less most pg file cmp diff sdiff diff3 colordiff wdiff vimdiff = r* | -d:-
    -w:- -f:r -m:r -s:- -n:- -N:- -j:- -t:- -c:- -l:- -U:- -I:- -x:- -o:w -i:r -L:- -E:- -H:- -A:-
    --files0-from:r --mime:- --label:- --exclude:- --from-file:r --to-file:r --output:w
head tail = r* | -n:- -c:- -s:- --lines:- --bytes:- --pid:-
wc = r* | --files0-from:r
uniq = rw | -f:- -s:- -w:- -n:-
xxd = rw | -c:- -g:- -l:- -o:- -s:- -n:- -R:-
sort = r* | -k:- -t:- -o:w -T:w -S:- --key:- --output:w --files0-from:r --temporary-directory:w
    --parallel:-
cut = r* | -d:- -f:- -c:- -b:- --output-delimiter:-
tr seq sleep expr date true false echo printf yes : pwd basename dirname which type = -* | -f:r -r:r
    -d:-
test [ = -* |
grep egrep fgrep zgrep rgrep pcregrep ag ack ugrep = -r* | -e:! -f:!r --regexp:! --file:!r -m:- -A:-
    -B:- -C:- --include:- --exclude:- --exclude-from:r --exclude-dir:- --color:- --max-count:- --label:-
    -d:- -D:- --context:-
rg = -r* | -e:! -f:!r --regexp:! --file:!r -g:- --glob:- --iglob:- -t:- -T:- --type:- -A:- -B:- -C:-
    -m:- -j:- -r:- -E:- --max-depth:- -d:- --sort:- --sortr:- --ignore-file:r --context:- --replace:-
    --colors:- --color:-
ls dir vdir = n* | -I:- -w:- -T:- --ignore:- --hide:- --color:- --sort:- --time-style:-
tree = n* | -I:- -P:- -L:- -o:w --filelimit:-
stat du df readlink realpath namei lsattr getfacl = n* | -c:- -f:- --format:- --printf:- -d:- -t:- -B:-
    --exclude:- --max-depth:- --relative-to:n -X:r --threshold:-
find gfind = F |
fd fdfind = -n* | -e:- -x:- -X:- -t:- -d:- -E:- --exclude:- --extension:- --type:- --max-depth:-
    --base-directory:n
cp = r*w | -t:w -S:- --target-directory:w --suffix:-
mv = w*w | -t:w -S:- --target-directory:w --suffix:-
rsync = r*w | -e:- -f:- --exclude:- --include:- --exclude-from:r --include-from:r --files-from:r
    --log-file:w --backup-dir:w -T:w --rsh:- --partial-dir:w --link-dest:r --compare-dest:r
install = r*w | -m:- -o:- -g:- -t:w --mode:- --owner:- --group:- --target-directory:w -S:-
ln = L |
link = rw |
rm unlink rmdir shred srm trash trash-put = w* | -n:- -s:- --size:-
touch = w* | -d:- -t:- -r:r --date:- --reference:r
mkdir mkfifo mknod = w* | -m:- --mode:-
mktemp = w* | -p:w --tmpdir:w
truncate fallocate = w* | -s:- -r:r -l:- -o:- --size:- --reference:r --length:- --offset:-
tee sponge = w* |
chmod chgrp chown setfacl chattr = -w* | --reference:r -m:- -x:-
split csplit = rw | -l:- -b:- -n:- -a:- -C:- --lines:- --bytes:- --number:- --filter:- -f:w
patch = wr | -p:- -i:r -d:w -o:w -r:w --input:r --output:w --directory:w --strip:-
gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 lzma brotli compress pigz = w* | -S:- -o:w -T:-
    --suffix:- --threads:-
zip = wr* | -x:- -i:- -r:! -b:w -O:w -P:-
unzip = r-* | -d:w -x:- -P:- -O:-
7z 7za 7zr = -wr* |
tar gtar bsdtar = T |
cpio = -* | -D:w -F:r -I:r -O:w --directory:w --file:r
ar ranlib strip objcopy = -wr* | -o:w
sed gsed ssed = S |
awk gawk mawk nawk original-awk = A |
perl ruby = P |
jq yq = -r* | -f:r --from-file:r --arg:2 --argjson:2 --slurpfile:-r --rawfile:-r --indent:- -L:r
    --args:-
xmllint xsltproc pandoc = r* | -o:w --output:w --schema:r --xpath:- -f:- -t:- -V:- --from:- --to:-
openssl = -* | -in:r -out:w -inkey:r -key:r -keyout:w -CAfile:r -cert:r -config:r
ssh-keygen = -* | -f:w -N:- -C:- -t:- -b:- -I:- -s:r
gpg gpg2 = r* | -o:w --output:w --homedir:r -r:- -u:- --recipient:-
vim vi nvim nano emacs ex view ed code subl pico micro = w* | -c:- --cmd:- -u:r -S:r -s:r -W:w -w:w
source . = r- |
dos2unix unix2dos = w* |
iconv = r* | -f:- -t:- -o:w
xargs = -* | -a:r --arg-file:r -I:- -n:- -P:- -d:- -L:- -s:- -E:-
tsc gcc g++ cc clang clang++ ld as = r* | -o:w -I:r -L:r -include:r --outFile:w --outDir:w -D:- -U:-
    -l:- -x:- -std:- -MF:w -T:r
ctags = r* | -f:w -o:w -L:r --languages:-
git = G |
docker podman = -* |
cd pushd popd = -* |
kill pkill killall wait jobs fg bg = -* |
export declare typeset local readonly unset set read shift trap alias unalias hash history return exit
    break continue let getopts ulimit umask times = -* |
script = w* | -c:- --command:-
logger wall write mesg = -* | -f:r
dd = D |
env printenv nice nohup timeout stdbuf setsid command builtin exec time sudo doas su eval busybox = -* |
lsof fuser ps top free uptime uname id whoami hostname groups who w last arch nproc locale tty stty = -*
    |
man info help apropos = -* |
make gmake ninja = -* | -C:r -f:r -j:- -I:r --directory:r --file:r --makefile:r
cmake = -* | -S:r -B:w -C:r -P:r --build:w --install:w --prefix:w -G:- -D:-
scp sftp = -* | -i:r -F:r
"""

_NAMES_ONLY = names("ls dir vdir tree stat du df readlink realpath namei lsattr getfacl find gfind fd fdfind")
_HERE = names("ls dir vdir tree du find gfind fd fdfind rg ag")


def _rows() -> Iterable[tuple[str, Program]]:
    for line in _TABLE.strip().replace("\n    ", " ").splitlines():
        programs, _, spec = line.partition(" = ")
        operands, _, options = spec.partition("|")
        roles = dict(pair.rsplit(":", 1) for pair in options.split())
        for name in programs.split():
            yield name, Program(operands.strip(), roles, name in _HERE)


PROGRAMS: dict[str, Program] = dict(_rows())


@lru_cache(maxsize=4096)
def places(name: str, args: tuple[Word, ...]) -> tuple[Place, ...] | None:
    """The paths among a known program's words; None for a program that is not in the table."""
    program = PROGRAMS.get(name)
    if program is None:
        return None
    special = SPECIAL.get(program.operands)
    found = tuple(special(args) if special else _by_table(program, args))
    if name in _NAMES_ONLY:
        found = tuple(Place(place.word, place.write, False) for place in found)
    if program.here and not any(not place.write for place in found):
        found += (Place(Word("."), False, False),)
    return found


def _by_table(program: Program, args: Sequence[Word]) -> Iterable[Place]:
    got = read(args, frozenset(program.options))
    pattern = program.operands
    for name, value in got.options:
        role = program.options.get(name, "")
        if role.startswith("!"):
            pattern = pattern.removeprefix("-")
        if value is not None and role.strip("!-") in ("r", "w", "n"):
            yield Place(value, role.endswith("w"))
        elif value is not None and role in ("-", "") and len(value.value) > 1 and looks_like_place(value):
            # whether this option takes a value differs between programs: read is the careful guess
            yield Place(value, False)
    yield from _operands(pattern, got.operands)


def _operands(pattern: str, operands: Sequence[Word]) -> Iterable[Place]:
    head, star, tail = pattern.partition("*")
    fixed, repeated = (head[:-1], head[-1:]) if star else (head, "-")
    if len(operands) < len(fixed) + len(tail):
        tail = ""
    for index, word in enumerate(operands):
        from_end = len(operands) - index
        role = fixed[index] if index < len(fixed) else repeated
        if tail and from_end <= len(tail) and len(operands) > 1:
            role = tail[-from_end]
        if role in "rwn" and word.value != "-":
            yield Place(word, role == "w")
