#!/usr/bin/python3
"""A client of the control protocol in another language, for the test of
browsertask-control(7): written from that page alone, MessagePack by hand,
nothing but Python's own modules, nothing shared with the other clients here.

    stranger.py SOCKET SITE

submits, follows, lists, cancels and fetches, with pages of SITE, and says in
TAP what came of it.
"""

import json
import socket
import struct
import sys


# MessagePack: the types that the page needs. Ext types are none of them.

def pack(v):
    if v is None:
        return b"\xc0"
    if v is True or v is False:
        return b"\xc3" if v else b"\xc2"
    if isinstance(v, int):
        if 0 <= v < 128:
            return bytes([v])
        if -32 <= v < 0:
            return struct.pack("b", v)
        return b"\xcf" + struct.pack(">Q", v) if v > 0 else \
            b"\xd3" + struct.pack(">q", v)
    if isinstance(v, str):
        raw = v.encode()
        if len(raw) < 32:
            return bytes([0xA0 | len(raw)]) + raw
        return b"\xdb" + struct.pack(">I", len(raw)) + raw
    if isinstance(v, bytes):
        return b"\xc6" + struct.pack(">I", len(v)) + v
    if isinstance(v, list):
        return b"\xdd" + struct.pack(">I", len(v)) + b"".join(map(pack, v))
    return b"\xdf" + struct.pack(">I", len(v)) + b"".join(
        pack(k) + pack(v[k]) for k in v)


class Unpacker:
    NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I",
               0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
    LENGTHS = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xD9: ">B", 0xDA: ">H",
               0xDB: ">I", 0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}

    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def take(self, n):
        part = self.raw[self.at:self.at + n]
        if len(part) < n:
            raise ValueError("the value ends too early")
        self.at += n
        return part

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self):
        t = self.take(1)[0]
        if t < 0x80:
            return t
        if t >= 0xE0:
            return t - 256
        if t < 0x90:
            return self.map(t & 15)
        if t < 0xA0:
            return self.array(t & 15)
        if t < 0xC0:
            return self.take(t & 31).decode()
        if t in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[t]
        if t in self.NUMBERS:
            return self.number(self.NUMBERS[t])
        n = self.number(self.LENGTHS[t])
        if t <= 0xC6:
            return bytes(self.take(n))
        if t <= 0xDB:
            return self.take(n).decode()
        return self.array(n) if t <= 0xDD else self.map(n)

    def array(self, n):
        return [self.value() for _ in range(n)]

    def map(self, n):
        return {self.value(): self.value() for _ in range(n)}


