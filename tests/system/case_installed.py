# SPDX-License-Identifier: BSD-2-Clause
"""An installation by cmake --install in another place works there, in a folder with spaces in its name too: programs
link with it, shells complete it, and cmake/uninstall.cmake removes it."""
import fcntl
import os
import re
import shlex
import shutil
import subprocess

from cases import case
from hosts import Failure, Skip

WANTED = (r"bin/verbena", r"lib/(.*/)?libverbena\.so\.0", r"lib/(.*/)?libverbena\.so",
          r"lib/(.*/)?libverbena\.d/libibverbs\.so\.1", r"lib/(.*/)?libverbena\.d/libverbena-trace\.so",
          r"lib/(.*/)?libverbena-sim\.so\.0", r"lib/(.*/)?pkgconfig/verbena-sim\.pc", r"include/verbena/sim\.h",
          r"lib/python3/dist-packages/verbena/__init__\.py", r"lib/python3/dist-packages/verbena/py\.typed",
          r"include/verbena/verbena\.h", r"share/man/man1/verbena\.1", r"share/man/man1/verbena-run\.1",
          r"share/verbena/scenarios/incast\.yaml", r"share/bash-completion/completions/verbena",
          r"share/zsh/vendor-completions/_verbena", r"share/fish/vendor_completions\.d/verbena\.fish",
          r"lib/(.*/)?pkgconfig/verbena\.pc")
PROGRAM = r"""
#include <stdio.h>
#include <verbena/verbena.h>
int main(void)
{
	struct verbena_device dev[2];
	struct verbena *v;
	char why[256];
	if (verbena_open(&v, why, sizeof why))
		return puts(why), 1;
	printf("%s %d %s\n", verbena_version(), verbena_devices(v, dev, 2) > 0, dev[0].name);
	verbena_close(v);
	return 0;
}
"""


