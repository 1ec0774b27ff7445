#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A strict S3 server for tests: python3 s3_server.py DIR [CERTIFICATE]

It prints its port, and keeps the objects in memory. It checks what a careless store would let pass:
the signature of exactly the bytes that arrived, the date, the hash of the body, the order and the
encoding of the query, sizes of parts. DIR gets `log`, a line for each request; GET /-state
returns what the bucket has, /-get/KEY an object. /-reset/FAULT@NUMBER,... empties the bucket and the log;
/-faults/FAULT@NUMBER,... only the log; /-clock/SECONDS puts its clock forward. A fault happens at the request of this number (from 1), or at each (*):

    503, 500    answers with this status, and does nothing
    200error    a completion answers 200 with an error in the body, and does nothing; others: 500
    refuse      closes the connection before it reads the body
    cut         closes the connection in the middle of the body; without a body: before the answer
    lose        does what was asked, and closes the connection without an answer
    half        does what was asked, and closes the connection in the middle of the answer
    skew        403 RequestTimeTooSkewed
    rotate      from now on has another key, which it writes into DIR/keys
    redirect    302, to itself
    kill        kills the process of DIR/pid before the request is done
    killdone    kills it when the request is done, before the answer
"""
import calendar
import hashlib
import hmac
import http.server
import os
import re
import signal
import socketserver
import ssl
import sys
import time
import urllib.parse

ACCESS, FIRST_SECRET, REGION, BUCKET = "test-key", "test/secret+key", "eu-test-1", "bucket"
SECRET = FIRST_SECRET
PART_MIN = 5 << 20
LIST_MAX = int(os.environ.get("LIST_MAX", 3))

directory = sys.argv[1]
faults, objects, uploads, stores = {}, {}, {}, {}
requests = clock_ahead = 0


def now():
    return time.time() + clock_ahead


def hmac256(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def encode(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


class Refused(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    # ---- the signature ----

    def check_signature(self, body):
        path, _, query = self.path.partition("?")
        if encode(urllib.parse.unquote(path), "/") != path:
            raise Refused(400, "PathIsNotEncoded")
        pairs = [p.split("=") for p in query.split("&")] if query else []
        if any(len(p) != 2 or encode(urllib.parse.unquote(v)) != v for p in pairs for v in p) or pairs != sorted(pairs):
            raise Refused(400, "QueryIsNotCanonical")
        m = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, "
                         r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})", self.headers.get("Authorization", ""))
        if not m:
            raise Refused(403, "AccessDenied")
        access, date, region, signed, signature = m.groups()
        names = signed.split(";")
        when = self.headers.get("x-amz-date", "")
        must = ["host", "x-amz-content-sha256", "x-amz-date"] + [h.lower() for h in self.headers if h.lower().startswith("x-amz-")]
        if access != ACCESS or region != REGION or names != sorted(names) or not set(must) <= set(names):
            raise Refused(403, "AccessDenied")
        if not re.fullmatch(r"\d{8}T\d{6}Z", when) or when[:8] != date:
            raise Refused(403, "AccessDenied")
        if abs(calendar.timegm(time.strptime(when, "%Y%m%dT%H%M%SZ")) - now()) > 900:
            raise Refused(403, "RequestTimeTooSkewed")
        canonical = "\n".join([self.command, path, query] + [f"{n}:{self.headers[n].strip()}" for n in names]
                              + ["", signed, self.headers["x-amz-content-sha256"]])
        text = "\n".join(["AWS4-HMAC-SHA256", when, f"{date}/{region}/s3/aws4_request", hashlib.sha256(canonical.encode()).hexdigest()])
        key = hmac256(("AWS4" + SECRET).encode(), date)
        for word in (region, "s3", "aws4_request"):
            key = hmac256(key, word)
        if hmac256(key, text).hex() != signature:
            raise Refused(403, "SignatureDoesNotMatch")
        if hashlib.sha256(body).hexdigest() != self.headers["x-amz-content-sha256"]:
            raise Refused(400, "XAmzContentSHA256Mismatch")

    # ---- what is asked ----

    def store(self, key, body, meta):
        objects[key] = {"body": body, "meta": meta}
        stores[key] = stores.get(key, 0) + 1

    def check_new(self, key):
        if self.headers.get("if-none-match") == "*" and key in objects:
            raise Refused(412, "PreconditionFailed")

    def do_put(self, key, query, body):
        if "partNumber" in query:
            upload = uploads.get(query["uploadId"])
            if not upload or upload["key"] != key:
                raise Refused(404, "NoSuchUpload")
            upload["parts"][int(query["partNumber"])] = body
            return {"ETag": '"%s"' % hashlib.md5(body).hexdigest()}, b""
        self.check_new(key)
        self.store(key, body, self.headers.get("x-amz-meta-sha256"))
        return {"ETag": '"%s"' % hashlib.md5(body).hexdigest()}, b""

    def do_post(self, key, query, body):
        if "uploads" in query:
            upload = "id+/=&%d" % requests
            uploads[upload] = {"key": key, "parts": {}, "meta": self.headers.get("x-amz-meta-sha256")}
            return {}, ("<?xml version='1.0'?>\n<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>"
                        % upload.replace("&", "&amp;")).encode()
        upload = uploads.get(query["uploadId"])
        if not upload or upload["key"] != key:
            raise Refused(404, "NoSuchUpload")
        self.check_new(key)
        parts = re.findall(r"<Part><PartNumber>(\d+)</PartNumber><ETag>\"([0-9a-f]+)\"</ETag></Part>", body.decode())
        for number, etag in parts:
            part = upload["parts"].get(int(number))
            if part is None or hashlib.md5(part).hexdigest() != etag:
                raise Refused(400, "InvalidPart")
        if any(len(upload["parts"][int(n)]) < PART_MIN for n, _ in parts[:-1]):
            raise Refused(400, "EntityTooSmall")
        self.store(key, b"".join(upload["parts"][int(n)] for n, _ in parts), upload["meta"])
        del uploads[query["uploadId"]]
        return {}, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>"

    def do(self, key, query, body):
        if self.command == "PUT":
            return self.do_put(key, query, body)
        if self.command == "POST":
            return self.do_post(key, query, body)
        if self.command == "DELETE" and "uploadId" not in query:
            objects.pop(key, None)
            return {}, b""
        if self.command == "DELETE":
            if not uploads.pop(query.get("uploadId"), None):
                raise Refused(404, "NoSuchUpload")
            return {}, b""
        if self.command == "GET" and query.get("list-type") == "2" and not key:
            # Keys in order, a few a page.
            found = sorted(k for k in objects if k.startswith(query.get("prefix", "")) and k > query.get("continuation-token", ""))
            page = found[:LIST_MAX]
            more = "<NextContinuationToken>%s</NextContinuationToken>" % page[-1] if len(found) > len(page) else ""
            return {}, ("<?xml version='1.0'?>\n<ListBucketResult><IsTruncated>%s</IsTruncated>%s%s</ListBucketResult>"
                        % ("true" if more else "false", "".join(f"<Contents><Key>{k}</Key></Contents>" for k in page), more)).encode()
        if self.command == "GET" and "uploads" in query and not key:
            found = "".join("<Upload><Key>%s</Key><UploadId>%s</UploadId></Upload>" % (u["key"], i.replace("&", "&amp;"))
                            for i, u in uploads.items() if u["key"].startswith(query.get("prefix", "")))
            return {}, ("<ListMultipartUploadsResult>%s</ListMultipartUploadsResult>" % found).encode()
        if key not in objects:
            raise Refused(404, "NoSuchKey")
        o = objects[key]
        return {"x-amz-meta-sha256": o["meta"] or "", "Content-Length": str(len(o["body"]))}, o["body"]

    # ---- requests and faults ----

    def answer(self, status, headers, body):
        self.send_response_only(status)
        self.send_header("Date", self.date_time_string(now()))
        if "Content-Length" not in headers:
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def kill(self):
        with open(directory + "/pid") as f:
            os.kill(int(f.read()), signal.SIGKILL)
        self.close_connection = True

    def rotate_key(self):
        global SECRET
        SECRET = "rotated"
        with open(directory + "/keys", "w") as f:
            os.chmod(f.name, 0o600)
            f.write(f"[default]\naws_access_key_id = {ACCESS}\naws_secret_access_key = {SECRET}\n")

    def serve(self):
        global requests, clock_ahead, SECRET
        if self.path == "/-state":
            lines = [f"{k} {hashlib.sha256(o['body']).hexdigest()} {stores[k]}" for k, o in sorted(objects.items())]
            lines += ["unfinished " + u["key"] for u in uploads.values()]
            return self.answer(200, {}, "".join(line + "\n" for line in lines).encode())
        if self.path.startswith("/-get/"):
            return self.answer(200, {}, objects[self.path[6:]]["body"])
        if self.path.startswith("/-clock/"):
            clock_ahead = int(self.path[8:])
            return self.answer(200, {}, b"")
        if self.path.startswith("/-faults/"):
            faults.clear()
            faults.update(reversed(f.split("@")) for f in self.path[9:].split(",") if f)
            requests = 0
            open(directory + "/log", "w").close()
            return self.answer(200, {}, b"")
        if self.path.startswith("/-reset/"):
            for table in (objects, uploads, stores, faults):
                table.clear()
            faults.update(reversed(f.split("@")) for f in self.path[8:].split(",") if f)
            requests = 0
            SECRET = FIRST_SECRET
            open(directory + "/log", "w").close()
            return self.answer(200, {}, b"")
        requests += 1
        fault = faults.get(str(requests), faults.get("*"))
        length = self.headers.get("Content-Length")
        if fault == "refuse":
            self.close_connection = True
            return None
        if fault == "cut" and length and int(length) > 1:
            self.rfile.read(int(length) // 2)
            self.close_connection = True
            return None
        body = self.rfile.read(int(length)) if length else b""
        if fault == "kill":
            return self.kill()
        if fault == "rotate":
            self.rotate_key()
        path, _, query = self.path.partition("?")
        bucket, _, key = urllib.parse.unquote(path)[1:].partition("/")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        headers, out = {}, b""
        if fault == "redirect":
            return self.answer(302, {"Location": self.path}, b"")
        try:
            if fault == "200error" and "uploadId" in query and self.command == "POST":
                raise Refused(200, "InternalError")
            if fault in ("503", "500", "200error"):
                raise Refused(int(fault) if fault != "200error" else 500, "SlowDown" if fault == "503" else "InternalError")
            if fault == "skew":
                raise Refused(403, "RequestTimeTooSkewed")
            if "chunked" in self.headers.get("Transfer-Encoding", "") or (self.command in ("PUT", "POST") and length is None):
                raise Refused(411, "MissingContentLength")
            self.check_signature(body)
            if bucket != BUCKET:
                raise Refused(404, "NoSuchBucket")
            status = 200
            headers, out = self.do(key, query, body)
        except Refused as r:
            status = r.status
            out = f"<?xml version='1.0' encoding='UTF-8'?>\n<Error><Code>{r.code}</Code><Message>a &lt;test&gt;</Message></Error>".encode()
        with open(directory + "/log", "a") as f:
            f.write(f"{requests} {self.command} {self.path} {status} {fault or ''}\n")
        if fault == "killdone":
            return self.kill()
        if fault in ("lose", "cut"):
            self.close_connection = True
            return None
        if fault == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
            self.close_connection = True
            return None
        return self.answer(status, headers, out)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:  # a certificate with its key: TLS
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