class Refused(Exception):
    """The error object of an answer."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.error = error


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.id = 0
        self.notes = []

    def send(self, method, params):
        self.id += 1
        raw = pack([0, self.id, method, params])
        self.socket.sendall(struct.pack(">I", len(raw)) + raw)
        return self.id

    def exactly(self, n):
        parts = b""
        while len(parts) < n:
            more = self.socket.recv(n - len(parts))
            if not more:
                raise EOFError("the service closed the connection")
            parts += more
        return parts

    def receive(self):
        length = struct.unpack(">I", self.exactly(4))[0]
        return Unpacker(self.exactly(length)).value()

    def answer(self, wanted):
        while True:
            message = self.receive()
            if message[0] == 2:
                self.notes.append(message[1:])
            elif message[1] == wanted:
                break
        if message[2] is not None:
            raise Refused(json.loads(message[2]))
        result = message[3]
        return result if isinstance(result, dict) else json.loads(result)

    def call(self, method, **params):
        return self.answer(self.send(method, params))

    def note(self):
        if self.notes:
            return self.notes.pop(0)
        while True:
            message = self.receive()
            if message[0] == 2:
                return message[1:]

    def submit(self, urls, **options):
        return self.call(
            "run.submit", templateId="batch_extract_pages",
            inputs=json.dumps({"urls": urls}).encode(),
            options=json.dumps(options).encode())

    def events(self, run):
        """The events of a run from now until the one that ends it."""
        while True:
            method, params = self.note()
            if method != "event" or params["runId"] != run:
                continue
            event = json.loads(params["event"])
            yield event
            if event["type"] in ("run_completed", "run_failed",
                                 "run_canceled"):
                return

    def artifact(self, artifact):
        text, offset = "", 0
        while True:
            part = self.call("artifact.get", artifactId=artifact,
                             offset=offset, limit=1000)
            text += part["data"]
            offset += part["length"]
            if part["complete"]:
                return text, part


tests = 0


def ok(true, what):
    global tests
    tests += 1
    print("%s %d - %s" % ("ok" if true else "not ok", tests, what))


def refusal(what, call, **params):
    try:
        call(**params)
    except Refused as refused:
        return refused.error
    ok(False, what + " is refused")
    return {}


def main(path, site):
    c = Client(path)
    hello = c.call("hello", proto=1, client="stranger")
    ok(hello["proto"] == 1 and hello["trust"] == "local", "hello")

    run = c.submit([site + "/login", site + "/shop"], mode="async")["runId"]
    snapshot = c.call("run.follow", runId=run)
    ok(snapshot["runId"] == run, "run.follow answers the run")
    seen = list(c.events(run))
    kinds = [e["type"] for e in seen]
    ok(kinds[0] == "run_created" and kinds[-1] == "run_completed",
       "events from the first to the last")
    numbers = [e["seq"] for e in seen if e["seq"] > 0]
    ok(numbers == sorted(set(numbers)), "their numbers rise")
    again = c.call("run.events", runId=run)
    ok([e["seq"] for e in again["events"]] == numbers,
       "run.events tells the same")

    r = c.call("run.get", runId=run, include="output")
    types = [i["pageType"] for i in r["result"]["items"]]
    ok(r["status"] == "succeeded" and types == ["login", "list"],
       "run.get has the result")
    listed = c.call("run.list", limit=1)
    ok(listed["total"] == 1 and listed["runs"][0]["runId"] == run,
       "run.list has the run")

    rows = {a["kind"]: a for a in
            c.call("artifact.list", runId=run)["artifacts"]}
    text, last = c.artifact(rows["extraction"]["artifactId"])
    ok(len(text.encode()) == last["totalSize"] ==
       rows["extraction"]["totalSize"], "artifact.get, chunk by chunk")
    ok([p["pageInfo"]["type"] for p in json.loads(text)] == types,
       "the artifact is whole")

    slow = c.submit([site + "/never-headers"], mode="async")["runId"]
    c.call("run.follow", runId=slow)
    canceled = c.call("run.cancel", runId=slow)
    ok(canceled["success"] and canceled["errorCode"] == "RUN_CANCELED",
       "run.cancel")
    ok(list(c.events(slow))[-1]["type"] == "run_canceled",
       "the run's last event says so")
    late = c.call("run.cancel", runId=slow)
    ok(not late["success"] and late["reason"] != "", "canceled only once")
    of_status = c.call("run.list", status="canceled")
    ok([x["runId"] for x in of_status["runs"]] == [slow], "list by status")

    error = refusal("an unknown run", c.call, method="run.get",
                    runId="run_" + "0" * 26)
    ok(error.get("errorCode") == "RUN_NOT_FOUND" and error["recoverHint"],
       "an unknown run")
    error = refusal("an unknown method", c.call, method="run.fly")
    ok(error["details"]["cause"] == "UNKNOWN_METHOD", "an unknown method")
    error = refusal("a wrong type", c.call, method="run.get", runId=7)
    ok(error["details"]["cause"] == "INVALID_PARAMETER", "a wrong type")

    rude = Client(path)
    rude.send("run.list", {})
    try:
        rude.receive()
        ok(False, "a client that does not say hello is left")
    except EOFError:
        ok(True, "a client that does not say hello is left")
    ok(c.call("profile.get")["clients"] == 1, "the others are not")
    print("1..%d" % tests)


main(*sys.argv[1:])
