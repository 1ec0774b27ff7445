#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda open as a command: what it serves and to whom, what it says, which browser it starts, how it ends.
. "$(dirname "$0")/../lib.sh"
TRACE=$PWD/tests/data/traces/ring_losses.pftrace
SERVER=
leave() {
  [ -z "$SERVER" ] || kill "$SERVER" 2>/dev/null
  rm -rf "$TMP"
}
details() { cat "$TMP"/out "$TMP"/err "$TMP"/got 2>/dev/null | head -c 4000 | tr -cd '[:print:]\n'; }
unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION SUDO_UID

serve() { # ARGUMENT...: returns when it listens; PORT is its port
  mkfifo "$TMP/ready"
  (ulimit -n "${OPEN_FILES:-1024}" && exec "$SONDA" open --port 0 "$@") >"$TMP/ready" 2>"$TMP/err" &
  SERVER=$!
  : >"$TMP/out"
  exec 8<"$TMP/ready"
  while read -r line <&8; do
    echo "$line" >>"$TMP/out"
    [[ $line != Waiting* ]] || break
  done
  rm "$TMP/ready"
  PORT=$(sed -n 's|.*url=http://127.0.0.1:\([0-9]*\)/.*|\1|p' "$TMP/out")
}
finish() { # [SIGNAL]: CODE is its exit code
  [ $# = 0 ] || kill "-$1" "$SERVER"
  wait "$SERVER"
  CODE=$?
  SERVER=
  cat <&8 >>"$TMP/out"
  exec 8<&-
}

ask() { # METHOD PATH [HEADER VALUE]...: prints the status, the headers and, after an empty line, the body
  python3 - "$PORT" "$@" <<'END' >"$TMP/got" 2>&1
import http.client, sys
port, method, path, *headers = sys.argv[1:]
c = http.client.HTTPConnection("127.0.0.1", int(port))
headers = dict(zip(headers[::2], headers[1::2]))
c.putrequest(method, path, skip_host="Host" in headers)
for name, value in headers.items():
    c.putheader(name, value)
c.endheaders()
r = c.getresponse()
sys.stdout.write("%d\n%s\n" % (r.status, r.headers))
sys.stdout.flush()
sys.stdout.buffer.write(r.read())
END
}
answers() { # NAME STATUS METHOD PATH [HEADER VALUE]...
  local name=$1 status=$2
  shift 2
  ask "$@"
  [ "$(head -n 1 "$TMP/got")" = "$status" ]
  verdict "$name" $?
}
UI=https://ui.perfetto.dev

serve -n "$TRACE"
grep -q "$UI/#!/?url=http://127.0.0.1:$PORT/ring_losses.pftrace" "$TMP/out"
verdict "it says the address" $?
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  setpriv --reuid 65534 --clear-groups bash -c "
    exec 3<>/dev/tcp/127.0.0.1/$PORT
    printf 'GET /ring_losses.pftrace HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nConnection: close\r\n\r\n' >&3
    head -n 1 <&3" >"$TMP/got" 2>&1
  grep -q '^HTTP/1.1 403' "$TMP/got" && grep -q 'refused a request from user 65534' "$TMP/err"
  verdict "another user of the machine is refused" $?
fi
answers "a page that calls 127.0.0.1 by another name is refused" 403 GET /ring_losses.pftrace Host "evil.example:$PORT"
answers "the host without its port is refused" 403 GET /ring_losses.pftrace Host 127.0.0.1
answers "a page of another origin is refused" 403 GET /ring_losses.pftrace Origin https://evil.example
answers "the origin null is refused" 403 GET /ring_losses.pftrace Origin null
answers "an image of another site is refused" 403 GET /ring_losses.pftrace Sec-Fetch-Site cross-site
! grep -qi 'access-control' "$TMP/got"
verdict "a refusal allows nothing" $?
answers "other files are not served" 404 GET /etc/passwd
answers "no path leads out" 404 GET /../../../../../etc/passwd
answers "nor an encoded one" 404 GET /%2e%2e/%2e%2e/etc/passwd
answers "nor a directory" 404 GET /
answers "POST is refused" 501 POST /ring_losses.pftrace
answers "HEAD says the length" 200 HEAD /ring_losses.pftrace Origin $UI
grep -qix "content-length: $(stat -c %s "$TRACE")" "$TMP/got"
verdict "HEAD has the length of the file" $?
answers "OPTIONS is answered" 204 OPTIONS /ring_losses.pftrace Origin $UI Access-Control-Request-Private-Network true
grep -qix "access-control-allow-origin: $UI" "$TMP/got" && grep -qix "access-control-allow-private-network: true" "$TMP/got"
verdict "OPTIONS allows the UI to fetch from this machine" $?
"$SONDA" open -n --port "$PORT" "$TRACE" >"$TMP/got" 2>&1
[ $? = 1 ] && grep -q "port $PORT is in use .*ss -ltnp" "$TMP/got"
verdict "a port that is taken: a sentence with what to do" $?
kill -0 "$SERVER"
verdict "none of that ended it" $?
python3 -c "
import urllib.request
q = urllib.request.Request('http://127.0.0.1:$PORT/ring_losses.pftrace', headers={'Origin': '$UI'})
r = urllib.request.urlopen(q)
assert r.headers['Access-Control-Allow-Origin'] == '$UI'
open('$TMP/got', 'wb').write(r.read())"
finish
cmp "$TMP/got" "$TRACE" && [ $CODE = 0 ] && grep -q '^The browser has fetched the trace' "$TMP/out"
verdict "it serves the file, and ends when it was fetched" $?

serve -n --ui http://localhost:10000/ "$TRACE"
grep -q "http://localhost:10000/#!/?url=" "$TMP/out"
verdict "--ui is the address" $?
answers "with --ui the other UI is refused" 403 GET /ring_losses.pftrace Origin $UI
finish INT
[ $CODE = 0 ] && ! grep -q '^The browser has fetched' "$TMP/out"
verdict "Ctrl-C ends it" $?

cp "$TRACE" "$TMP/a b&c#d%41?.pftrace"
serve -n "$TMP/a b&c#d%41?.pftrace"
grep -q "/a_b_c_d_41_.pftrace$" "$TMP/out"
verdict "a name with letters of URLs" $?
answers "it is served by that name" 200 GET /a_b_c_d_41_.pftrace
finish
[ $CODE = 0 ]
verdict "it ended" $?

# Clients that send a part of a request hold all descriptors of sonda open, and let go of them.
OPEN_FILES=64 serve -n "$TRACE"
python3 - "$PORT" <<'END' >"$TMP/got" 2>&1
import http.client, socket, sys
port = int(sys.argv[1])
slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
for c in slow:
    c.sendall(b"GET /ring")
c = http.client.HTTPConnection("127.0.0.1", port)
c.request("GET", "/ring_losses.pftrace")
for s in slow:
    s.close()
sys.exit(c.getresponse().status != 200)
END
verdict "clients that hold all descriptors delay a fetch until they go" $?
finish
[ "$(wc -l <"$TMP/err")" -le 10 ] && grep -q 'cannot accept a connection: Too many open files' "$TMP/err"
verdict "it does not try to accept them all the time" $?
serve -n "$TRACE"
python3 - "$PORT" <<'END' >"$TMP/got" 2>&1
import socket, sys
c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
c.sendall(b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"a" * 1000) for i in range(15)))
for i in range(100000): # it ends the connection long before
    try:
        c.sendall(b"X: " + b"a" * 1000 + b"\r\n")
    except OSError:
        break
