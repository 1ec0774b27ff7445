#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""strace_compare.py LINES STRACE_PREFIX: compares the lines of `sonda report --lines` with the files that
`strace -ff -o STRACE_PREFIX` has written of the same run: for each thread every call, with its name, its result and
its strings; of many calls all arguments. Prints how many are equal, and each one that is not."""
import glob
import re
import sys

CALL = re.compile(r"^(\w+)\((.*)\)\s+= (.*)$")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|\{sa_family=[^}]*\}')
# Calls whose arguments are the same text in both. Of execve the environment is another one.
WHOLE = set(
    "access chdir chmod close creat dup dup2 dup3 epoll_create1 faccessat2 fchdir fchmod fchmodat flock fsync ftruncate"
    " kill lchown link linkat listen lseek mkdir mkdirat mprotect munmap open openat rename renameat renameat2 rmdir"
    " shutdown socket symlink symlinkat tgkill truncate umask unlink unlinkat vfork fork getpid getppid setsid setpgid".split())
NAMED = set("execve readlink readlinkat newfstatat stat lstat statfs statx connect bind getcwd inotify_add_watch "
            "utimensat chown fchownat sendto".split())


def plain(text):
    """Without the names of descriptors, which have other sources."""
    return re.sub(r"(\d|AT_FDCWD)<(?:[^<>]|<[^<>]*>)*>", r"\1", text)


def outside(text):
    """Moves what -y adds out of strings' way: strings stay as they are."""
    parts, at = [], 0
    for m in STRING.finditer(text):
        parts += [plain(text[at : m.start()]), m.group()]
        at = m.end()
    return "".join(parts + [plain(text[at:])])


def number(text):
    if re.fullmatch(r"0[0-7]+", text):
        return int(text, 8)
    return int(text, 0)


def result(text):
    """A number, with the name of the error; strace adds what some results mean."""
    m = re.match(r"(-?(?:0x[0-9a-f]+|\d+)|\?)(?: (E\w+))?", text)
    if not m:
        return text
    return (m.group(1) if m.group(1) == "?" else number(m.group(1)), m.group(2))


def parse(line):
    m = CALL.match(line)
    if not m:
        return None
    name, args, ret = m.group(1), outside(m.group(2)), result(m.group(3))
    if name in WHOLE:
        return (name, ret, args)
    if name in NAMED:
        return (name, ret, tuple(STRING.findall(args)) if name != "sendto" else None)
    return (name, ret, None)


def sonda_calls(path):
    calls = {}
    for line in open(path, encoding="utf-8"):
        tid, _, call = line.rstrip("\n").split(None, 2)
        calls.setdefault(int(tid), []).append(parse(re.sub(r" <[0-9.]+>$", "", call)))
    return calls


def strace_calls(prefix):
    calls = {}
    for path in glob.glob(glob.escape(prefix) + ".*"):
        lines = [l.rstrip("\n") for l in open(path, encoding="utf-8", errors="surrogateescape")]
        calls[int(path.rsplit(".", 1)[1])] = [parse(l) for l in lines if CALL.match(l)]
    return calls


def main():
    ours, theirs = sonda_calls(sys.argv[1]), strace_calls(sys.argv[2])
    first = min((tid for tid in theirs), key=lambda t: [t not in ours, t])
    equal = different = 0
    for tid, calls in sorted(theirs.items()):
        mine = ours.get(tid, [])
        if calls and len(mine) > len(calls):  # before strace has attached to its own child
            mine = mine[len(mine) - len(calls) :] if tid == first else mine
        for i in range(max(len(calls), len(mine))):
            a = mine[i] if i < len(mine) else None
            b = calls[i] if i < len(calls) else None
            # A thread that dies in its last call: strace does not see the result, the kernel's tracepoint does. If it
            # dies where strace stops it, which is before the tracepoint, there is no call.
            dies = i == len(calls) - 1 and b[1] == ("?", None) and (a is None or a[0] == b[0])
            if a == b or dies:
                equal += 1
                continue
            different += 1
            print(f"{tid} call {i}: sonda {a}\n{'':12}strace {b}")
            if a is None or b is None or a[0] != b[0]:
                break
    print(f"{equal} equal, {different} different")
    sys.exit(different != 0)


main()
