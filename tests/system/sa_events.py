# SPDX-License-Identifier: BSD-2-Clause
"""A program that asks the subnet administrator for reports of traps, by libibumad: says what comes.

Reads commands, a word a line: "subscribe TRAP", "unsubscribe TRAP", "await" for the next report, which it answers,
"ignore" for the next one, which it leaves as it is, "quiet SECONDS", in which none may come, "join MGID" and "leave
MGID", which make a group and end it, and "get CLASS ATTRIBUTE LID", which asks another agent. IBA 13.4.8, 15.2.5
"""
import ctypes
import struct
import sys
import time

UMAD = ctypes.CDLL("libibumad.so.3")
UMAD.umad_get_mad.restype = ctypes.c_void_p
SA_CLASS, SA_VERSION, RMPP = 3, 2, 1
GET, SET, REPORT, DELETE, REPORT_RESP = 0x01, 0x02, 0x06, 0x15, 0x86
NOTICE, INFORM_INFO, MCMEMBER_RECORD = 0x0002, 0x0003, 0x0038
HEADER = ">BBBBHHQHHI"  # base version, class, its version, method, status, -, transaction, attribute, -, modifier
MASK_AT, DATA_AT = 48, 56  # behind the header of RMPP and in that of the SA
# MGID, PortGID, Q_Key, traffic class, P_Key, SL, flow label, join state
JOIN_MASK, LEAVE_MASK = 0x130C7, 0x10003
QKEY = 0x80010000


class Administrator:
    def __init__(self):
        self.size = UMAD.umad_size()
        self.transaction = 1
        self.reports = []  # that came in front of an answer
        self.answered = set()
        UMAD.umad_init()
        self.port = UMAD.umad_open_port(b"verbena0", 1)
        mask = (ctypes.c_long * 4)()
        mask[0] = 1 << REPORT
        self.agent = UMAD.umad_register(self.port, SA_CLASS, SA_VERSION, RMPP, mask)
        if self.port < 0 or self.agent < 0:
            sys.exit("no agent for the class of the SA")
        with open("/sys/class/infiniband/verbena0/ports/1/sm_lid", encoding="ascii") as f:
            self.lid = int(f.read(), 16)

    def send(self, mad, timeout_ms, retries, agent=None, lid=None):
        buf = ctypes.create_string_buffer(self.size + 256)
        ctypes.memmove(UMAD.umad_get_mad(buf), mad, len(mad))
        UMAD.umad_set_addr(buf, self.lid if lid is None else lid, 1, 0, QKEY)
        UMAD.umad_set_pkey(buf, 0)
        if UMAD.umad_send(self.port, self.agent if agent is None else agent, buf, 256, timeout_ms, retries):
            sys.exit("umad_send fails")

    def receive(self, seconds):
        """The next message as header fields and bytes; None: none came."""
        buf = ctypes.create_string_buffer(self.size + 256)
        length = ctypes.c_int(256)
        if UMAD.umad_recv(self.port, buf, ctypes.byref(length), int(seconds * 1000)) < 0:
            return None
        mad = ctypes.string_at(UMAD.umad_get_mad(buf), 256)
        if UMAD.umad_status(buf):
            sys.exit("no answer")
        return struct.unpack(HEADER, mad[:24]), mad

    def ask(self, method, attribute, mask, data):
        """Asks the SA, and returns the status of its answer."""
        self.transaction += 1
        mad = bytearray(256)
        mad[:24] = struct.pack(HEADER, 1, SA_CLASS, SA_VERSION, method, 0, 0, self.transaction, attribute, 0, 0)
        mad[MASK_AT:DATA_AT + len(data)] = struct.pack(">Q", mask) + data
        self.send(bytes(mad), 1000, 3)
        while True:
            header, mad = self.receive(10) or sys.exit("the SA does not answer")
            if header[3] != REPORT:
                return header[4]
            self.reports.append((header, mad))

    def get(self, mgmt_class, attribute, lid):
        """The status that the agent of a class at @lid answers with."""
        self.transaction += 1
        agent = UMAD.umad_register(self.port, mgmt_class, 1, 0, None)
        mad = struct.pack(HEADER, 1, mgmt_class, 1, GET, 0, 0, self.transaction, attribute, 0, 0)
        self.send(mad.ljust(256, b"\0"), 1000, 1, agent, lid)
        header, _ = self.receive(10) or sys.exit("nobody answers")
        UMAD.umad_unregister(self.port, agent)
        return header[4]

    def inform(self, trap, subscribe):
        # Any LID, generic traps of any type; QP 1, and producers of any kind. IBA 13.4.8.3
        return self.ask(SET, INFORM_INFO, 0, bytes(16) + struct.pack(">HHHBBHH", 0xFFFF, 0, 0, 1, subscribe, 0xFFFF, trap) +
                        (1).to_bytes(3, "big") + b"\x12\0\xff\xff\xff")

    def member(self, mgid, joins):
        with open("/sys/class/infiniband/verbena0/ports/1/gids/0", encoding="ascii") as f:
            gid = bytes.fromhex(f.read().strip().replace(":", ""))
        record = bytes.fromhex(mgid) + gid + struct.pack(">IHBBHBBIB", 0x1B, 0, 0, 0, 0xFFFF, 0, 0, 0, 1)
        return self.ask(SET if joins else DELETE, MCMEMBER_RECORD, JOIN_MASK if joins else LEAVE_MASK, record)

    def report(self, seconds, answers):
        while True:
            got = self.reports.pop(0) if self.reports else self.receive(seconds)
            if not got:
                return None
            header, mad = got
            if header[6] not in self.answered:
                break
        if header[3] != REPORT or header[7] != NOTICE:
            sys.exit(f"method {header[3]:#x}, attribute {header[7]:#x}")
        if answers:
            self.answered.add(header[6])
            self.send(mad[:3] + bytes([REPORT_RESP]) + mad[4:], 0, 0)
        notice = mad[DATA_AT:]
        trap, issuer = struct.unpack(">HH", notice[4:8])
        return f"trap {trap} issuer {issuer} gid {notice[16:32].hex()} transaction {header[6]:x}"


def main():
    sa = Administrator()
    print(f"sm lid {sa.lid}", flush=True)
    for line in sys.stdin:
        word, *value = line.split()
        if word in ("subscribe", "unsubscribe"):
            said = f"{word}d, status {sa.inform(int(value[0]), word == 'subscribe'):#x}"
        elif word in ("join", "leave"):
            said = f"{word}, status {sa.member(value[0], word == 'join'):#x}"
        elif word == "get":
            said = f"status {sa.get(*(int(v, 0) for v in value)):#x}"
        elif word in ("await", "ignore"):
            said = sa.report(60, word == "await") or "nothing came"
        else:
            end, said = time.monotonic() + float(value[0]), "quiet"
            while time.monotonic() < end and said == "quiet":
                said = sa.report(end - time.monotonic(), True) or "quiet"
        print(said, flush=True)


main()
