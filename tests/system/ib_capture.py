# SPDX-License-Identifier: BSD-2-Clause
"""Captures of InfiniBand links, read by two others: tshark, whose own mistakes stand in a table, and this file, which checks
lengths and CRCs of each packet and shares nothing with src/."""
import struct
import subprocess
import zlib

from hosts import Failure
from icrc import packets

FIELDS = ("frame.interface_name", "frame.p2p_dir", "frame.protocols", "infiniband.bth.opcode", "infiniband.lrh.vl", "infiniband.lrh.slid",
          "infiniband.lrh.dlid", "infiniband.mad.mgmtclass", "infiniband.mad.attributeid", "infiniband.grh.hoplmt", "frame.time_relative",
          "_ws.malformed")
# The dissectors that guess by a payload's bytes what it is.
GUESSES = ("rpcrdma_infiniband", "eth_over_ib", "smcr_infiniband", "smb_direct_infiniband", "iser_infiniband", "lnet_ib", "nvme_rdma",
           "mellanox_eoib", "sdp_infiniband")
GUESSING_PROTOCOLS = ("infiniband_sdp",)  # which guesses at private data of CM by no name of its own
ERF, ERF_IB, ERF_IB_LINK = 16, 21, 25
LRH, GRH, BTH, DETH = 8, 40, 12, 8
RC_SENDS, UD_SEND = (0, 1, 2, 3, 4, 5, 22, 23), (100, 101)
CLASS_CM, ATTRIBUTE_REQ = 7, 0x10
VCRC_TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0xd008 if n & 1 else 0)  # 0x100B, reflected. IBA 7.8.2
    VCRC_TABLE.append(n)


class Packet:
    """A packet as its bytes say: LRH through VCRC, or a flow control packet."""

    def __init__(self, record):
        self.kind, self.bytes = record[8], record[ERF:]
        b = self.bytes
        self.is_flow = self.kind == ERF_IB_LINK
        if self.is_flow:
            return
        self.has_grh = b[1] & 3 == 3
        bth = LRH + (GRH if self.has_grh else 0)
        self.slid, self.dlid = struct.unpack("!H", b[6:8])[0], struct.unpack("!H", b[2:4])[0]
        self.vl, self.sl = b[0] >> 4, b[1] >> 4
        self.words = struct.unpack("!H", b[4:6])[0] & 0x7ff
        self.opcode, self.pad = b[bth], b[bth + 1] >> 4 & 3
        self.dqpn = struct.unpack("!I", b[bth + 4:bth + 8])[0] & 0xffffff
        self.bits = b[bth + 4]  # FECN, BECN
        self.payload = b[bth + BTH + (DETH if self.opcode in UD_SEND else 0):-6]
        self.mad = self.payload if self.opcode == UD_SEND[0] and self.dqpn < 2 else None
        self.hop_limit = b[LRH + 7] if self.has_grh else None

    def is_dc(self):
        return self.opcode & 0xe0 == 0x40

    def check(self):
        """Its length is what the LRH and the GRH say, and both CRCs are right."""
        b = self.bytes
        if self.is_flow:
            return len(b) == 6
        return (len(b) == 4 * self.words + 2 and b[0] & 15 == 0 and
                (not self.has_grh or struct.unpack("!H", b[LRH + 4:LRH + 6])[0] == len(b) - LRH - GRH - 2) and
                icrc(b, self.has_grh) == b[-6:-2] and vcrc(b[:-2]) == b[-2:])


def icrc(b, has_grh):
    """By the standard alone: what routers and switches change is ones. IBA 7.8.1"""
    m = bytearray(b[:-6])
    m[0] |= 0xf0
    m[(LRH + GRH if has_grh else LRH) + 4] = 0xff
    if has_grh:
        m[:LRH] = b"\xff" * LRH
        m[LRH] |= 0x0f
        m[LRH + 1:LRH + 4] = b"\xff" * 3
        m[LRH + 7] = 0xff
    return zlib.crc32(bytes(m)).to_bytes(4, "little")


