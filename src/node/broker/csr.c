/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker and the CSR space. Global registers are the adapter's state, changed as ROCE_ACCL is.
 * Registers of a QP are where the QP is, in a client: the broker finds it by the index, hands the
 * request on and its answer back, and waits for nobody. CC-31, CC-43, docs/registers.md
 */
#include "node/broker/state.h"
#include "node/netdev/devices.h"
#include "reg/csr/cc_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Says what is wrong with access @i. */
static int refuse_access(struct vb_broker_msg *m, uint32_t i, int status, const char *rule)
{
	m->csr.failed = i;
	m->status = status;
	if (m->csr.method == VB_BROKER_CSR_NAME)
		snprintf(m->text, sizeof m->text, "%s", rule);
	else
		snprintf(m->text, sizeof m->text, "0x%06" PRIx32 ": %s", m->csr.access[i].at, rule);
	return status;
}

static bool is_busy(const struct vb_broker *b, uint32_t device)
{
	for (uint32_t i = 0; i < b->conn_end; i++)
		if (b->conn[i].in_use && b->conn[i].asks.slot && b->conn[i].asks.is_write &&
		    b->conn[i].asks.device == device)
			return true;
	return false;
}

static int access_word(struct vb_reg_file *f, bool busy, struct vb_broker_msg *m, uint32_t i)
{
	struct vb_reg_fault fault;
	uint64_t old, mask = m->csr.access[i].mask, *word = &m->csr.access[i].word;
	int err = vb_csr_get(f, busy, m->csr.access[i].at, &old, &fault);
	char text[200];

	if (!err && vb_broker_csr_reads(m->csr.method))
		*word = old;
	else if (!err)
		err = vb_csr_set(f, m->csr.access[i].at, (old & ~mask) | (*word & mask), &fault);
	if (!err)
		return 0;
	if (fault.field)
		snprintf(text, sizeof text, "%s=0x%" PRIx64 ": %s", fault.field->path, fault.value,
			 fault.rule);
	return refuse_access(m, i, err, fault.field ? text : fault.rule);
}

static int access_name(struct vb_reg_file *f, uint64_t line_bps, struct vb_broker_msg *m,
		       uint32_t i)
{
	uint32_t k = m->csr.access[i].at;
	const char *rule;

	if (k >= vb_cc_name_cnt)
		return refuse_access(m, i, -EINVAL, "there is no setting of this number");
	if (vb_cc_name_set(&vb_cc_names[k], &f->cc, m->csr.access[i].word, line_bps, &rule) == 0)
		return 0;

	char text[200];

	snprintf(text, sizeof text, "%s=%" PRIu64 " %s",
		 vb_cc_names[k].debugfs ? vb_cc_names[k].debugfs : vb_cc_names[k].sysfs,
		 m->csr.access[i].word, rule);
	return refuse_access(m, i, -EINVAL, text);
}

/* All or nothing: the copy that counts is switched at the end. */
static void access_globals(struct vb_broker *b, struct vb_broker_msg *m, uint32_t pf)
{
	static struct vb_adapter_state next;
	struct vb_adapter_shm *a = vb_slots_adapter(&b->slots);
	struct vb_adapter_pf *to = &next.pf[pf];
	bool busy = is_busy(b, pf);

	next = *vb_adapter_state(a);
	for (uint32_t i = 0; !m->status && i < m->csr.cnt; i++) {
		if (m->csr.method == VB_BROKER_CSR_NAME)
			(void)access_name(&to->reg, vb_device_rate_bps(&b->slots.host->device[pf]),
					  m, i);
		else
			(void)access_word(&to->reg, busy, m, i);
	}
	if (m->status || vb_broker_csr_reads(m->csr.method))
		return;
	to->cc_epoch++;
	vb_adapter_commit(a, &next);
	vb_broker_wake_clients(b);
}

/* The QP's index if all accesses are to registers of one QP, 0 if to global ones. */
static int find_index(struct vb_broker_msg *m, uint32_t *index)
{
	*index = 0;
	for (uint32_t i = 0; m->csr.method != VB_BROKER_CSR_NAME && i < m->csr.cnt; i++) {
		uint32_t now;

		if (!vb_csr_at(m->csr.access[i].at, &now))
			return refuse_access(m, i, -EINVAL, "there is no register at this address");
		if (i && now != *index)
			return refuse_access(
			    m, i, -EINVAL,
			    "is not of the same QP, or not global, as those before it");
		*index = now;
	}
	return 0;
}

