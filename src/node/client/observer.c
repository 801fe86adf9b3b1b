/* SPDX-License-Identifier: BSD-2-Clause */
/* An observer's side of the broker connection, see broker.h. */
#include "link/memory.h"
#include "node/broker/broker.h"
#include "node/client/dial.h"
#include "node/cm/view.h"
#include "node/host/clock.h"
#include "node/host/error_hints.h"
#include "node/host/process.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A program whose registers are asked for may be stopped. */
#define PROGRAM_NS (5 * VB_SEC)
#define READ_ATTEMPTS 1000
/* A process that polls looks about once a second whether it is asked. */
#define VIEWS_NS (1500 * VB_MSEC)
#define LOOK_NS (2 * VB_MSEC)

int vb_broker_observe(struct vb_broker_observer *o, bool start, char *why, size_t why_size)
{
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};
	void *host;

	memset(o, 0, sizeof *o);
	o->sock = -1;
	vb_broker_msg_init(&m, VB_BROKER_OBSERVER);
	int sock = vb_broker_dial(&m, &fds, start, why, why_size);
	if (sock < 0)
		return sock;
	int rc = fds.cnt == 1
		     ? vb_memory_map(fds.fd[0], sizeof(struct vb_host_memory), false, &host)
		     : -EPROTO;
	vb_fds_close(&fds);
	if (rc) {
		rc = vb_error_hint(why, why_size, rc, "cannot map the broker's memory");
		close(sock);
		return rc;
	}
	o->sock = sock;
	o->host = host;
	return 0;
}

/* A broker that has gone is the same whether it is met by sending or by receiving. */
static int request_send(struct vb_broker_observer *o, const struct vb_broker_msg *m)
{
	int rc = vb_fds_send(o->sock, m, sizeof *m, NULL);

	return rc == -EPIPE ? -ECONNRESET : rc;
}

static int take_slots(struct vb_broker_observer *o, const struct vb_broker_msg *m,
		      const struct vb_fds *fds)
{
	if (m->op != VB_BROKER_SLOTS || m->cnt != fds->cnt)
		return -EPROTO;
	for (uint32_t i = 0; i < m->cnt; i++) {
		uint32_t k = m->slots[i];
		void *p;

		/* A slot keeps its memory from one owner to the next. */
		if (k < VB_SLOT_CNT && !o->slot[k] &&
		    !vb_memory_map(fds->fd[i], sizeof *o->slot[k], false, &p))
			o->slot[k] = p;
	}
	return 0;
}

int vb_broker_observe_slots(struct vb_broker_observer *o)
{
	struct vb_broker_msg m;
	vb_time deadline = vb_clock_now() + VB_BROKER_PATIENCE_NS;

	vb_broker_msg_init(&m, VB_BROKER_GET_SLOTS);
	int rc = request_send(o, &m);
	do {
		struct vb_fds fds = {.cnt = 0};

		if (!rc)
			rc = vb_broker_await(o->sock, &m, &fds, deadline);
		if (!rc)
			rc = take_slots(o, &m, &fds);
		vb_fds_close(&fds);
	} while (!rc && m.more);
	return rc;
}

/* Sends a request and receives the answer into it, in no more than @patience. */
static int ask_broker(struct vb_broker_observer *o, struct vb_broker_msg *m, vb_dur patience)
{
	struct vb_fds fds = {.cnt = 0};
	int rc = request_send(o, m);

	if (!rc)
		rc = vb_broker_await(o->sock, m, &fds, vb_clock_now() + patience);
	vb_fds_close(&fds);
	return rc;
}

int vb_broker_capture(struct vb_broker_observer *o, bool on)
{
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_CAPTURE);
	m.slot = on;
	return ask_broker(o, &m, VB_BROKER_PATIENCE_NS);
}

int vb_broker_access(struct vb_broker_observer *o, struct vb_broker_reg *reg, char *why,
		     size_t why_size)
{
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_REGISTER);
	m.reg = *reg;

	int rc = ask_broker(o, &m, VB_BROKER_PATIENCE_NS);

	if (rc) {
		snprintf(why, why_size, "the broker does not answer: %s", strerror(-rc));
		return rc;
	}
	m.text[sizeof m.text - 1] = 0;
	snprintf(why, why_size, "%s", m.text);
	*reg = m.reg;
	return m.status;
}