def vcrc(b):
    r = 0xffff
    for byte in b:
        r = r >> 8 ^ VCRC_TABLE[(r ^ byte) & 0xff]
    return (r ^ 0xffff).to_bytes(2, "little")


def is_mad(p, mgmt_class, attribute):
    return p.mad is not None and p.mad[1] == mgmt_class and p.mad[16:18] == attribute.to_bytes(2, "big")


# tshark 4.0's own mistakes: a name, the packets that it makes them with, and where they show. docs/testing.md has their reasons.
# Those with a guess are gone when it guesses not.
MISTAKES = (
    ("SEND of 0 to 12 bytes over RC", True, lambda p, t: p.opcode in RC_SENDS and len(p.payload) <= 12 and t["protocols"].endswith(":rpcordma")),
    ("payload that looks like an EtherType", True,
     lambda p, t: ":ethertype" in t["protocols"] and p.mad is None),
    ("payload that looks like one of another protocol", True,
     lambda p, t: p.mad is None and t["protocols"].rpartition(":")[2] in ("smc", "smb_direct", "nvme-rdma", "lnet", "iser", "infiniband_sdp")),
    ("REQ whose private data looks like SDP", True,
     lambda p, t: is_mad(p, CLASS_CM, ATTRIBUTE_REQ) and t["protocols"].endswith(":infiniband_sdp")),
    ("SEND of 0 bytes over UD", False, lambda p, t: p.opcode == UD_SEND[0] and len(p.payload) == 0),
    ("packet of DC", False, lambda p, t: p.is_dc()),
    ("flow control packet", False, lambda p, t: p.is_flow),
)


def mistake_of(p, t, guesses):
    for name, is_guess, has in MISTAKES:
        if (guesses or not is_guess) and (p.is_flow if name.startswith("flow") else not p.is_flow and has(p, t)):
            return name
    return None


def tshark(path, guesses=True):
    """A dictionary of fields for each packet. Without @guesses payloads are no more than bytes."""
    off = () if guesses else tuple(x for g in GUESSES for x in ("--disable-heuristic", g))
    off += () if guesses else tuple(x for g in GUESSING_PROTOCOLS for x in ("--disable-protocol", g))
    p = subprocess.run(["tshark", "-n", *off, "-r", path, "-T", "fields", "-E", "occurrence=f", *(x for f in FIELDS for x in ("-e", f))],
                       capture_output=True, text=True, timeout=250)
    if p.returncode:
        raise Failure(p.stderr)
    return [dict(zip((f.rpartition(".")[2] for f in FIELDS), line.split("\t"))) for line in p.stdout.splitlines()]


def read(path, checked=400):
    """Reads a capture, in which nothing may be malformed but for tshark's own mistakes. Returns a pair for each packet, as its
    bytes and as tshark have it, and the names of the mistakes that were made. Lengths and CRCs of the first @checked packets and of all
    that are malformed are checked."""
    raw = [Packet(record) for _, record, _ in packets(path)]
    mistakes = set()
    for guesses in (True, False):
        seen = tshark(path, guesses)
        if len(seen) != len(raw):
            raise Failure(f"{len(raw)} packets, of which tshark sees {len(seen)}")
        for i, (p, t) in enumerate(zip(raw, seen)):
            if not t["malformed"] and not (guesses and i < checked):
                continue
            if not p.check():
                raise Failure(f"packet {i + 1}: a length or a CRC is wrong: {p.bytes.hex()}")
            if not t["malformed"]:
                continue
            name = mistake_of(p, t, guesses)
            if not name:
                raise Failure(f"packet {i + 1} is malformed{'' if guesses else ' without guesses'}: {t} {p.bytes.hex()}")
            mistakes.add(name)
        if guesses:
            found = list(zip(raw, seen))
    return found, mistakes
