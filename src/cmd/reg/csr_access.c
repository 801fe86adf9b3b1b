/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to the CSR space, see csr_access.h. */
#include "cmd/reg/csr_access.h"

#include "reg/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXTS 8

bool vb_csr_number(const char *text, size_t len, uint64_t *out)
{
	bool hex = len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint64_t v = 0, base = hex ? 16 : 10;

	for (size_t i = hex ? 2 : 0; i < len; i++) {
		uint64_t d = (uint64_t)vb_reg_text_digit(text[i]);

		if (d >= base || v > (UINT64_MAX - d) / base)
			return false;
		v = v * base + d;
	}
	*out = v;
	return len != 0;
}

static int take_number(const struct vb_csr_tool *t, const char *text, uint64_t max,
		       const char *what, uint32_t *out)
{
	uint64_t v;

	if (!vb_csr_number(text, strlen(text), &v) || v == 0 || v > max)
		return vb_cmd_usage(t->cmd, "'%s' is no %s", text, what);
	*out = (uint32_t)v;
	return 0;
}

int vb_csr_take_qpn(struct vb_csr_tool *t, const char *text)
{
	t->has_qpn = true;
	return take_number(t, text, 0xffffff, "number of a QP", &t->qpn);
}

int vb_csr_take_index(struct vb_csr_tool *t, const char *text)
{
	return take_number(t, text, VB_CSR_QPS, "index of a QP, 1 to 8192", &t->index);
}

static int find_device(struct vb_csr_tool *t)
{
	static struct vb_host_shm host;

	vb_host_read(t->o.host, &host);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		const struct vb_device *d = &host.device[i];

		if (!d->ifindex || (strcmp(d->name, t->device) != 0 &&
				    (d->parent || strcmp(d->ifname, t->device) != 0)))
			continue;
		t->device_at = i;
		return 0;
	}
	vb_cmd_error(t->cmd, "there is no device '%s'; 'verbena devices' lists them", t->device);
	return 1;
}

static int find_qp(struct vb_csr_tool *t)
{
	if (!t->has_qpn)
		return 0;
	t->index = vb_broker_qp_index(&t->o, t->qpn);
	if (t->index)
		return 0;
	vb_cmd_error(t->cmd,
		     "there is no QP 0x%06" PRIx32 " on this host, or it has no registers; "
		     "'verbena csr dump -d %s' lists them",
		     t->qpn, t->device);
	return 1;
}

int vb_csr_open(struct vb_csr_tool *t)
{
	char why[512];

	if (!t->device)
		return vb_cmd_usage(t->cmd, "no device: -d DEVICE");
	if (t->has_qpn && t->index)
		return vb_cmd_usage(t->cmd, "--qp and --index name a QP both");
	if (vb_broker_observe(&t->o, true, why, sizeof why)) {
		vb_cmd_error(t->cmd, "%s", why);
		return 1;
	}

	int rc = find_device(t);

	if (!rc)
		rc = find_qp(t);
	if (rc)
		vb_csr_close(t);
	return rc;
}

void vb_csr_close(struct vb_csr_tool *t)
{
	vb_broker_observe_end(&t->o);
}

void vb_csr_begin(struct vb_csr_tool *t, enum vb_broker_csr_method method)
{
	t->req.method = method;
	t->req.cnt = 0;
}

bool vb_csr_add(struct vb_csr_tool *t, uint32_t address, uint64_t word, uint64_t mask)
{
	if (t->req.cnt == VB_BROKER_WORDS_MAX)
		return false;
	t->req.access[t->req.cnt].at = address;
	t->req.access[t->req.cnt].word = word;
	t->req.access[t->req.cnt++].mask = mask;
	return true;
}

int vb_csr_try(struct vb_csr_tool *t, char *why, size_t why_size)
{
	snprintf(t->req.device, sizeof t->req.device, "%s", t->device);
	return vb_broker_csr_access(&t->o, &t->req, why, why_size);
}

int vb_csr_send(struct vb_csr_tool *t)
{
	char why[VB_BROKER_TEXT_MAX];

	if (vb_csr_try(t, why, sizeof why) == 0)
		return 0;
	vb_cmd_error(t->cmd, "%s", why);
	return 1;
}

int vb_csr_read_one(struct vb_csr_tool *t, uint32_t address, uint64_t *word)
{
	vb_csr_begin(t, VB_BROKER_CSR_READ);
	(void)vb_csr_add(t, address, 0, 0);

	int rc = vb_csr_send(t);

	*word = t->req.access[0].word;
	return rc;
}

const char *vb_csr_rate_text(uint32_t units_q8, uint32_t clk_hz)
{
	static char text[TEXTS][32];
	static unsigned next;
	char *to = text[next++ % TEXTS];
	double bps = (double)vb_cc_bps(units_q8, clk_hz);

	if (bps >= 1e9)
		snprintf(to, sizeof text[0], "%.4g Gb/s", bps / 1e9);
	else
		snprintf(to, sizeof text[0], "%.4g Mb/s", bps / 1e6);
	return to;
}
