# SPDX-License-Identifier: Apache-2.0
#
# usage: open_test.py SONDA TRACE
#
# sonda open with Chromium as its client: a page of another origin fetches the trace as the Perfetto UI does. The origin is a
# name that the browser resolves to this machine. Speaks TAP.
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading

from browser import Browser, program

SONDA, TRACE = sys.argv[1:3]
NAME = os.path.basename(TRACE)
PAGE = b'<!doctype html><title>a page</title>'
N = BAD = 0


def verdict(name, good, why=''):
    global N, BAD
    N += 1
    BAD |= not good
    print(f'{"ok" if good else "not ok"} {N} - {name}', flush=True)
    if not good:
        print('\n'.join(f'#   {line}' for line in str(why).splitlines()[:30]), flush=True)


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.send_header('Content-Length', str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


class Open:
    """A sonda open that waits for its browser."""

    def __init__(self, ui):
        self.process = subprocess.Popen([SONDA, 'open', '-n', '--port', '0', '--ui', ui, TRACE], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if 'url=http://127.0.0.1:' in line:
                self.url = line.strip().split('url=', 1)[1]
            if line.startswith('Waiting'):
                break
        self.port = int(self.url.split(':')[2].split('/')[0])

    def end(self, send=None):
        if send:
            self.process.send_signal(send)
        out, err = self.process.communicate()
        return self.process.returncode, out, err


# As the UI: the bytes of the trace, by their number and a sum.
FETCH = '''(async (url, options) => {
  try {
    const response = await fetch(url, options);
    const bytes = new Uint8Array(await response.arrayBuffer());
    return {status: response.status, type: response.type, n: bytes.length, sum: bytes.reduce((s, b) => (s * 31 + b) % 65521, 0)};
  } catch (error) {
    return {error: error.name};
  }
})'''


def fetch(b, url, options=None):
    return b.run(f'{FETCH}({json.dumps(url)}, {json.dumps(options or {})})')


def expected():
    total = 0
    data = open(TRACE, 'rb').read()
    for byte in data:
        total = (total * 31 + byte) % 65521
    return {'status': 200, 'type': 'cors', 'n': len(data), 'sum': total}


def main():
    if not program():
        print('there is no Chromium; make check-page installs it', file=sys.stderr)
        sys.exit(77)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    ui, evil = f'http://ui.example:{port}', f'http://evil.example:{port}'
    names = 'MAP ui.example 127.0.0.1, MAP evil.example 127.0.0.1, MAP rebound.example 127.0.0.1'
    # The pages count as those of the network, and the trace as this machine's: the browser asks before it fetches.
    flags = [f'--host-resolver-rules={names}', f'--ip-address-space-overrides=127.0.0.1:{port}=public',
             f'--unsafely-treat-insecure-origin-as-secure={ui},{evil}']
    try:
        b = Browser(flags=flags)
    except (EOFError, TimeoutError, OSError) as error:
        print(f'Chromium does not start here: {error}', file=sys.stderr)
        sys.exit(77)
    try:
        b.allow_local_network(ui, evil)
        fetches(b, ui, evil)
    finally:
        b.close()
        server.shutdown()
    sys.exit(BAD)


def fetches(b, ui, evil):
    s = Open(ui)
    b.visit(f'{evil}/')
    got = fetch(b, s.url)
    verdict('a page of another origin does not get the trace', got == {'error': 'TypeError'}, got)
    got = fetch(b, s.url, {'mode': 'no-cors'})
    verdict('nor without CORS', got.get('n', 0) == 0, got)
    got = b.run(f'''new Promise((done) => {{ const s = document.createElement("script"); s.src = {json.dumps(s.url)};
        s.onload = () => done("loaded"); s.onerror = () => done("refused"); document.body.append(s); }})''')
    verdict('nor as a script', got == 'refused', got)
    b.visit(f'http://rebound.example:{s.port}/{NAME}', settle=False)
    text = b.run('document.body ? document.body.innerText : ""')
    verdict('a name that was rebound to this machine is refused', 'Forbidden' in text or '403' in text, text)
    verdict('none of that ended it', s.process.poll() is None)
    b.visit(f'{ui}/')
    got = fetch(b, s.url.replace(NAME, 'other'))
    verdict('another path has no trace', got.get('n') is None or got.get('status') == 404, got)
    got = fetch(b, s.url, {'method': 'HEAD'})
    verdict('HEAD fetches nothing', got.get('status') == 200 and got['n'] == 0, got)
    got = fetch(b, s.url, {'headers': {'Range': 'bytes=0-9'}})
    verdict('a part is not served', got.get('n') != 10, got)
    if got.get('n'): # the whole file was: that is what it waits for
        s.end()
        s = Open(ui)
        b.visit(f'{ui}/')
    got = fetch(b, s.url, {'headers': {'X-Other': '1'}})
    verdict('a header that needs a preflight is not allowed', got == {'error': 'TypeError'}, got)
    got = fetch(b, s.url)
    verdict('the page of the UI gets the trace', got == expected(), f'{got} {expected()}')
    code, out, err = s.end()
    verdict('and sonda open ends', code == 0 and 'has fetched the trace' in out, f'{code} {out} {err}')
    interrupted(b, ui)


def interrupted(b, ui):
    s = Open(ui)
    b.visit(f'{ui}/')
    with socket.create_connection(('127.0.0.1', s.port)) as slow:
        slow.sendall(b'GET /')
        got = fetch(b, s.url)
        verdict('a client that sends nothing more delays no other client', got == expected(), got)
    code, out, _ = s.end()
    verdict('and it ends', code == 0 and 'has fetched the trace' in out, out)
    s = Open(ui)
    code, out, _ = s.end(signal.SIGINT)
    verdict('Ctrl-C ends it', code == 0 and 'has fetched' not in out, out)


main()
