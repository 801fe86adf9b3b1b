/* SPDX-License-Identifier: BSD-2-Clause */
/* Clients and observers beside a broker of the test's own, which sends what no broker of this
 * version sends: they refuse it, and keep nothing of it. node/client/msg.h, node/broker/broker.h */
#include "broker_env.h"
#include "descriptors.h"
#include "link/memory.h"
#include "mappings.h"
#include "node/cm/view.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/un.h>

static int pair[2];

static int pair_begin(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int pair_end(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

/* Sends @len bytes of @m with two descriptors, and closes its own copies. */
static void message_send(const void *m, size_t len)
{
	struct vb_fds fds = {.cnt = 2};

	assert_int_equal(pipe2(fds.fd, O_CLOEXEC), 0);
	assert_int_equal(vb_fds_send(pair[1], m, len, &fds), 0);
	vb_fds_close(&fds);
}

/* A message of another version or length is refused, and its descriptors are closed. */
static void message__of_another_version(void **state)
{
	static struct {
		struct vb_broker_msg m;
		uint8_t more;
	} longer;
	struct vb_broker_msg m, wrong[2];
	unsigned before = descriptors_of(getpid());
	struct vb_fds fds;

	(void)state;
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	wrong[0] = wrong[1] = longer.m = m;
	wrong[0].magic++;
	wrong[1].version++;
	for (int i = 0; i < 2; i++) {
		message_send(&wrong[i], sizeof wrong[i]);
		assert_int_equal(vb_broker_msg_recv(pair[0], &m, &fds, 0), -EPROTO);
	}
	message_send(&longer, offsetof(struct vb_broker_msg, text) - 1);
	assert_int_equal(vb_broker_msg_recv(pair[0], &m, &fds, 0), -EPROTO);
	message_send(&longer, sizeof m - 1);
	assert_int_equal(vb_broker_msg_recv(pair[0], &m, &fds, 0), -EPROTO);
	assert_int_equal(descriptors_of(getpid()), before);
	/* A whole one brings them. */
	message_send(&longer.m, sizeof m);
	assert_int_equal(vb_broker_msg_recv(pair[0], &m, &fds, 0), 1);
	assert_int_equal(fds.cnt, 2);
	assert_int_equal(descriptors_of(getpid()), before + 2);
	assert_int_equal(fcntl(fds.fd[0], F_GETFD), FD_CLOEXEC);
	vb_fds_close(&fds);
	assert_int_equal(fds.cnt, 0);
	assert_int_equal(vb_broker_msg_recv(pair[0], &m, &fds, MSG_DONTWAIT), -EAGAIN);
	close(pair[1]);
	pair[1] = -1;
	assert_int_equal(vb_broker_msg_recv(pair[0], &m, &fds, 0), 0);
}

/* Received texts always have an end. */
static void message__texts_end(void **state)
{
	struct vb_broker_msg m;
	struct vb_fds fds;

	(void)state;
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	memset(m.text, 'x', sizeof m.text);
	memset(m.comm, 'x', sizeof m.comm);
	assert_int_equal(vb_fds_send(pair[1], &m, sizeof m, NULL), 0);
	assert_int_equal(vb_broker_msg_recv(pair[0], &m, &fds, 0), 1);
	assert_int_equal(strlen(m.text), sizeof m.text - 1);
	assert_int_equal(strlen(m.comm), sizeof m.comm - 1);
}

/* Every question to a broker that has ended fails alike. */
static void question__to_a_broker_that_has_ended(void **state)
{
	struct vb_broker_observer o = {.sock = pair[0]};
	struct vb_broker_ask ask = {.len = 256};
	struct vb_broker_reg reg = {.id = 0};
	struct vb_broker_csr csr = {.cnt = 1};
	uint32_t tag;
	int status;

	(void)state;
	assert_int_equal(vb_broker_observe_check(&o), 0);
	assert_int_equal(vb_broker_ask_take(&o, &tag, &ask, &status), -EAGAIN);
	close(pair[1]);
	pair[1] = -1;
	assert_int_equal(vb_broker_ask_begin(&o, 1, &ask), -ECONNRESET);
	assert_int_equal(vb_broker_ask_take(&o, &tag, &ask, &status), -ECONNRESET);
	assert_int_equal(vb_broker_capture(&o, true), -ECONNRESET);
	assert_int_equal(vb_broker_stay(&o, true, 0), -ECONNRESET);
	assert_int_equal(vb_broker_access(&o, &reg, broker_why, sizeof broker_why), -ECONNRESET);
	assert_int_equal(vb_broker_csr_access(&o, &csr, broker_why, sizeof broker_why),
			 -ECONNRESET);
	assert_int_equal(vb_broker_observe_check(&o), -ECONNRESET);
}

/* Sends an answer with slots @slot, @fd_cnt descriptors, and @more behind it. */
static void slots_send(const uint16_t slot[2], uint32_t fd_cnt, uint32_t more)
{
	struct vb_fds fds = {.cnt = fd_cnt};
	struct vb_broker_msg m;

	vb_broker_msg_init(&m, VB_BROKER_SLOTS);
	m.cnt = 2;
	m.more = more;
	memcpy(m.slots, slot, 2 * sizeof *slot);
	for (uint32_t i = 0; i < fd_cnt; i++)
		fds.fd[i] = vb_memory_create(VB_MEMORY_SLOT, sizeof(struct vb_slot_shm));
	assert_int_equal(vb_fds_send(pair[1], &m, sizeof m, &fds), 0);
	vb_fds_close(&fds);
}

/* Each slot comes with one descriptor, in as many messages as needed; a slot keeps its memory. */
static void slots__come_with_their_memory(void **state)
{
	struct vb_broker_observer o = {.sock = pair[0]};
	unsigned before = descriptors_of(getpid());
	const struct vb_slot_shm *had;
	struct vb_broker_msg m;

	(void)state;
	slots_send((const uint16_t[]){2, 3}, 2, 1);
	slots_send((const uint16_t[]){3, 254}, 2, 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_true(o.slot[2] && o.slot[3] && o.slot[254] && !o.slot[4]);
	had = o.slot[3];
	slots_send((const uint16_t[]){3, 4}, 2, 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_ptr_equal(o.slot[3], had);
	assert_non_null(o.slot[4]);
	slots_send((const uint16_t[]){5, 6}, 1, 0);
	assert_int_equal(vb_broker_observe_slots(&o), -EPROTO);
	slots_send((const uint16_t[]){5, 6}, 3, 0);
	assert_int_equal(vb_broker_observe_slots(&o), -EPROTO);
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	assert_int_equal(vb_fds_send(pair[1], &m, sizeof m, NULL), 0);
	assert_int_equal(vb_broker_observe_slots(&o), -EPROTO);
	assert_true(!o.slot[5] && !o.slot[6]);
	assert_int_equal(descriptors_of(getpid()), before);
	vb_broker_observe_end(&o);
	pair[0] = -1;
}

/* Sends @m as the answer to what is asked next, with descriptor @fd unless negative. */
static void answer_send(struct vb_broker_msg *m, int fd)
{
	struct vb_fds fds = {.cnt = fd >= 0, .fd = {fd}};

	assert_int_equal(vb_fds_send(pair[1], m, sizeof *m, &fds), 0);
}

/* A broker's answer is checked before it is believed: numbers may lie outside of the tables, texts
 * may have no end. The status is the question's. */
static void answers__are_taken_with_care(void **state)
{
	struct vb_broker_observer o = {.sock = pair[0]};
	struct vb_broker_reg reg = {.id = 0};
	struct vb_broker_csr csr = {.cnt = 1};
	unsigned before = descriptors_of(getpid());
	struct vb_broker_msg m;
	char why[16];
	uint32_t asked;

	(void)state;
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	m.status = -EPERM;
	m.slot = 77;
	m.csr.failed = UINT32_MAX;
	m.csr.cnt = UINT32_MAX;
	memset(m.text, 'x', sizeof m.text);
	for (int i = 0; i < 5; i++)
		answer_send(&m, -1);
	assert_int_equal(vb_broker_csr_access(&o, &csr, why, sizeof why), -EPERM);
	assert_int_equal(csr.failed, 0);
	assert_int_equal(csr.cnt, 1);
	assert_int_equal(strlen(why), sizeof why - 1);
	assert_int_equal(vb_broker_access(&o, &reg, why, sizeof why), -EPERM);
	assert_int_equal(vb_broker_stay(&o, true, 0), -EPERM);
	assert_int_equal(vb_broker_fault(&o, 0, "", 0), -EPERM);
	assert_int_equal(vb_broker_ask_views(&o, 5, &asked), -EPERM);
	assert_int_equal(asked, 77);
	/* The last place of the table is one. */
	m.csr.failed = VB_BROKER_WORDS_MAX - 1;
	answer_send(&m, STDIN_FILENO); /* which nobody asked for */
	assert_int_equal(vb_broker_csr_access(&o, &csr, why, sizeof why), -EPERM);
	assert_int_equal(csr.failed, VB_BROKER_WORDS_MAX - 1);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* A table of connections comes as memory of its size, and has no more of them than that. */
static void connections__come_as_memory(void **state)
{
	static struct vb_cm_table table;
	struct vb_broker_observer o = {.sock = pair[0]};
	int fd = vb_memory_create(VB_CM_TABLE_NAME, sizeof table), pipes[2];
	unsigned before;
	struct vb_broker_msg m;
	struct vb_cm_table *t;
	void *p;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(vb_memory_map(fd, sizeof *t, true, &p), 0);
	t = p;
	t->total = t->cnt = UINT32_MAX;
	before = descriptors_of(getpid());
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	answer_send(&m, -1);
	assert_int_equal(vb_broker_connections(&o, &table), -EPROTO);
	answer_send(&m, pipes[0]);
	assert_int_equal(vb_broker_connections(&o, &table), -EINVAL);
	answer_send(&m, fd);
	assert_int_equal(vb_broker_connections(&o, &table), 0);
	assert_int_equal(table.cnt, VB_CM_TABLE_MAX);
	t->cnt = VB_CM_TABLE_MAX - 1;
	answer_send(&m, fd);
	assert_int_equal(vb_broker_connections(&o, &table), 0);
	assert_int_equal(table.cnt, VB_CM_TABLE_MAX - 1);
	m.status = -ENOMEM;
	answer_send(&m, fd);
	assert_int_equal(vb_broker_connections(&o, &table), -ENOMEM);
	assert_int_equal(descriptors_of(getpid()), before);
	vb_memory_unmap(p, sizeof *t);
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
}

/* Answers of other adapters come in any order; an answer to no question is passed over, and a
 * question without an answer has timed out. */
static void questions__are_answered_in_any_order(void **state)
{
	static const uint32_t tags[] = {2, 3, 0};
	struct vb_broker_observer o = {.sock = pair[0]};
	struct vb_broker_ask ask[3] = {{.attempts = 1}, {.attempts = 1}, {.attempts = 1}};
	int status[3] = {1, 1, 1};
	struct vb_broker_msg m;
	struct vb_fds fds;

	(void)state;
	for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
		vb_broker_msg_init(&m, VB_BROKER_DONE);
		m.slot = tags[i];
		m.status = -(int)tags[i];
		m.ask.round_trip = 100 + tags[i];
		answer_send(&m, -1);
	}
	assert_int_equal(vb_broker_ask(&o, ask, status, 3), 0);
	assert_int_equal(status[0], 0);
	assert_int_equal(status[1], -ETIMEDOUT);
	assert_int_equal(status[2], -2);
	assert_int_equal(ask[0].round_trip, 100);
	assert_int_equal(ask[2].round_trip, 102);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(vb_broker_msg_recv(pair[1], &m, &fds, MSG_DONTWAIT), 1);
		assert_int_equal(m.op, VB_BROKER_ASK);
		assert_int_equal(m.slot, i);
	}
}

/* Answers a request for registers, and says whose it was. */
static void serve_request(void *ctx, struct vb_broker_msg *m)
{
	++*(int *)ctx;
	m->csr.access[0].word = 4711;
}

/* A broker's message wakes its client and no more; a request is answered by its handler, or by
 * nobody. A message that says that the slot is another's ends the connection. */
static void check__what_the_broker_says(void **state)
{
	struct vb_broker_client c = {
	    .sock = pair[0], .rx_fd = -1, .fd_store = -1, .retry_ns = UINT64_MAX};
	unsigned before = descriptors_of(getpid());
	struct vb_broker_msg m;
	struct vb_fds fds;
	int served = 0;

	(void)state;
	assert_int_equal(vb_broker_check(&c), 0);
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	message_send(&m, sizeof m);
	assert_int_equal(vb_broker_check(&c), 0);
	assert_int_equal(descriptors_of(getpid()), before);
	vb_broker_msg_init(&m, VB_BROKER_CSR);
	for (int serves = 0; serves < 2; serves++) {
		assert_int_equal(vb_fds_send(pair[1], &m, sizeof m, NULL), 0);
		assert_int_equal(vb_broker_check(&c), 0);
		assert_int_equal(served, serves);
		assert_int_equal(vb_broker_msg_recv(pair[1], &m, &fds, MSG_DONTWAIT),
				 serves ? 1 : -EAGAIN);
		c.serve_csr = serve_request;
		c.serve_ctx = &served;
	}
	assert_int_equal(m.op, VB_BROKER_CSR);
	assert_int_equal(m.csr.access[0].word, 4711);
	assert_int_equal(c.sock, pair[0]);
	vb_broker_msg_init(&m, VB_BROKER_WELCOME);
	m.status = -ESTALE;
	assert_int_equal(vb_fds_send(pair[1], &m, sizeof m, NULL), 0);
	assert_int_equal(vb_broker_check(&c), -ENOTCONN);
	assert_int_equal(c.sock, -1);
	assert_int_equal(descriptors_of(getpid()), before - 1);
	pair[0] = -1;
	assert_int_equal(vb_broker_check(&c), -ENOTCONN);
}

/* An index, from 1 on, says where a QP lies in host memory. */
static void index__of_qps(void **state)
{
	static struct vb_host_memory mem;
	const struct vb_broker_observer o = {.sock = -1, .host = &mem.host};
	uint32_t qpn;

	(void)state;
	mem.qp_index[0] = 2u << 24 | 0x111;
	mem.qp_index[6] = 1u << 24 | 0x222;
	mem.qp_index[VB_CSR_QPS - 1] = 3u << 24 | 0x333;
	mem.host.device[2].parent = 1; /* a function of the first one */
	assert_int_equal(vb_broker_qp_index(&o, 0x111), 1);
	assert_int_equal(vb_broker_qp_index(&o, 0x222), 7);
	assert_int_equal(vb_broker_qp_index(&o, 0x333), VB_CSR_QPS);
	assert_int_equal(vb_broker_qp_index(&o, 0x444), 0);
	assert_int_equal(vb_broker_qp_index(&o, 0), 0);
	assert_int_equal(vb_broker_next_qp(&o, 0, 1, &qpn), 7);
	assert_int_equal(qpn, 0x222);
	assert_int_equal(vb_broker_next_qp(&o, 0, 8, &qpn), VB_CSR_QPS);
	assert_int_equal(qpn, 0x333);
	assert_int_equal(vb_broker_next_qp(&o, 1, 1, &qpn), 1);
	assert_int_equal(vb_broker_next_qp(&o, 1, 2, &qpn), 0);
	assert_int_equal(vb_broker_next_qp(&o, 0, VB_CSR_QPS + 1, &qpn), 0);
}

/* The broker of the test: its thread welcomes one client or observer as the test says. */
struct welcome {
	int listener;
	uint32_t slot_version, host_version;
	uint32_t fd_cnt; /* of a client's four, or of an observer's one */
	bool is_observer;
	bool is_no_welcome; /* the message says something else */
};

static void *welcome(void *ctx)
{
	const struct welcome *w = ctx;
	struct vb_fds fds, back = {.cnt = w->fd_cnt};
	struct vb_broker_msg m;
	int fd = accept(w->listener, NULL, NULL), pipes[2];
	const struct timeval patience = {.tv_sec = BROKER_PATIENCE_MS / 1000};
	struct vb_host_memory *host;
	struct vb_slot_shm *slot;
	void *p;

	if (fd < 0 || pipe2(pipes, O_CLOEXEC) || vb_broker_msg_recv(fd, &m, &fds, 0) != 1)
		return NULL;
	vb_broker_msg_init(&m, w->is_no_welcome ? VB_BROKER_DONE : VB_BROKER_WELCOME);
	m.slot = VB_SLOT_FIRST;
	back.fd[VB_WELCOME_RX] = pipes[0];
	back.fd[VB_WELCOME_FD_STORE] = pipes[1];
	back.fd[VB_WELCOME_SLOT] = vb_memory_create(VB_MEMORY_SLOT, sizeof *slot);
	back.fd[VB_WELCOME_HOST] = vb_memory_create(VB_MEMORY_HOST, sizeof *host);
	if (!vb_memory_map(back.fd[VB_WELCOME_SLOT], sizeof *slot, true, &p)) {
		slot = p;
		slot->version = w->slot_version;
		vb_memory_unmap(p, sizeof *slot);
	}
	if (!vb_memory_map(back.fd[VB_WELCOME_HOST], sizeof *host, true, &p)) {
		host = p;
		host->host.version = w->host_version;
		vb_memory_unmap(p, sizeof *host);
	}
	(void)vb_fds_send(fd, &m, sizeof m, &back);
	back.cnt = VB_WELCOME_CNT;
	vb_fds_close(&back);
	/* Waits until the other side saw it. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	(void)vb_broker_msg_recv(fd, &m, &fds, 0);
	close(fd);
	return NULL;
}

/* Connects to a broker that welcomes as @w says. */
static int connected(struct welcome *w, struct vb_broker_client *c)
{
	struct vb_broker_observer o;
	struct sockaddr_un a;
	socklen_t len = vb_broker_address(&a, geteuid());
	unsigned before = descriptors_of(getpid()), mapped = mappings_of("verbena-");
	pthread_t thread;
	int rc;

	w->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(w->listener, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(w->listener, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, welcome, w), 0);
	if (w->is_observer)
		rc = vb_broker_observe(&o, false, broker_why, sizeof broker_why);
	else
		rc = vb_broker_connect(c, broker_why, sizeof broker_why);
	if (!rc) {
		assert_false(w->is_observer);
		(void)shutdown(c->sock, SHUT_WR);
	}
	/* A refused connection is closed, so that the broker hears of it. */
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(w->listener);
	if (rc) {
		assert_int_equal(descriptors_of(getpid()), before);
		assert_int_equal(mappings_of("verbena-"), mapped);
		assert_string_not_equal(broker_why, "");
	}
	return rc;
}

/* Memory that is missing or of another version is refused, and no descriptor stays. */
static void welcome__of_another_version(void **state)
{
	struct welcome w = {.slot_version = VB_SHM_VERSION,
			    .host_version = VB_SHM_VERSION,
			    .fd_cnt = VB_WELCOME_CNT};
	struct vb_broker_client c;

	(void)state;
	w.slot_version++;
	assert_int_equal(connected(&w, &c), -EPROTO);
	w.slot_version--;
	w.host_version++;
	assert_int_equal(connected(&w, &c), -EPROTO);
	w.host_version--;
	w.is_no_welcome = true;
	assert_int_equal(connected(&w, &c), -EPROTO);
	w.is_no_welcome = false;
	for (w.fd_cnt = 0; w.fd_cnt < VB_WELCOME_CNT; w.fd_cnt++)
		assert_int_equal(connected(&w, &c), -EPROTO);
	w.is_observer = true;
	w.fd_cnt = 0;
	assert_int_equal(connected(&w, &c), -EPROTO);
	w.fd_cnt = 2;
	assert_int_equal(connected(&w, &c), -EPROTO);
	w.fd_cnt = 1; /* a pipe */
	assert_int_equal(connected(&w, &c), -EINVAL);
}

/* Whether this process may write where @p points, as /proc/self/maps has it. */
static bool is_writable(const void *p)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[512], mode[5];
	bool found = false;

	assert_non_null(f);
	while (!found && fgets(line, sizeof line, f))
		found = sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 &&
			from <= (unsigned long)p && (unsigned long)p < to;
	fclose(f);
	assert_true(found);
	return mode[1] == 'w';
}

/* The device table is read-only; memory that clients share is writable. */
static void welcome__host_memory_is_for_reading(void **state)
{
	struct welcome w = {.slot_version = VB_SHM_VERSION,
			    .host_version = VB_SHM_VERSION,
			    .fd_cnt = VB_WELCOME_CNT};
	struct vb_broker_client c;
	const struct vb_host_memory *m;
	unsigned before = descriptors_of(getpid()), mapped = mappings_of("verbena-");

	(void)state;
	assert_int_equal(connected(&w, &c), 0);
	/* Its connection, socket and store; its memory is mapped. */
	assert_int_equal(descriptors_of(getpid()), before + 3);
	assert_int_equal(c.slot, VB_SLOT_FIRST);
	m = (const struct vb_host_memory *)c.host;
	assert_false(is_writable(c.host));
	assert_false(is_writable(&m->past));
	assert_true(is_writable(c.shm) && is_writable(c.flow));
	assert_ptr_equal(c.flow, m->flow);
	assert_ptr_equal(c.bell, m->bell);
	assert_ptr_equal(c.queue_idle, m->queue_idle);
	assert_ptr_equal(c.wakeup, m->wakeup);
	assert_ptr_equal(c.mailbox, m->mailbox);
	vb_broker_abandon(&c);
	assert_int_equal(descriptors_of(getpid()), before);
	assert_int_equal(mappings_of("verbena-"), mapped);
	assert_null(c.host);
	assert_int_equal(c.sock, -1);
}

/* An observer's memory and connection go with it, and so does the memory of slots. */
static void observe_end__leaves_nothing(void **state)
{
	struct vb_broker_observer o = {.sock = pair[0]};
	unsigned before = descriptors_of(getpid()), mapped = mappings_of("verbena-");
	int fd = vb_memory_create(VB_MEMORY_HOST, sizeof(struct vb_host_memory));
	void *p;

	(void)state;
	assert_int_equal(vb_memory_map(fd, sizeof(struct vb_host_memory), false, &p), 0);
	close(fd);
	o.host = p;
	slots_send((const uint16_t[]){2, 254}, 2, 0);
	assert_int_equal(vb_broker_observe_slots(&o), 0);
	assert_int_equal(mappings_of("verbena-"), mapped + 3);
	vb_broker_observe_end(&o);
	pair[0] = -1;
	assert_int_equal(mappings_of("verbena-"), mapped);
	assert_int_equal(descriptors_of(getpid()), before - 1);
	assert_int_equal(o.sock, -1);
	assert_null(o.host);
	assert_null(o.slot[2]);
}

#define P(f) cmocka_unit_test_setup_teardown(f, pair_begin, pair_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    P(message__of_another_version),
	    P(message__texts_end),
	    P(question__to_a_broker_that_has_ended),
	    P(slots__come_with_their_memory),
	    P(answers__are_taken_with_care),
	    P(connections__come_as_memory),
	    P(questions__are_answered_in_any_order),
	    P(observe_end__leaves_nothing),
	    P(check__what_the_broker_says),
	    cmocka_unit_test(index__of_qps),
	    cmocka_unit_test(welcome__of_another_version),
	    cmocka_unit_test(welcome__host_memory_is_for_reading),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