sys.exit(i > 90000)
END
verdict "headers without an end are cut off" $?
answers "a part of the file is not served as one" 200 GET /ring_losses.pftrace Range bytes=0-9
[ "$(sed '1,/^$/d' "$TMP/got" | wc -c)" -ge "$(stat -c %s "$TRACE")" ]
verdict "the answer to a range is the whole file" $?
finish

# Were the file read, its 3 GiB would be in memory: the client reads nothing of it before it looks.
cp "$TRACE" "$TMP/large"
truncate -s 3G "$TMP/large"
serve -n "$TMP/large"
python3 - "$PORT" "$SERVER" <<'END' >"$TMP/got" 2>&1
import http.client, re, sys
port, pid = sys.argv[1:]
c = http.client.HTTPConnection("127.0.0.1", int(port))
c.request("GET", "/large")
r = c.getresponse()
n = len(r.read(64 << 20))
kb = int(re.search(r"VmHWM:\s*(\d+)", open(f"/proc/{pid}/status").read()).group(1))
print(r.headers["Content-Length"], n, kb)
sys.exit(not (int(r.headers["Content-Length"]) == 3 << 30 and n == 64 << 20 and kb < 65536))
END
verdict "a large file is sent without being read into memory" $?
kill -0 "$SERVER"
verdict "a browser that goes away early did not fetch it" $?
finish TERM
[ $CODE = 0 ]
verdict "SIGTERM ends it" $?

