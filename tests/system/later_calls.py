#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes each call that rdma-core has since version 59, by the names that the dynamic linker finds for it, as the headers of the
build may be older. Run it under `verbena run` or `verbena trace`; it ends with "done"."""
import ctypes
import errno
import struct

C = ctypes.CDLL(None, use_errno=True)
P, U64 = ctypes.c_void_p, ctypes.c_uint64


def pointer_of(name, *args):
    f = getattr(C, name)
    f.restype = P
    found = f(*args)
    assert found, f"{name}: errno {ctypes.get_errno()}"
    return P(found)


def ok(name, *args):
    rc = getattr(C, name)(*args)
    assert rc == 0, f"{name}: {rc}"


def main():
    cnt = ctypes.c_int()
    devices = pointer_of("ibv_get_device_list", ctypes.byref(cnt))
    context = pointer_of("ibv_open_device", ctypes.cast(devices, ctypes.POINTER(P))[0])
    pd = pointer_of("ibv_alloc_pd", context)
    number = U64()
    ok("ibv_query_port_speed", context, 1, ctypes.byref(number))
    dmah = pointer_of("ibv_alloc_dmah", context, struct.pack("IIBB", 1, 0, 0, 0) + bytes(2))
    buf = P()
    addr = pointer_of("ibv_alloc_buf", pd, ctypes.c_size_t(8192), ctypes.byref(buf))
    region = pointer_of("ibv_reg_buf_mr", pd, buf, addr, ctypes.c_size_t(4096), 1)
    ok("ibv_dereg_mr", region)
    # struct ibv_mr_init_attr: length, access, comp_mask (ADDR, DMAH), iova, addr, fd, fd_offset, dmah, buf
    attr = struct.pack("@QiQQQiQQQ", 4096, 7, 2 | 16, 0, addr.value, 0, 0, dmah.value, 0)
    region = pointer_of("ibv_reg_mr_ex", pd, attr)
    ok("ibv_dereg_mr", region)
    assert C.ibv_export_buf_dmabuf_fd(buf) == -1 and ctypes.get_errno() == errno.ENODATA
    C.ibv_free_buf(buf)
    ok("ibv_dealloc_dmah", dmah)
    caps = ctypes.create_string_buffer(16)
    ok("_ibv_query_comp_cntr_caps", context, caps, ctypes.c_size_t(16))
    cntr = pointer_of("ibv_create_comp_cntr", context, struct.pack("IiI", 0, 1, 0))
    ok("ibv_set_comp_cntr", cntr, U64(40))
    ok("ibv_inc_comp_cntr", cntr, U64(2))
    ok("ibv_set_err_comp_cntr", cntr, U64(6))
    ok("ibv_inc_err_comp_cntr", cntr, U64(1))
    for name, wanted in (("ibv_read_comp_cntr", 42), ("ibv_read_err_comp_cntr", 7)):
        ok(name, cntr, ctypes.byref(number))
        assert number.value == wanted, f"{name}: {number.value}"
    cq = pointer_of("ibv_create_cq", context, 4, None, None, 0)
    # struct ibv_qp_init_attr: qp_context, send_cq, recv_cq, srq, cap, qp_type (RC), sq_sig_all
    qp = pointer_of("ibv_create_qp", pd, struct.pack("@QQQQ5IIi4x", 0, cq.value, cq.value, 0, 1, 1, 1, 1, 0, 2, 0))
    ok("ibv_qp_attach_comp_cntr", qp, cntr, struct.pack("II", 0, 1 | 16))
    ok("ibv_destroy_qp", qp)
    ok("ibv_destroy_comp_cntr", cntr)
    ok("ibv_destroy_cq", cq)
    ok("ibv_dealloc_pd", pd)
    ok("ibv_close_device", context)
    print("done")


main()