int vb_broker_csr_access(struct vb_broker_observer *o, struct vb_broker_csr *csr, char *why,
			 size_t why_size)
{
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_CSR);
	m.csr = *csr;

	int rc = ask_broker(o, &m, PROGRAM_NS);

	if (rc) {
		snprintf(why, why_size,
			 "the broker, or the program whose QP it is, does not answer: %s",
			 strerror(-rc));
		return rc;
	}
	m.text[sizeof m.text - 1] = 0;
	snprintf(why, why_size, "%s", m.text);
	if (m.csr.failed >= VB_BROKER_WORDS_MAX)
		m.csr.failed = 0;
	m.csr.cnt = csr->cnt;
	*csr = m.csr;
	return m.status;
}

static uint32_t index_entry(const struct vb_broker_observer *o, uint32_t index)
{
	/* The device table is the first member of host memory. */
	const struct vb_host_memory *mem = (const struct vb_host_memory *)o->host;

	return __atomic_load_n(&mem->qp_index[index - 1], __ATOMIC_RELAXED);
}

uint32_t vb_broker_qp_index(const struct vb_broker_observer *o, uint32_t qpn)
{
	for (uint32_t i = 1; i <= VB_CSR_QPS; i++) {
		uint32_t e = index_entry(o, i);

		if (e && (e & 0xffffff) == qpn)
			return i;
	}
	return 0;
}

uint32_t vb_broker_next_qp(const struct vb_broker_observer *o, uint32_t device, uint32_t from,
			   uint32_t *qpn)
{
	for (uint32_t i = from; i <= VB_CSR_QPS; i++) {
		uint32_t e = index_entry(o, i), of = (e >> 24) - 1;

		if (!e || of >= VB_DEVICES_MAX ||
		    (of != device && o->host->device[of].parent != device + 1))
			continue;
		*qpn = e & 0xffffff;
		return i;
	}
	return 0;
}

int vb_broker_stay(struct vb_broker_observer *o, bool on, uint32_t vf_cnt)
{
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_KEEP);
	m.slot = on;
	m.cnt = vf_cnt;

	int rc = ask_broker(o, &m, VB_BROKER_PATIENCE_NS);

	return rc ? rc : m.status;
}

const struct vb_adapter_shm *vb_broker_adapter(const struct vb_broker_observer *o)
{
	/* The device table is the first member of host memory. */
	return &((const struct vb_host_memory *)o->host)->adapter;
}

bool vb_broker_is_used(struct vb_broker_observer *o)
{
	uint32_t kept = 0;

	(void)vb_adapter_read(vb_broker_adapter(o), offsetof(struct vb_adapter_state, is_kept),
			      sizeof kept, &kept);
	if (kept || vb_broker_observe_slots(o))
		return true; /* where nothing is known, too */
	for (int i = VB_SLOT_FIRST; i < VB_SLOT_CNT; i++)
		if (o->slot[i] && o->slot[i]->pid)
			return true;
	return false;
}

int vb_broker_fault(struct vb_broker_observer *o, uint32_t device, const char *text, uint64_t seed)
{
	struct vb_broker_msg m;

	if (strlen(text) >= VB_FAULT_TEXT_MAX)
		return -E2BIG;
	vb_broker_msg_init(&m, VB_BROKER_FAULT);
	m.slot = device;
	m.seed = seed;
	snprintf(m.text, sizeof m.text, "%s", text);
	int rc = ask_broker(o, &m, VB_BROKER_PATIENCE_NS);

	return rc ? rc : m.status;
}

int vb_broker_ask_views(struct vb_broker_observer *o, uint32_t qpn, uint32_t *asked)
{
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_EXPLAIN);
	m.slot = qpn;

	int rc = ask_broker(o, &m, VB_BROKER_PATIENCE_NS);

	*asked = m.slot;
	return rc ? rc : m.status;
}

