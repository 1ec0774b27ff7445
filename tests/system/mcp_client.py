# SPDX-License-Identifier: Apache-2.0
"""usage: mcp_client.py SONDA TRACES OUTSIDE     verdicts about sonda mcp, which serves the directory TRACES

QUESTIONS are 28 questions about planted recordings. A tool's answer must have the text that answers the question.
"""
import json
import os
import re
import subprocess
import sys
import time

TOKENS_MAX = 4000
n = 0


def verdict(name, good, *details):
    global n
    n += 1
    print(f"{'ok' if good else 'not ok'} {n} - {name}")
    if not good:
        for line in str(details)[:2000].split("\\n")[:30]:
            print("#   " + line)
    return bool(good)


def tokens(text):
    """The documented estimate, and never less than a third of the bytes."""
    sixths = sum(3 if c.isdigit() else 2 if c == " " or (c.isalpha() and c.isascii()) else 6 * len(c.encode()) for c in text)
    return max((sixths + 5) // 6, len(text.encode()) // 3)


class Server:
    def __init__(self, *args):
        self.child = subprocess.Popen([sys.argv[1], "mcp", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last, self.largest = 0, 0

    def send(self, data):
        self.child.stdin.write(data if isinstance(data, bytes) else data.encode())
        self.child.stdin.flush()

    def receive(self):
        return json.loads(self.child.stdout.readline())

    def raw(self, line):
        """Sends a line that gets an answer."""
        self.send(line + (b"\n" if isinstance(line, bytes) else "\n"))
        return self.receive()

    def request(self, method, params=None):
        self.last += 1
        answer = self.raw(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}}))
        assert answer["id"] == self.last, answer
        return answer

    def alive(self):
        return self.request("ping").get("result") == {}

    def call(self, tool, arguments):
        """Returns whether the call failed, and its text."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer:
            return True, answer["error"]["message"]
        text = answer["result"]["content"][0]["text"]
        self.largest = max(self.largest, tokens(text))
        return answer["result"]["isError"], text

    def end(self):
        self.child.stdin.close()
        return self.child.wait(20)


def planted(name):
    return "planted/" + name + ".pf"


QUESTIONS = [
    ("what is wrong: slow disk", "findings", {"trace": planted("slow_disk")}, r'findings\[0\].name: slow_disk'),
    ("how slow is the disk", "findings", {"trace": planted("slow_disk")}, r'"8:0","write",12,.*22000000'),
    ("what was not recorded", "findings", {"trace": planted("slow_disk")}, r'"tcp_loss","TCP loss","event tcp/tcp_retransmit_skb"'),
    ("what is wrong: quota", "findings", {"trace": planted("cpu_quota")}, r"findings\[0\].name: cpu_quota"),
    ("what is wrong: a lock", "findings", {"trace": planted("lock_convoy")}, r"findings\[0\].name: lock_convoy"),
    ("what is wrong: fsync", "findings", {"trace": planted("fsync_storm")}, r"findings\[0\].name: fsync_storm"),
    ("what is wrong: network", "findings", {"trace": planted("tcp_loss")}, r"findings\[0\].name: tcp_loss"),
    ("what is wrong: priorities", "findings", {"trace": planted("priority_inversion")}, r"findings\[0\].name: priority_inversion"),
    ("what is wrong: forks", "findings", {"trace": planted("runaway_forks")}, r"findings\[0\].name: runaway_forks"),
    ("what is wrong: wakeups", "findings", {"trace": planted("thundering_herd")}, r"findings\[0\].name: thundering_herd"),
    ("what is wrong: faults", "findings", {"trace": planted("page_faults")}, r"findings\[0\].name: page_faults"),
    ("who waited longest for a CPU", "report", {"trace": "app.pf", "name": "latency"},
     r'table waits_by_thread.*\ncolumns .*\n\["hog",30,'),
    ("how long, behind whom", "report", {"trace": "app.pf", "name": "latency"}, r'\[50000000,5030000000,0,"hog",30,.*"app 10",34000000'),
    ("why did app not run", "report", {"trace": "app.pf", "name": "why", "who": "app"}, r'\["hog",30,"/usr/bin/hog",10000000,'),
    ("who wakes app", "report", {"trace": "app.pf", "name": "wakeups"}, r'\["server 20","app 10",1,'),
    ("the slowest system call in a window", "report",
     {"trace": "app.pf", "name": "syscalls", "from": "20ms", "to": "40ms"}, r'table slowest_calls(.*\n)+.*"read".*22000000|22000000.*"read"'),
    ("whom did the kernel kill for memory", "report", {"trace": "app.pf", "name": "mem"}, r'table oom_kills(.*\n){2}.*"hog"'),
    ("free memory at the end", "report", {"trace": "app.pf", "name": "mem"}, r'"MemFree",1024000,.*614400'),
    ("what is slow on the disk", "report", {"trace": "app.pf", "name": "io", "by": "process"}, r'"/usr/bin/hog"'),
    ("a report without data says what to record", "report", {"trace": "app.pf", "name": "functions"}, r"empty: true(.*\n)*record: stacks"),
    ("how many events were lost", "info", {"trace": "ring_losses.pftrace"}, r"24,275"),
    ("every answer says what was lost", "report", {"trace": "ring_losses.pftrace"}, r"lost: .*24,275 events"),
    ("how many switches has each CPU", "sql",
     {"trace": "app.pf", "statement": "SELECT cpu, count(*) AS n FROM sched GROUP BY cpu ORDER BY cpu"}, r'columns \["cpu","n"\]\n\[0,\d+\]\n\[1,\d+\]'),
    ("what became slower", "diff", {"before": [f"load/a{i}.pf" for i in range(5)], "after": [f"load/b{i}.pf" for i in range(5)]},
     r'\["cpu","program","app",.*"total","ns",.*,2\d\.'),
    ("which recordings are there", "list", {}, r'"planted/slow_disk.pf",\d+,"20'),
    ("what records the network", "list", {"kind": "presets", "pattern": "net"}, r'"preset","net"'),
    ("what can this machine record", "doctor", {"checks": ["kernel"]}, r'"check","verdict"|"check":"kernel"'),
    ("what is in the preset sched", "describe", {"word": "sched"}, r"sched/sched_switch"),
]


def ask(s):
    right = 0
    for name, tool, arguments, expected in QUESTIONS:
        failed, text = s.call(tool, arguments)
        right += verdict("question: " + name, not failed and re.search(expected, text), arguments, text)
    verdict(f"{right} of {len(QUESTIONS)} questions are answered; no answer has more than {TOKENS_MAX} tokens",
            right >= 20 and s.largest <= TOKENS_MAX, s.largest)


def protocol(s):
    for version, answer in (("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
                            ("1999-01-01", "2025-06-18"), (7, "2025-06-18")):
        result = s.request("initialize", {"protocolVersion": version, "capabilities": {}})["result"]
        verdict(f"initialize with version {version}", result["protocolVersion"] == answer and "tools" in result["capabilities"], result)
    s.send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","method":"tools/call","params":{"name":7}}\n\n')
    verdict("notifications get no answer", s.alive())
    tools = s.request("tools/list")["result"]["tools"]
    verdict("tools/list: without record, at most 4,000 tokens",
            [t["name"] for t in tools] == ["list", "describe", "doctor", "info", "report", "findings", "sql", "diff", "more"]
            and all(t["inputSchema"]["type"] == "object" and t["description"] for t in tools)
            and tokens(json.dumps(tools)) <= TOKENS_MAX, tokens(json.dumps(tools)))
    batch = s.raw('[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"x"},3,{"jsonrpc":"2.0","id":9,"method":"x"}]')
    verdict("a batch", [(b["id"], b.get("error", {}).get("code")) for b in batch] == [("a", None), (None, -32600), (9, -32601)], batch)
    verdict("record is refused without --allow-record",
            s.call("record", {"words": ["sched"], "name": "x.pf"}) == (True, "recording is not allowed; start sonda mcp with --allow-record"))


def hostile_lines(s):
    for name, line, code in (
            ("no JSON", "{", -32700), ("text after the value", '{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700),
            ("a comment", '{"jsonrpc":"2.0",/* */"id":1,"method":"ping"}', -32700),
            ("bytes that are not UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
            ("a NUL", b'{"jsonrpc":"2.0","id":1,"method":"ping"}\0', -32700),
            ("deep nesting", "[" * 100000, -32700), ("an empty batch", "[]", -32600), ("a batch of 33", json.dumps([1] * 33), -32600),
            ("a number", "7", -32600), ("another version", '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
            ("an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
            ("params that are a list", '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
            ("a method that is a number", '{"jsonrpc":"2.0","id":1,"method":7}', -32600),
            ("an unknown method", '{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
            ("no tool", '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
            ("an unknown tool", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shell"}}', -32602),
            ("a line of 3 MiB", '{"jsonrpc":"2.0","id":1,"method":"' + "x" * (3 << 20) + '"}', -32600)):
        answer = s.raw(line)
        verdict("hostile line: " + name, answer.get("error", {}).get("code") == code and s.alive(), answer)


def refused(s, name, tool, arguments, reason):
    failed, text = s.call(tool, arguments)
    verdict("refused: " + name, failed and re.search(reason, text) and s.alive(), text)


def hostile_arguments(s, traces, outside):
    secret = os.path.join(outside, "secret.pf")
    for name, trace, reason in (
            ("a name with ..", "../outside/secret.pf", "is outside the given directories"), ("more of it", "planted/../../outside/secret.pf", "is outside the given directories"),
            ("an absolute name outside", secret, "the directories contain no trace"), ("/etc/passwd", "/etc/passwd", "the directories contain no trace"),
            ("a name that only begins as the directory", traces + "x/app.pf", "the directories contain no trace"),
            ("a link", "link.pf", "symbolic link"), ("a link to a directory", "dir_link/secret.pf", "symbolic link"),
            ("a pipe", "pipe.pf", "not a trace"), ("a text", "text.pf", "not a trace"), ("a directory", "planted", "not a trace|cannot open"),
            ("an option", "--help", "the directories contain no trace"), ("the standard input", "-", "the directories contain no trace"),
            ("a descriptor", "/proc/self/fd/0", "the directories contain no trace"), ("no text", 7, "must be a string"), ("an empty text", "", "is empty"),
            ("a NUL", "app.pf\0x", "NUL"), ("a long text", "x" * 70000, "too long"), ("null", None, "must be a string|: the argument '")):
        refused(s, "the trace is " + name, "report", {"trace": trace}, reason)
    for name, tool, arguments, reason in (
            ("an unknown argument", "report", {"trace": "app.pf", "file": "/etc/passwd"}, "has no argument 'file'"),
            ("arguments that are a list", "report", ["app.pf"], "must be an object"),
            ("no trace", "sql", {"statement": "SELECT 1"}, ": the argument 'trace'"),
            ("an option as the report", "report", {"trace": "app.pf", "name": "--help"}, "no report"),
            ("a file as the report", "report", {"trace": "app.pf", "name": "/etc/passwd"}, "no report|one file"),
            ("a key with an option", "report", {"trace": "app.pf", "name": "cpu", "by": "x --file=/etc"}, "does not support --by"),
            ("top of 0", "report", {"trace": "app.pf", "top": 0}, "from 1 to"), ("top as a text", "report", {"trace": "app.pf", "top": "5"}, "whole number"),
            ("ATTACH", "sql", {"trace": "app.pf", "statement": f"ATTACH '{outside}/new.db' AS x"}, "not authorized"),
            ("ATTACH as the second statement", "sql", {"trace": "app.pf", "statement": f"SELECT 1; ATTACH '{outside}/new.db' AS x"}, "not authorized"),
            ("VACUUM INTO", "sql", {"trace": "app.pf", "statement": f"VACUUM INTO '{outside}/new.db'"}, "authoriz"),
            ("PRAGMA", "sql", {"trace": "app.pf", "statement": "PRAGMA temp_store_directory = '/tmp'"}, "not authorized"),
            ("load_extension", "sql", {"trace": "app.pf", "statement": "SELECT load_extension('x')"}, "not authorized|no such function"),
            ("readfile", "sql", {"trace": "app.pf", "statement": "SELECT readfile('/etc/passwd')"}, "no such function"),
            ("a statement that is an option", "sql", {"trace": "app.pf", "statement": "--help"}, "."),
            ("a mistake in SQL", "sql", {"trace": "app.pf", "statement": "SELECT nosuch FROM sched"}, "no such column: nosuch"),
            ("33 traces", "diff", {"before": ["app.pf"] * 33, "after": ["app.pf"]}, "too many traces; the limit is 32"),
            ("an unknown check", "doctor", {"checks": ["--help"]}, "unknown check"),
            ("a handle that is text", "more", {"handle": "x"}, "not a handle"), ("a handle of no answer", "more", {"handle": "99999.0"}, "has expired"),
            ("a handle beyond the end", "more", {"handle": "1.99999999"}, "has expired"), ("a negative handle", "more", {"handle": "-1.0"}, "not a handle")):
        if name == "a statement that is an option":  # a comment of SQL: no rows
            verdict("harmless: " + name, not s.call(tool, arguments)[0] and s.alive())
        else:
            refused(s, name, tool, arguments, reason)


def large_answers(s, traces):
    endless = "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) "
    begin = time.monotonic()
    short = Server("--time-limit", "1s", traces)
    refused(short, "a statement without an end", "sql", {"trace": "app.pf", "statement": endless + "SELECT count(*) FROM t"}, "stopped|signal")
    short.end()
    failed, text = s.call("sql", {"trace": "app.pf", "statement": endless + "SELECT i, 'row ' || i AS name FROM t"})
    verdict("rows without an end are cut", not failed and "call more with handle" in text and time.monotonic() - begin < 60, text[-300:])
    seen = len(re.findall(r'"row \d+"', text))
    for _ in range(3):
        handle = re.search(r'handle "([\d.]+)"', text).group(1)
        failed, text = s.call("more", {"handle": handle})
        rows = [int(i) for i in re.findall(r'"row (\d+)"', text)]
        verdict("the next page goes on, and names the columns",
                not failed and text.startswith('columns ["i","name"]\n') and rows == list(range(seen + 1, seen + len(rows) + 1)), text[:200])
        seen += len(rows)
    failed, text = s.call("sql", {"trace": "app.pf", "statement": "SELECT printf('%.*c', 100000, 'x') AS x, 1 AS y"})
    verdict("a long value is cut, and says so", not failed and "truncated; the line has 1000" in text and tokens(text) <= TOKENS_MAX, text[-200:])
    failed, text = s.call("sql", {"trace": "app.pf", "statement": "SELECT char(27) || '[31m' || char(10) || char(8238) AS x"})
    verdict("control characters are escaped", not failed and "\033" not in text and "\u202e" not in text, text)
    verdict("no page has more than 4,000 tokens", s.largest <= TOKENS_MAX, s.largest)


def main():
    traces, outside = sys.argv[2:4]
    s = Server(traces)
    protocol(s)
    ask(s)
    hostile_lines(s)
    hostile_arguments(s, traces, outside)
    large_answers(s, traces)
    failed, text = s.call("report", {"trace": os.path.join(os.path.realpath(traces), "app.pf"), "name": "cpu"})
    verdict("an absolute name inside", not failed and "table cpus" in text, text)
    verdict("no descriptor is seen in an answer", "/proc/self/fd" not in s.call("findings", {"trace": planted("slow_disk")})[1])
    verdict("it ends with its input", s.end() == 0)
    s = Server("--allow-record", traces)
    verdict("with --allow-record there is the tool record", "record" in [t["name"] for t in s.request("tools/list")["result"]["tools"]])
    for name, arguments in (("a path", {"words": ["sched"], "name": "../x.pf"}), ("a hidden file", {"words": ["sched"], "name": ".x"}),
                            ("an option as a word", {"words": ["-c", "x"], "name": "x.pf"}), ("a path as a word", {"words": ["/etc/x"], "name": "x.pf"}),
                            ("a command", {"words": ["--", "id"], "name": "x.pf"}), ("too long", {"words": ["sched"], "name": "x.pf", "seconds": 3600}),
                            ("a file that exists", {"words": ["sched"], "name": "app.pf"}), ("no words", {"words": [], "name": "x.pf"})):
        refused(s, "record: " + name, "record", arguments, "may contain only letters|not the name of|from 1 to|exists|must contain")
    s.end()


main()