# ---- the browser ----

mkdir "$TMP/bin"
chmod 755 "$TMP" "$TMP/bin"
cat >"$TMP/bin/xdg-open" <<END
#!/bin/sh
echo "\$1 \$(id -u) \$HOME" >"$TMP/visits/part" && mv "$TMP/visits/part" "$TMP/visits/url"
END
chmod 755 "$TMP/bin/xdg-open"
mkdir -m 1777 "$TMP/visits"
visited() { # waits for the browser's note
  local i
  for ((i = 0; i < 600; i++)); do
    [ ! -e "$TMP/visits/url" ] || { mv "$TMP/visits/url" "$TMP/got"; return 0; }
    kill -0 "$SERVER" || return 1
    sleep 0.1
  done
  return 1
}
export PATH=$TMP/bin:$PATH
if [ "$(id -u)" = 0 ]; then
  nobody=$(getent passwd 65534) home=$(getent passwd 65534 | cut -d: -f6)
  if [ -n "$nobody" ]; then
    DISPLAY=:99 SUDO_UID=65534 SUDO_GID=65534 serve "$TRACE"
    visited && grep -q "url=http://127.0.0.1:$PORT/ring_losses.pftrace 65534 $home\$" "$TMP/got"
    verdict "under sudo the browser belongs to the calling user" $?
    finish INT
  fi
  DISPLAY=:99 serve "$TRACE"
  grep -q "browsers do not run as root" "$TMP/out"
  verdict "no browser runs as root" $?
  finish INT
else
  DISPLAY=:99 serve "$TRACE"
  visited && grep -q "url=http://127.0.0.1:$PORT/ring_losses.pftrace $(id -u) " "$TMP/got"
  verdict "the browser is started" $?
  finish INT
fi
serve "$TRACE"
grep -q "no display is available" "$TMP/out" && grep -q "Open in a browser:" "$TMP/out"
verdict "without a display it says the address" $?
finish INT
DISPLAY=:99 SSH_CONNECTION="192.0.2.1 5000 192.0.2.2 22" serve "$TRACE"
grep -qx "ssh -N -L $PORT:127.0.0.1:$PORT 192.0.2.2" "$TMP/out" && [ ! -e "$TMP/visits/url" ]
verdict "over ssh it says what to type" $?
finish INT
SSH_CONNECTION="192.0.2.1 5000 192.0.2.2 2222" serve "$TRACE"
grep -qx "ssh -N -L $PORT:127.0.0.1:$PORT -p 2222 192.0.2.2" "$TMP/out"
verdict "with the port of its ssh" $?
finish INT

# ---- mistakes ----

fails() { # NAME CODE TEXT ARGUMENT...
  local name=$1 code=$2 text=$3
  shift 3
  "$SONDA" open "$@" >"$TMP/out" 2>"$TMP/err"
  [ $? = "$code" ] && grep -q -- "$text" "$TMP/err"
  verdict "$name" $?
}
: >"$TMP/empty"
mkfifo "$TMP/pipe"
echo '<html><body>no trace</body></html>' >"$TMP/page.html"
printf '\n\nno packet\n' >"$TMP/text" # the first bytes say: a packet of 10 bytes
head -c 4 "$TRACE" >"$TMP/part"
gzip -c "$TRACE" >"$TMP/trace.gz"
fails "no file" 2 'FILE is missing'
fails "two files" 2 'only one FILE can be given' "$TRACE" "$TRACE"
fails "no such file" 1 'No such file' "$TMP/none"
fails "a directory" 1 'not a regular file' "$TMP"
fails "a pipe" 1 'not a regular file' "$TMP/pipe"
fails "an empty file" 1 'is empty' "$TMP/empty"
for file in page.html text part trace.gz; do
  fails "a file that is no trace ($file)" 1 "/$file is \(text, not a\|not a\|compressed with\)" "$TMP/$file"
  [ "$(wc -l <"$TMP/err")" = 1 ] && [ ! -s "$TMP/out" ]
  verdict "in one sentence ($file)" $?
done
fails "a wrong port" 2 'is not a port' --port 70000 "$TRACE"
fails "a wrong address" 2 'is not a valid UI address' --ui ui.perfetto.dev "$TRACE"
fails "an address with a path" 2 'is not a valid UI address' --ui https://example.com/x "$TRACE"
fails "an unknown option" 2 'did you mean --no-browser' --no-browsr "$TRACE"
echo "1..$N"
exit $BAD
