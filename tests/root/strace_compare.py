#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""strace_compare.py LINES STRACE_PREFIX: compares the lines of `sonda report --lines` with the files that
`strace -ff -o STRACE_PREFIX` has written of the same run: for each thread every call, with its name, its result and
its arguments, except those for which sonda has only an address. Prints how many are equal, and each one that is not."""
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
# Of these strace leaves out arguments that do not count, moves them, or has other names for numbers.
OTHER_FORM = set("clone clone3 fadvise64 futex getsockopt prctl prlimit64 rt_sigaction rt_sigreturn setitimer setsockopt".split())
NUMBER = re.compile(r"-?(?:0x[0-9a-f]+|\d+)")


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


def split_arguments(text):
    """At the commas that are in no string and no bracket."""
    parts, depth, quoted, begin, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if quoted and c == "\\":
            i += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted and c in "([{":
            depth += 1
        elif not quoted and c in ")]}":
            depth -= 1
        elif not quoted and c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    return parts + [text[begin:].strip()]


def is_same_argument(ours, theirs):
    """Of memory that sonda does not read it has the address. Numbers may be hexadecimal."""
    if ours == theirs or re.fullmatch("0x[0-9a-f]+", ours):
        return True
    return bool(NUMBER.fullmatch(ours) and NUMBER.fullmatch(theirs)) and number(ours) == number(theirs)


def is_same(ours, theirs):
    if not ours or not theirs or ours[:2] != theirs[:2]:
        return False
    a, b = ours[2], theirs[2]
    if not isinstance(a, list):
        return a == b
    return len(a) == len(b) and all(is_same_argument(x, y) for x, y in zip(a, b))


def parse(line):
    m = CALL.match(line)
    if not m:
        return None
    name, args, ret = m.group(1), outside(m.group(2)), result(m.group(3))
    if name in WHOLE:
        return (name, ret, args)
    if name in NAMED:
        return (name, ret, tuple(STRING.findall(args)) if name != "sendto" else None)
    return (name, ret, None if name in OTHER_FORM else split_arguments(args))


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
    first = next((tid for tid in ours if tid in theirs), None)  # the lines are in the order of time
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
            if is_same(a, b) or dies:
                equal += 1
                continue
            different += 1
            print(f"{tid} call {i}: sonda {a}\n{'':12}strace {b}")
            if a is None or b is None or a[0] != b[0]:
                break
    print(f"{equal} equal, {different} different")
    sys.exit(different != 0)


main()
