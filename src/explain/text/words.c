/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and lines, see words.h. */
#include "explain/text/words.h"

#include "core/recover/rto.h"
#include "wire/hdr.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void append_text(char *line, const char *fmt, va_list ap)
{
	size_t len = strlen(line);

	vsnprintf(line + len, VB_LINE_MAX - len, fmt, ap);
}

void vb_line(struct vb_lines *l, const char *fmt, ...)
{
	va_list ap;

	if (l->cnt == VB_LINES_MAX)
		return;
	l->text[l->cnt][0] = 0;
	va_start(ap, fmt);
	append_text(l->text[l->cnt++], fmt, ap);
	va_end(ap);
}

void vb_line_more(struct vb_lines *l, const char *fmt, ...)
{
	va_list ap;

	if (l->cnt == 0)
		return;
	va_start(ap, fmt);
	append_text(l->text[l->cnt - 1], fmt, ap);
	va_end(ap);
}

struct vb_word vb_word_ns(vb_dur ns)
{
	static const struct {
		vb_dur unit;
		const char *name;
	} units[] = {{VB_SEC, "s"}, {VB_MSEC, "ms"}, {VB_USEC, "us"}};
	struct vb_word w;

	if (ns == VB_NEVER) {
		snprintf(w.s, sizeof w.s, "for ever");
		return w;
	}
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		double v = (double)ns / (double)units[i].unit;

		if (v < 1)
			continue;
		snprintf(w.s, sizeof w.s, "%.*f %s",
			 v < 9.9995   ? 3
			 : v < 99.995 ? 2
				      : v < 999.95,
			 v, units[i].name);
		return w;
	}
	snprintf(w.s, sizeof w.s, "%" PRIu64 " ns", ns);
	return w;
}

struct vb_word vb_word_bytes(uint64_t cnt)
{
	struct vb_word w;

	if (cnt && cnt % (1u << 20) == 0)
		snprintf(w.s, sizeof w.s, "%" PRIu64 " MiB", cnt >> 20);
	else if (cnt && cnt % (1u << 10) == 0)
		snprintf(w.s, sizeof w.s, "%" PRIu64 " KiB", cnt >> 10);
	else
		snprintf(w.s, sizeof w.s, "%" PRIu64 " byte%s", cnt, cnt == 1 ? "" : "s");
	return w;
}

struct vb_word vb_word_gid(const struct vb_gid *gid)
{
	struct vb_word w;
	bool is_ipv4 = vb_gid_is_ipv4(gid);

	if (!inet_ntop(is_ipv4 ? AF_INET : AF_INET6, gid->b + (is_ipv4 ? 12 : 0), w.s, sizeof w.s))
		w.s[0] = 0;
	return w;
}

struct vb_word vb_word_peer(const struct vb_path *p)
{
	struct vb_word w;

	if (vb_path_has_grh(p))
		return vb_word_gid(&p->dgid);
	snprintf(w.s, sizeof w.s, "LID %u", p->dlid);
	return w;
}

struct vb_word vb_word_timeout(uint8_t exp)
{
	struct vb_word w;

	snprintf(w.s, sizeof w.s, "%u (%.40s)", exp, vb_word_ns(vb_ack_timeout_ns(exp)).s);
	return w;
}

struct vb_word vb_word_nak(uint64_t syndrome)
{
	static const char *const nak[] = {
	    [VB_NAK_PSN_SEQ & VB_SYNDROME_VALUE] = "PSN sequence error",
	    [VB_NAK_INVALID_REQUEST & VB_SYNDROME_VALUE] = "invalid request",
	    [VB_NAK_REMOTE_ACCESS & VB_SYNDROME_VALUE] = "remote access error",
	    [VB_NAK_REMOTE_OP & VB_SYNDROME_VALUE] = "remote operational error",
	    [VB_NAK_INVALID_RD & VB_SYNDROME_VALUE] = "invalid RD request",
	};
	unsigned value = (unsigned)syndrome & VB_SYNDROME_VALUE;
	struct vb_word w;