def installed(context, name):
    """The files of an installation below the prefix @name, that prefix, and the manifest of the installation. The
    build has one manifest for all installations, and cases run side by side: each takes a copy of its own."""
    prefix = os.path.join(context.machine.folder, name)
    manifest = os.path.join(context.build, "install_manifest.txt")
    with open(os.path.join(context.build, "install.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["cmake", "--install", context.build, "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        mine = shutil.copy(manifest, prefix + ".manifest")
    return prefix, files(prefix), mine


def files(prefix):
    return {os.path.relpath(os.path.join(d, f), prefix) for d, _, names in os.walk(prefix) for f in names}


@case("installed.files")
def _(context):
    """Each file has its place; a program that uses the public interface builds and runs; all goes again."""
    prefix, found, manifest = installed(context, "installed")
    for want in WANTED:
        if not any(re.fullmatch(want, f) for f in found):
            raise Failure(f"no {want} among {sorted(found)}")
    a, verbena = context.machine.a, os.path.join(prefix, "bin", "verbena")
    out = a.run([verbena, "run", "--", "ibv_devices"])
    if "verbena0" not in out:
        raise Failure(out)
    # An upgrade takes away the file with the number of the release: programs name the interface's.
    if not re.search(r"^LD_PRELOAD=\S*/libverbena\.so\.\d+$", a.run([verbena, "run", "--print"]), re.M):
        raise Failure(a.run([verbena, "run", "--print"]))
    pc = os.path.join(prefix, next(f for f in found if f.endswith("/verbena.pc")))
    said = re.search("^prefix=(.*)$", open(pc).read(), re.M)[1].replace("${pcfiledir}", os.path.dirname(pc))
    if os.path.normpath(said) != os.path.normpath(prefix):
        raise Failure(f"{pc} says it is in {said}")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", pc], capture_output=True, text=True,
                           check=True).stdout
    with open(prefix + ".c", "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    program = os.path.join(prefix, "program")
    subprocess.run(["cc", prefix + ".c", "-o", program, *shlex.split(flags)], check=True, timeout=60)
    library = os.path.dirname(os.path.dirname(pc))
    out = a.run(["env", f"LD_LIBRARY_PATH={library}", program])
    if not re.fullmatch(r"\d+\.\d+\.\d+ 1 verbena\d+", out.strip()):
        raise Failure(out)
    os.remove(program)
    mine = os.path.join(prefix, "share", "verbena", "scenarios", "mine.yaml")
    open(mine, "w").close()
    subprocess.run(["cmake", f"-DMANIFEST={manifest}", "-P",
                    f"{context.source}/cmake/uninstall.cmake"], check=True, capture_output=True, timeout=60)
    if files(prefix) != {os.path.relpath(mine, prefix)}:
        raise Failure(f"left behind: {sorted(files(prefix))}")
    if os.path.exists(os.path.join(library, "libverbena.d")):
        raise Failure("libverbena.d is left behind")
    shutil.rmtree(prefix)
    os.remove(prefix + ".c")


@case("installed.path_with_spaces")
def _(context):
    """LD_PRELOAD has spaces between its entries, and programs reach the library all the same."""
    prefix, _, _ = installed(context, "a folder, and another")
    a, verbena = context.machine.a, os.path.join(prefix, "bin", "verbena")
    for argv in (["run", "--", "ibv_devices"], ["trace", "--", "ibv_devices"],
                 ["run", "--", "sh", "-c", "exec ibv_devices"]):
        if "verbena0" not in a.run([verbena, *argv]):
            raise Failure(f"{argv}: no verbena0")
    opens = ("import ctypes; lib = ctypes.CDLL('libibverbs.so.1'); "
             "lib.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p); "
             "lib.ibv_get_device_name.restype = ctypes.c_char_p; "
             "lib.ibv_get_device_name.argtypes = [ctypes.c_void_p]; "
             "print(lib.ibv_get_device_name(lib.ibv_get_device_list(None)[0]).decode())")
    if not a.run([verbena, "run", "--", "/usr/bin/python3", "-c", opens]).startswith("verbena"):
        raise Failure("a program that opens libibverbs.so.1 does not find the adapter")
    out = a.run([verbena, "doctor"])
    if not re.search(r"^ok +preload ", out, re.M):
        raise Failure(out)
    shutil.rmtree(prefix)
    # A colon ends an entry in both lists.
    prefix, _, _ = installed(context, "a:b")
    out = a.run([os.path.join(prefix, "bin", "verbena"), "run", "--", "ibv_devices"], status=125)
    if "colon" not in out:
        raise Failure(out)
    shutil.rmtree(prefix)


BASH = """
source /usr/share/bash-completion/bash_completion
source {source}/completions/verbena.bash
COMP_WORDS=(verbena {words}) COMP_CWORD={last} COMP_LINE={line} COMP_POINT={end}
_verbena verbena
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=({folder} \\$fpath); autoload -Uz compinit; compinit -D -u; LISTMAX=1000; COLUMNS=500
	bindkey '^I' list-choices; echo RE''ADY"
zpty -r shell out '*READY*'
zpty -w -n shell {line}$'\\t'
sleep 0.1
zpty -w -n shell $'\\C-e\\C-ueval echo DO\\'\\'NE\\n'
zpty -r shell out '*DONE*'
print -r -- $out
"""


def completed(context, shell, words):
    """The words that @shell offers for the last of @words."""
    line = " ".join(["verbena", *words])
    env = {**os.environ, "PATH": context.build + ":" + os.environ["PATH"], "TERM": "vt100"}
    if shell == "bash":
        script = BASH.format(source=context.source, words=" ".join(w or "''" for w in words),
                             last=len(words), line=shlex.quote(line), end=len(line))
        argv = ["bash", "--norc", "-c", script]
    elif shell == "fish":
        argv = ["fish", "--no-config", "-c",
                f"source {context.source}/completions/verbena.fish; complete -C {shlex.quote(line)}"]
    else:
        folder = os.path.join(context.machine.folder, "zsh")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(context.source, "completions", "verbena.zsh"), os.path.join(folder, "_verbena"))
        argv = ["zsh", "-f", "-c", ZSH.format(folder=folder, line=shlex.quote(line))]
    p = subprocess.run(argv, capture_output=True, text=True, timeout=60, env=env, stdin=subprocess.DEVNULL)
    return p.stdout, p.stderr


def completes(shell):
    def run(context):
        if not shutil.which(shell) or shell == "bash" and not os.path.exists("/usr/share/bash-completion"):
            raise Skip(f"{shell}'s completion is not installed")
        a = context.machine.a
        commands = re.findall(r"^  ([a-z]+)  ", a.run([context.verbena, "--help"]), re.M)
        out, err = completed(context, shell, [""])
        missing = {c for c in commands if not re.search(rf"(^|\s){c}\b", out)}
        if missing or len(commands) < 15:
            raise Failure(f"{missing} are not offered: {out}{err}")
        for command in commands:
            options = re.findall(r"^  (?:-., |    )(--[a-zA-Z0-9_-]+)", a.run([context.verbena, command, "--help"]), re.M)
            if command == "version":
                continue
            out, err = completed(context, shell, [command, "--"])
            missing = {o for o in options if not re.search(rf"(?<![\w-]){o}(?![\w-])", out)}
            if missing or not options:
                raise Failure(f"{command}: {missing} are not offered: {out}{err}")
        out, err = completed(context, shell, ["run", "--link", ""])
        if "shm" not in out or "udp" not in out:
            raise Failure(f"run --link: {out}{err}")
    return run


for name in ("bash", "zsh", "fish"):
    case(f"installed.complete.{name}", seconds=180)(completes(name))
