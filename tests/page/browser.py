# SPDX-License-Identifier: Apache-2.0
#
# Chromium without a window, driven by the DevTools protocol over its debugging pipe: messages are JSON, each ends with a
# NUL byte.
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome')
ANSWER_SECONDS = 120  # a browser that does not answer at all


def program():
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    def __init__(self, width=1440, height=900, flags=()):
        self.directory = tempfile.mkdtemp()
        down_read, down_write = os.pipe()
        up_read, up_write = os.pipe()

        # The browser reads from 3 and writes to 4.
        low, high = fcntl.fcntl(down_read, fcntl.F_DUPFD, 20), fcntl.fcntl(up_write, fcntl.F_DUPFD, 20)
        self.process = subprocess.Popen(
            ['bash', '-c', f'exec "$@" 3<&{low} 4>&{high} {low}<&- {high}>&-', 'bash', program(), '--headless=new', '--no-sandbox',
             '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
             '--disable-extensions', '--disable-background-networking', '--disable-component-update', '--hide-scrollbars=false',
             *flags, '--force-device-scale-factor=1', '--remote-debugging-pipe', f'--user-data-dir={self.directory}', 'about:blank'],
            pass_fds=(low, high), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for fd in (down_read, up_write, low, high):
            os.close(fd)
        self.to, self.of, self.pending, self.events, self.number = down_write, up_read, b'', [], 0
        self.session = None
        target = next(t for t in self.call('Target.getTargets')['targetInfos'] if t['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')
        self.size(width, height)

    def close(self):
        try:
            os.close(self.to)
            os.close(self.of)
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def message(self):
        while b'\0' not in self.pending:
            if not select.select([self.of], [], [], ANSWER_SECONDS)[0]:
                raise TimeoutError('the browser does not answer')
            piece = os.read(self.of, 1 << 20)
            if not piece:
                raise EOFError('the browser has ended')
            self.pending += piece
        text, self.pending = self.pending.split(b'\0', 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        call = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            call['sessionId'] = self.session
        data = json.dumps(call).encode() + b'\0'
        while data:
            data = data[os.write(self.to, data):]
        while True:
            message = self.message()
            if message.get('id') == self.number:
                if 'error' in message:
                    raise RuntimeError(f'{method}: {message["error"]}')
                return message['result']
            self.events.append(message)

    # ---- the page ----

    def size(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': name}])

    def open(self, path, ready):
        self.events.clear()
        self.call('Page.navigate', url='file://' + os.path.abspath(path))
        self.wait(ready)

    # A page of the network. Pages that refuse have no element to wait for.
    def visit(self, url, settle=True):
        self.call('Page.navigate', url=url)
        if settle:
            self.wait(f'location.href === {json.dumps(url)} && document.readyState === "complete"')
        else:
            self.wait('document.readyState === "complete" && location.href !== "about:blank"')

    # What a person allows when the browser asks; older browsers do not ask.
    def allow_local_network(self, *origins):
        session, self.session = self.session, None
        for origin in origins:
            for name in ('local-network-access', 'local-network', 'loopback-network'):
                try:
                    self.call('Browser.setPermission', permission={'name': name}, setting='granted', origin=origin)
                except RuntimeError:
                    pass
        self.session = session

    def run(self, code):
        answer = self.call('Runtime.evaluate', expression=code, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(f'{code}: {answer["exceptionDetails"]}')
        return answer['result'].get('value')

    # A page that is about to go has no answer.
    def holds(self, code):
        try:
            return self.run(code)
        except RuntimeError as error:
            if 'context' not in str(error):
                raise
            return False

    # Until the expression is true. The limit is for a page that never gets there.
    def wait(self, code, seconds=ANSWER_SECONDS):
        end = time.monotonic() + seconds
        while not self.holds(code):
            if time.monotonic() > end:
                raise TimeoutError(f'never true: {code}')
            time.sleep(0.02)

    # What a person who looks at the console would see as wrong.
    def complaints(self):
        self.run('0')
        found = []
        for event in self.events:
            if event.get('method') == 'Runtime.exceptionThrown':
                found.append(event['params']['exceptionDetails'].get('exception', {}).get('description', 'exception'))
            elif event.get('method') == 'Log.entryAdded' and event['params']['entry']['level'] in ('error', 'warning'):
                found.append(event['params']['entry']['text'])
        return found

    def requests(self):
        return [e['params']['request']['url'] for e in self.events if e.get('method') == 'Network.requestWillBeSent']

    def picture(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))

    # ---- mouse and keys ----

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y, modifiers=0):
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, button='left', buttons=1, clickCount=1, modifiers=modifiers)
        self.mouse('mouseReleased', x, y, button='left', clickCount=1, modifiers=modifiers)

    def drag(self, x0, y0, x1, y1, modifiers=0):
        self.mouse('mouseMoved', x0, y0)
        self.mouse('mousePressed', x0, y0, button='left', buttons=1, clickCount=1, modifiers=modifiers)
        for k in (0.3, 0.7, 1):
            self.mouse('mouseMoved', x0 + (x1 - x0) * k, y0 + (y1 - y0) * k, button='left', buttons=1, modifiers=modifiers)
        self.mouse('mouseReleased', x1, y1, button='left', clickCount=1, modifiers=modifiers)

    def wheel(self, x, y, dx=0, dy=0, modifiers=0):
        self.mouse('mouseWheel', x, y, deltaX=dx, deltaY=dy, modifiers=modifiers)

    CODES = {'Enter': 13, 'Escape': 27, 'Tab': 9, 'ArrowUp': 38, 'ArrowDown': 40, 'ArrowLeft': 37, 'ArrowRight': 39, 'Home': 36,
             'End': 35, 'PageUp': 33, 'PageDown': 34}

    def key(self, key, modifiers=0):
        more = {'text': key} if len(key) == 1 else {'text': '\r'} if key == 'Enter' else {}
        code = self.CODES.get(key) or (ord(key.upper()) if key.isalnum() else 0)
        self.call('Input.dispatchKeyEvent', type='keyDown', key=key, windowsVirtualKeyCode=code, modifiers=modifiers, **more)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key, windowsVirtualKeyCode=code, modifiers=modifiers)

    def type(self, text):
        for c in text:
            self.key(c)

    def box(self, selector):
        return self.run(f'(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();'
                        ' return {x: b.x, y: b.y, width: b.width, height: b.height} })()')