	if ((syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_RNR)
		snprintf(w.s, sizeof w.s, "RNR NAK, %.40s",
			 vb_word_ns(vb_rnr_timer_ns((uint8_t)value)).s);
	else if ((syndrome & VB_SYNDROME_CLASS) == VB_SYNDROME_NAK &&
		 value < sizeof nak / sizeof nak[0])
		snprintf(w.s, sizeof w.s, "NAK, %s", nak[value]);
	else
		snprintf(w.s, sizeof w.s, "reserved syndrome 0x%02x", (unsigned)syndrome & 0xff);
	return w;
}

const char *vb_word_state(enum vb_qp_state state)
{
	static const char *const name[VB_QPS_CNT] = {"RESET", "INIT", "RTR", "RTS",
						     "SQD",   "SQE",  "ERR"};

	return (unsigned)state < VB_QPS_CNT ? name[state] : "?";
}

const char *vb_word_type(enum vb_qp_type type)
{
	switch (type) {
	case VB_QPT_RC:
		return "RC";
	case VB_QPT_UC:
		return "UC";
	case VB_QPT_UD:
		return "UD";
	case VB_QPT_GSI:
		return "GSI";
	case VB_QPT_XRC_INI:
		return "XRCI";
	case VB_QPT_XRC_TGT:
		return "XRCT";
	case VB_QPT_DCI:
		return "DCI";
	case VB_QPT_DCT:
		return "DCT";
	default:
		return "?";
	}
}

const char *vb_word_status(uint32_t wc_status)
{
	static const char *const name[] = {
	    [VB_WC_SUCCESS] = "IBV_WC_SUCCESS",
	    [VB_WC_LOC_LEN_ERR] = "IBV_WC_LOC_LEN_ERR",
	    [VB_WC_LOC_QP_OP_ERR] = "IBV_WC_LOC_QP_OP_ERR",
	    [VB_WC_LOC_EEC_OP_ERR] = "IBV_WC_LOC_EEC_OP_ERR",
	    [VB_WC_LOC_PROT_ERR] = "IBV_WC_LOC_PROT_ERR",
	    [VB_WC_WR_FLUSH_ERR] = "IBV_WC_WR_FLUSH_ERR",
	    [VB_WC_MW_BIND_ERR] = "IBV_WC_MW_BIND_ERR",
	    [VB_WC_BAD_RESP_ERR] = "IBV_WC_BAD_RESP_ERR",
	    [VB_WC_LOC_ACCESS_ERR] = "IBV_WC_LOC_ACCESS_ERR",
	    [VB_WC_REM_INV_REQ_ERR] = "IBV_WC_REM_INV_REQ_ERR",
	    [VB_WC_REM_ACCESS_ERR] = "IBV_WC_REM_ACCESS_ERR",
	    [VB_WC_REM_OP_ERR] = "IBV_WC_REM_OP_ERR",
	    [VB_WC_RETRY_EXC_ERR] = "IBV_WC_RETRY_EXC_ERR",
	    [VB_WC_RNR_RETRY_EXC_ERR] = "IBV_WC_RNR_RETRY_EXC_ERR",
	    [VB_WC_LOC_RDD_VIOL_ERR] = "IBV_WC_LOC_RDD_VIOL_ERR",
	    [VB_WC_REM_INV_RD_REQ_ERR] = "IBV_WC_REM_INV_RD_REQ_ERR",
	    [VB_WC_REM_ABORT_ERR] = "IBV_WC_REM_ABORT_ERR",
	    [VB_WC_INV_EECN_ERR] = "IBV_WC_INV_EECN_ERR",
	    [VB_WC_INV_EEC_STATE_ERR] = "IBV_WC_INV_EEC_STATE_ERR",
	    [VB_WC_FATAL_ERR] = "IBV_WC_FATAL_ERR",
	    [VB_WC_RESP_TIMEOUT_ERR] = "IBV_WC_RESP_TIMEOUT_ERR",
	    [VB_WC_GENERAL_ERR] = "IBV_WC_GENERAL_ERR",
	};

	return wc_status < sizeof name / sizeof name[0] ? name[wc_status] : "?";
}

const char *vb_word_wr(uint32_t wr_opcode)
{
	static const char *const name[VB_WR_CNT] = {
#define WORK_REQUEST(name, number, wc, on, traits, first, middle, last, only, text)                \
	[number] = (text),
#include "core/wr_opcode.def"
#undef WORK_REQUEST
	};

	return wr_opcode < VB_WR_CNT && name[wr_opcode] ? name[wr_opcode] : "?";
}
