# SPDX-License-Identifier: Apache-2.0
#
# usage: jitter_proxy.py PORT HOST:PORT MS
#
# Connections to 127.0.0.1:PORT go on to HOST:PORT. What either side sends arrives after a random time of at most MS, in its
# order. Prints a line when it listens.
import queue
import random
import socket
import sys
import threading
import time

port, (host, to), most = int(sys.argv[1]), sys.argv[2].rsplit(':', 1), float(sys.argv[3]) / 1000


def send(waiting, writer):
    while True:
        due, data = waiting.get()
        time.sleep(max(0, due - time.monotonic()))
        try:
            writer.sendall(data) if data else writer.shutdown(socket.SHUT_WR)
        except OSError:
            return
        if not data:
            return


def copy(reader, writer):
    waiting = queue.Queue()
    threading.Thread(target=send, args=(waiting, writer), daemon=True).start()
    data = b'x'
    while data:
        try:
            data = reader.recv(1 << 16)
        except OSError:
            data = b''
        waiting.put((time.monotonic() + random.uniform(0, most), data))


listening = socket.create_server(('127.0.0.1', port))
print('listens', flush=True)
while True:
    here, _ = listening.accept()
    there = socket.create_connection((host, int(to)))
    for a, b in (here, there), (there, here):
        a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=copy, args=(a, b), daemon=True).start()
