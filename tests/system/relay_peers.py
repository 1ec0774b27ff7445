# SPDX-License-Identifier: Apache-2.0
#
# usage: relay_peers.py SONDA_RELAY DIR
#
# Producers and a service with sonda-relay between them, all of which break rules. Speaks TAP.
import array
import atexit
import contextlib
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time

program, directory = sys.argv[1:]
there = directory + '/relay'
n = bad = 0


def verdict(name, good, why=''):
    global n, bad
    n += 1
    bad |= not good
    print(f'{"ok" if good else "not ok"} {n} - {name}', flush=True)
    if not good:
        print('#   ' + str(why).replace('\n', '\n#   '), flush=True)


def listen_tcp(port=0):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    s.bind(('127.0.0.1', port))
    s.listen(1024)
    s.settimeout(20)
    return s


def read_exactly(s, size):
    data = b''
    while len(data) < size:
        part = s.recv(min(size - len(data), 1 << 16))
        if not part:
            break
        data += part
    return data


def read_frame(s):
    head = read_exactly(s, 4)
    return read_exactly(s, struct.unpack('<I', head)[0]) if len(head) == 4 else b''


def read_to_end(s):
    data = b''
    with contextlib.suppress(ConnectionResetError):
        while part := s.recv(1 << 16):
            data += part
    return data


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at, found = 0, {}
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        found[tag >> 3] = value
    return found


class Relay:
    """A relay that runs, and the service that it connects to."""

    def __init__(self, service=None, more=(), **environment):
        self.service = service or listen_tcp()
        self.port = self.service.getsockname()[1]
        read, write = os.pipe()
        self.log = open(directory + '/log', 'w+')
        self.process = subprocess.Popen([program, *more], stderr=self.log, stdin=subprocess.DEVNULL, pass_fds=[write], env={
            **os.environ, 'PERFETTO_RELAY_SOCK_NAME': f'localhost:{self.port}', 'PERFETTO_PRODUCER_SOCK_NAME': there,
            'PERFETTO_MACHINE_NAME': 'guest', 'TRACED_RELAY_NOTIFY_FD': str(write), **environment})
        atexit.register(self.process.kill)
        os.close(write)
        assert os.read(read, 1) == b'1'
        os.close(read)
        self.own = None
        if not service:
            self.own = self.accept()[0]  # its own connection, for the clocks

    def accept(self):
        s, _ = self.service.accept()
        s.settimeout(20)
        return s, fields(read_frame(s))

    def produce(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect(there)
        return s

    def pair(self):
        producer = self.produce()
        service, identity = self.accept()
        return producer, service, identity

    def memory(self):
        for line in open(f'/proc/{self.process.pid}/status'):
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) * 1024

    def cpu(self):
        return sum(map(int, open(f'/proc/{self.process.pid}/stat').read().rsplit(')', 1)[1].split()[11:13])) / os.sysconf('SC_CLK_TCK')

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(20)
        self.service.close()
        if self.own:
            self.own.close()
        text = self.text()
        self.log.close()
        return status, text


def close_all(*sockets):
    for s in sockets:
        s.close()


noise = random.Random(1).randbytes(3 << 20)

# ---- bytes ------------------------------------------------------------------------------------------------------------

r = Relay()
producer, service, identity = r.pair()
peer = fields(identity[8])
boot_id = open('/proc/sys/kernel/random/boot_id').read().strip().encode()
verdict('the service first gets the identity of the producer', peer.get(1) == os.getpid() and peer.get(2, 0) == os.getuid() and
        peer.get(3) == boot_id and peer.get(4) == b'guest', peer)

# Also frames that are too long, cut off, or of no kind: the relay knows of none.
producer.sendall(b'\xff\xff\xff\xff half a frame')
service.sendall(b'\x00\x00\x00\x7f' + b'x')
verdict('bytes that are no frames pass in both directions', read_exactly(service, 16) == b'\xff\xff\xff\xff half a frame'[:16] and
        read_exactly(producer, 5) == b'\x00\x00\x00\x7fx')
close_all(producer, service)

producer, service, _ = r.pair()
pid = os.fork()
if pid == 0:
    producer.sendall(noise)
    os._exit(0)
producer.close()
time.sleep(0.3)  # the buffers are full, and the service has read nothing yet
data = read_to_end(service)
os.waitpid(pid, 0)
verdict('a producer that ends after its last byte loses nothing', data == noise, len(data))
service.close()

# With unread bytes of the service, whose end would otherwise reset the connection.
producer, service, _ = r.pair()
service.sendall(noise[:200000])
producer.sendall(noise[:100000])
time.sleep(0.1)
producer.close()
service.sendall(noise[:300000])
data = read_to_end(service)
verdict('nor does one that has not read what the service sent', data == noise[:100000], len(data))
service.close()