static bool has_answered(const struct vb_slot_shm *s, uint32_t asked)
{
	return __atomic_load_n(&s->explain.answered, __ATOMIC_ACQUIRE) == asked;
}

void vb_broker_await_views(const struct vb_broker_observer *o, uint32_t asked)
{
	vb_time end = vb_clock_now() + VIEWS_NS;
	bool waits = true;

	while (waits && vb_clock_now() < end) {
		waits = false;
		for (uint32_t k = VB_SLOT_FIRST; k < VB_SLOT_CNT && !waits; k++) {
			const struct vb_slot_shm *s = o->slot[k];

			waits = s && s->pid && !has_answered(s, asked) &&
				!vb_process_is_stopped((pid_t)s->pid);
		}
		if (waits)
			nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
}

int vb_broker_connections(struct vb_broker_observer *o, struct vb_cm_table *to)
{
	struct vb_broker_msg m;
	struct vb_fds fds = {.cnt = 0};
	void *p;
	int rc;

	vb_broker_msg_init(&m, VB_BROKER_CONNECTIONS);
	rc = request_send(o, &m);
	if (!rc)
		rc = vb_broker_await(o->sock, &m, &fds, vb_clock_now() + VB_BROKER_PATIENCE_NS);
	if (!rc)
		rc = m.status;
	if (!rc)
		rc = fds.cnt == 1 ? vb_memory_map(fds.fd[0], sizeof *to, false, &p) : -EPROTO;
	vb_fds_close(&fds);
	if (rc)
		return rc;
	memcpy(to, p, sizeof *to);
	vb_memory_unmap(p, sizeof *to);
	if (to->cnt > VB_CM_TABLE_MAX)
		to->cnt = VB_CM_TABLE_MAX;
	return 0;
}

void vb_explain_read(const struct vb_explain_shm *shm, const void *from, void *to, size_t size)
{
	for (int i = 0; i < READ_ATTEMPTS; i++) {
		uint32_t seq = __atomic_load_n(&shm->seq, __ATOMIC_ACQUIRE);

		memcpy(to, from, size);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(seq & 1) && __atomic_load_n(&shm->seq, __ATOMIC_RELAXED) == seq)
			return;
	}
}

const struct vb_past *vb_broker_past(const struct vb_broker_observer *o)
{
	return &((const struct vb_host_memory *)o->host)->past;
}

int vb_broker_observe_check(struct vb_broker_observer *o)
{
	char byte;

	ssize_t n = recv(o->sock, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	return n == 0 || (n < 0 && errno == ECONNRESET) ? -ECONNRESET : 0;
}

static void totals_once(const struct vb_broker_observer *o, struct vb_counters *total)
{
	for (int port = 1; port <= VB_HCA_PORTS_MAX; port++) {
		total[port] = o->host->past[port];
		for (int k = 0; k < VB_SLOT_CNT; k++)
			for (int i = 0; o->slot[k] && i < VB_COUNTER_CNT; i++)
				total[port].v[i] += __atomic_load_n(
				    &o->slot[k]->counters[port].v[i], __ATOMIC_RELAXED);
	}
}

void vb_broker_totals(const struct vb_broker_observer *o, struct vb_counters *total)
{
	for (int i = 0; i < READ_ATTEMPTS; i++) {
		uint32_t seq = __atomic_load_n(&o->host->seq, __ATOMIC_ACQUIRE);

		if (!(seq & 1)) {
			totals_once(o, total);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (__atomic_load_n(&o->host->seq, __ATOMIC_RELAXED) == seq)
				return;
		} else {
			sched_yield();
		}
	}
	totals_once(o, total);
}

void vb_broker_observe_end(struct vb_broker_observer *o)
{
	for (int k = 0; k < VB_SLOT_CNT; k++)
		vb_memory_unmap(o->slot[k], sizeof *o->slot[k]);
	vb_memory_unmap(o->host, sizeof(struct vb_host_memory));
	if (o->sock >= 0)
		close(o->sock);
	memset(o, 0, sizeof *o);
	o->sock = -1;
}
