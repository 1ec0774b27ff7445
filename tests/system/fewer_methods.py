#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# usage: fewer_methods.py LISTEN SERVICE METHOD...
#
# Listens on one unix socket and carries everything, descriptors too, between its clients and a service on another one. From
# the list of methods that the service offers it takes away the named ones. Writes "1" to descriptor 9 when it listens.
import os
import socket
import sys
import threading

BIND_REPLY, METHODS, NAME = 4, 3, 2  # IPCFrame.msg_bind_service_reply, .methods, .name


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def put_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """The fields of a message: number, value, and the bytes of both."""
    at = 0
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        if tag & 7 == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        else:
            value, at = varint(data, at)
        yield tag >> 3, value, data[start:at]


def put_bytes(number, value):
    return put_varint(number << 3 | 2) + put_varint(len(value)) + value


def has_name(method, names):
    return any(n == NAME and v.decode() in names for n, v, _ in fields(method))


def without(frame, names):
    out = b''
    for number, value, raw in fields(frame):
        if number == BIND_REPLY:
            kept = (r for n, v, r in fields(value) if n != METHODS or not has_name(v, names))
            raw = put_bytes(BIND_REPLY, b''.join(kept))
        out += raw
    return out


def first_frame(source):
    data = b''
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], 'little'):
        part = source.recv(4096)
        if not part:
            return b'', b''
        data += part
    end = 4 + int.from_bytes(data[:4], 'little')
    return data[4:end], data[end:]


def carry(source, to, names):
    try:
        if names:
            frame, rest = first_frame(source)
            frame = without(frame, names)
            to.sendall(len(frame).to_bytes(4, 'little') + frame + rest)
        while True:
            data, fds, _, _ = socket.recv_fds(source, 65536, 8)
            if not data:
                break
            sent = socket.send_fds(to, [data], fds) if fds else 0
            to.sendall(data[sent:])
            for fd in fds:
                os.close(fd)
    except OSError:
        pass
    to.shutdown(socket.SHUT_RDWR)


def main():
    listen, service, *names = sys.argv[1:]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(listen)
    listener.listen()
    os.write(9, b'1')
    os.close(9)
    while True:
        client, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect(service)
        threading.Thread(target=carry, args=(client, server, None), daemon=True).start()
        threading.Thread(target=carry, args=(server, client, names), daemon=True).start()


main()