producer, service, _ = r.pair()
producer.sendall(b'last')
producer.shutdown(socket.SHUT_WR)
data = read_to_end(service)
service.sendall(b'answer')
verdict('a producer may end one direction, and read on', data == b'last' and read_exactly(producer, 6) == b'answer', data)
service.close()
verdict('the end of the service is passed on', read_to_end(producer) == b'')
producer.close()

producer, service, _ = r.pair()
pid = os.fork()
if pid == 0:
    service.sendall(noise)
    os._exit(0)
service.close()
time.sleep(0.2)
data = read_to_end(producer)
os.waitpid(pid, 0)
verdict('a service that ends after its last byte loses nothing', data == noise, len(data))
producer.close()

# ---- descriptors -------------------------------------------------------------------------------------------------------

producer, service, _ = r.pair()
read, write = os.pipe()
producer.sendmsg([b'f'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [write] * 100))])
os.close(write)
closed = select.select([read], [], [], 20)[0] and os.read(read, 1) == b''
verdict('descriptors that a producer passes are closed, its bytes go on', closed and read_exactly(service, 1) == b'f')
os.close(read)
close_all(producer, service)

# ---- memory and connections -------------------------------------------------------------------------------------------

before, busy = r.memory(), r.cpu()
pairs = [r.pair() for _ in range(100)]
for producer, service, _ in pairs:
    for s in producer, service:
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                s.send(noise[:1 << 16])
time.sleep(0.3)
idle = r.cpu()
time.sleep(0.3)
after, last = r.memory(), r.cpu()
verdict('100 connections of which neither side reads take at most 64 KiB each way', after - before < 100 * (2 << 16) + (4 << 20),
        after - before)
verdict('and no time', last - idle <= 0.05, (busy, idle, last))
for producer, service, _ in pairs:
    producer.close()
    service.close()
deadline = time.monotonic() + 20
while r.memory() > before + (3 << 20) and time.monotonic() < deadline and 'built with a sanitizer' not in r.text():
    time.sleep(0.05)
# A sanitizer keeps freed memory.
verdict('the memory is free afterwards', r.memory() <= before + (3 << 20) or 'built with a sanitizer' in r.text(), r.memory() - before)

most = 512 if os.getuid() == 0 else 128
many = []
for _ in range(2000):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    while True:
        try:
            s.connect(there)
            break
        except BlockingIOError:  # the backlog is full
            time.sleep(0.005)
    many.append(s)
services = []
r.service.settimeout(0.5)
with contextlib.suppress(TimeoutError):
    while True:
        services.append(r.service.accept()[0])
r.service.settimeout(20)
served = refused = 0
for s in many:
    try:
        refused += s.recv(1) == b''
    except BlockingIOError:
        served += 1
    except ConnectionResetError:
        refused += 1
verdict(f'of 2000 connections {most} are served, the others are closed', (served, refused, len(services)) == (most, 2000 - most, most),
        (served, refused, len(services)))
close_all(*many, *services)
producer, service, _ = r.pair()
producer.sendall(b'after')
verdict('then there is room again', read_exactly(service, 5) == b'after')
close_all(producer, service)

# ---- the end ----------------------------------------------------------------------------------------------------------

producer, service, _ = r.pair()
producer.sendall(noise[:150000])
r.process.send_signal(signal.SIGTERM)
data = read_to_end(service)
service.close()
status, text = r.end()
verdict('SIGTERM: what a producer had sent arrives', (data, status) == (noise[:150000], 0), (len(data), status, text))
producer.close()
verdict('the sandbox forbade nothing that the relay does', 'sandbox blocked' not in text, text)

# ---- the service is away, or hostile ----------------------------------------------------------------------------------

s = listen_tcp()
port = s.getsockname()[1]
s.close()  # no process listens there
r = Relay(service=listen_tcp(), more=['--verbose'], PERFETTO_RELAY_SOCK_NAME=f'127.0.0.1:{port}')
r.service.close()
producer = r.produce()
producer.sendall(b'early')
time.sleep(0.2)
r.service = listen_tcp(port)
for _ in range(2):
    service, first = r.accept()
    if fields(first[8]).get(1) == os.getpid():
        break
    r.own = service  # kept open, or the relay would take it as a loss
verdict('a producer waits for a service that is away', read_exactly(service, 5) == b'early', r.text())
close_all(producer, service)
status, text = r.end()
verdict('the relay says that none answers', 'no tracing service at' in text and status == 0, text)

r = Relay(more=['--verbose'])
r.own.sendall(b'\xff\xff\xff\x7f')  # no frame is that long
again, identity = r.accept()
verdict('a hostile answer ends only the connection for reports, which is made again', 8 in identity, r.text())
r.own.close()
r.own = again
producer, service, _ = r.pair()
producer.sendall(b'on')
verdict('producers go on', read_exactly(service, 2) == b'on')
close_all(producer, service)
status, text = r.end()
verdict('the relay ends well', status == 0, text)
sys.exit(bad)