/* The QP of @index as device @device sees it: its own, and a physical function those of its virtual
 * functions. 0: there is none. */
static uint32_t find_qpn(const struct vb_broker *b, uint32_t device, uint32_t index)
{
	const struct vb_host_memory *mem = (const struct vb_host_memory *)b->slots.host;
	uint32_t e = __atomic_load_n(&mem->qp_index[index - 1], __ATOMIC_RELAXED);
	uint32_t of = (e >> 24) - 1;

	if (!e || of >= VB_DEVICES_MAX ||
	    (of != device && mem->host.device[of].parent != device + 1))
		return 0;
	return e & 0xffffff;
}

/* Hands the request on. 0: the answer will come from the client. */
static int ask_client(struct vb_broker *b, struct vb_conn *c, struct vb_broker_msg *m,
		      uint32_t device, uint32_t index)
{
	uint32_t qpn = find_qpn(b, device, index), slot = vb_slot_of_qpn(qpn);
	struct vb_conn *client = qpn ? vb_conn_of_slot(b, slot) : NULL;
	char text[100];

	if (!client) {
		snprintf(text, sizeof text, "no QP of %s has index %" PRIu32,
			 b->slots.host->device[device].name, index);
		return refuse_access(m, 0, -ENXIO, text);
	}
	m->op = VB_BROKER_CSR;
	m->csr.qpn = qpn;
	m->csr.tag = ++b->tag;
	if (vb_fds_send(client->sock, m, sizeof *m, NULL)) {
		snprintf(text, sizeof text, "process %d, whose QP this is, takes no requests",
			 (int)client->pid);
		return refuse_access(m, 0, -EBUSY, text);
	}
	c->asks.slot = slot;
	c->asks.tag = m->csr.tag;
	c->asks.device = device;
	c->asks.is_write = !vb_broker_csr_reads(m->csr.method);
	return 0;
}

static int check_accesses(struct vb_broker *b, struct vb_conn *c, struct vb_broker_msg *m,
			  uint32_t *device)
{
	const struct vb_host_shm *host = b->slots.host;

	m->csr.device[sizeof m->csr.device - 1] = 0;

	int i = vb_devices_find(host, m->csr.device);

	if (m->csr.cnt == 0 || m->csr.cnt > VB_BROKER_WORDS_MAX ||
	    m->csr.method > VB_BROKER_CSR_LOOK || c->asks.slot)
		return -EPROTO;
	if (i < 0) {
		snprintf(m->text, sizeof m->text, "there is no device '%s'", m->csr.device);
		return -ENODEV;
	}
	*device = (uint32_t)i;
	if (host->device[i].parent && !vb_broker_csr_reads(m->csr.method)) {
		snprintf(m->text, sizeof m->text, "%s is a virtual function: use '-d %s'",
			 host->device[i].name, host->device[host->device[i].parent - 1].name);
		return -EPERM;
	}
	return 0;
}

void vb_broker_csr(struct vb_broker *b, struct vb_conn *c, struct vb_broker_msg *m)
{
	uint32_t device = 0, index = 0;

	m->text[0] = 0;
	m->csr.qpn = m->csr.failed = 0;
	m->status = check_accesses(b, c, m, &device);
	if (!m->status)
		m->status = find_index(m, &index);
	if (!m->status && index) {
		m->status = ask_client(b, c, m, device, index);
		if (!m->status)
			return;
	} else if (!m->status) {
		uint32_t parent = b->slots.host->device[device].parent;

		/* A virtual function reads through to its physical one. ADP-26 */
		access_globals(b, m, parent ? parent - 1 : device);
	}
	vb_conn_answer(b, c, m);
}

void vb_broker_csr_answer(struct vb_broker *b, const struct vb_conn *client,
			  struct vb_broker_msg *m)
{
	for (uint32_t i = 0; i < b->conn_end; i++) {
		struct vb_conn *c = &b->conn[i];

		if (!c->in_use || c->asks.slot != client->slot || c->asks.tag != m->csr.tag)
			continue;
		c->asks.slot = 0;
		vb_conn_answer(b, c, m);
		return;
	}
	/* The process that asked has gone. */
}
