/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections with an alternate path, as a program of the verbs has them: the attributes of both
 * paths, and the migration when a port goes down. IBA 11.2.5.2, 17.2.8
 */
#include "core/qp/qp.h"
#include "verbs_fabric_env.h"

/* The attributes of a QP whose primary path is by @port, and the alternate path by the other. */
static struct ibv_qp_attr attr_of(uint8_t port)
{
	uint8_t other = (uint8_t)(3 - port);

	return (struct ibv_qp_attr){
	    .port_num = port,
	    .pkey_index = port,
	    .path_mtu = IBV_MTU_256,
	    .ah_attr = {.dlid = 5, .static_rate = IBV_RATE_2_5_GBPS, .port_num = port},
	    .timeout = 14,
	    .alt_port_num = other,
	    .alt_pkey_index = other,
	    .alt_ah_attr = {.dlid = 6, .static_rate = IBV_RATE_5_GBPS, .port_num = other},
	    .alt_timeout = 17};
}

static struct ibv_qp *qp_new(struct ibv_pd *of, struct ibv_qp_attr *a, bool has_alternate)
{
	struct ibv_cq *cq = ibv_create_cq(of->context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
	    .send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(of, &init);
	const int mask[] = {
	    IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	    IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC | (has_alternate ? IBV_QP_ALT_PATH : 0),
	};

	assert_non_null(qp);
	for (int i = 0; i < 3; i++) {
		a->qp_state = (enum ibv_qp_state)(IBV_QPS_INIT + i);
		assert_int_equal(ibv_modify_qp(qp, a, IBV_QP_STATE | mask[i]), 0);
	}
	return qp;
}

static struct ibv_qp_attr shown(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	assert_int_equal(ibv_query_qp(qp, &a, 0, &init), 0);
	return a;
}

/* The table of devices is another one now, and the adapter has seen it. */
static void table_changes(struct vb_host_shm *host, struct ibv_context *of)
{
	struct vb_engine *e = vb_ibv_ctx(of)->engine;

	vb_engine_lock(e);
	__atomic_store_n(&host->generation, host->generation + 1, __ATOMIC_RELEASE);
	vb_engine_reload(e);
	vb_engine_progress(e); /* tells of events */
	vb_engine_unlock(e);
}

/* Each path of a connection has its own attributes, which stay when the other path changes. IBA
 * 11.2.5.2, 11.2.5.3 */
static void modify_qp__two_paths(void **state)
{
	struct vb_host_shm *host = own_host();
	struct ibv_context *of = open_fabric(host);
	struct ibv_qp_attr a = attr_of(1);
	struct ibv_qp *qp;

	(void)state;
	host->device_cnt = 2;
	table_changes(host, of);
	qp = qp_new(ibv_alloc_pd(of), &a, true);
	for (uint8_t again = 0; again < 2; again++) {
		const struct ibv_qp_attr q = shown(qp);

		assert_memory_equal(&q.ah_attr, &a.ah_attr, sizeof a.ah_attr);
		assert_memory_equal(&q.alt_ah_attr, &a.alt_ah_attr, sizeof a.alt_ah_attr);
		assert_true(q.port_num == 1 && q.alt_port_num == 2);
		assert_true(q.pkey_index == 1 && q.alt_pkey_index == 2);
		assert_int_equal(q.timeout, 14);
		assert_int_equal(q.alt_timeout, 17 + again);
		a.alt_timeout++;
		a.alt_ah_attr.dlid++;
		a.timeout = 20; /* of which the mask says nothing */
		assert_int_equal(ibv_modify_qp(qp, &a, IBV_QP_ALT_PATH), 0);
	}
	assert_int_equal(ibv_close_device(of), 0);
}

enum { FIRST, SECOND, UNARMED, WITHOUT, QPS };

static struct ibv_qp *qps[QPS];

/* Migrations that the program hears of now, by bits of QPs. */
static unsigned migrated(struct ibv_context *of)
{
	struct ibv_async_event e;
	unsigned set = 0;

	while (ibv_get_async_event(of, &e) == 0) {
		for (int i = 0; i < QPS && e.event_type == IBV_EVENT_PATH_MIG; i++)
			set |= (unsigned)(e.element.qp == qps[i]) << i;
		ibv_ack_async_event(&e);
	}
	assert_int_equal(errno, EAGAIN);
	return set;
}

static void assert_path(int i, uint8_t port, bool is_alternate)
{
	const struct ibv_qp_attr q = shown(qps[i]);

	assert_int_equal(q.ah_attr.port_num, port);
	assert_int_equal(q.port_num, port);
	assert_int_equal(q.pkey_index, port);
	assert_int_equal(q.ah_attr.dlid, is_alternate ? 6 : 5);
	assert_int_equal(q.timeout, is_alternate ? 17 : 14);
}

/* A port that goes down, or whose interface goes away, makes QPs that are armed migrate at once, if
 * their path is by it; other QPs stay, and so do all when a port comes up, or when the table of
 * devices changes otherwise. IBA 17.2.8.1 */
static void reload__armed_qps_migrate(void **state)
{
	(void)state;
	for (int gone = 0; gone < 2; gone++) {
		struct vb_host_shm *host = own_host();
		const struct vb_device was = host->device[0];
		struct ibv_context *of = open_fabric(host);
		struct ibv_pd *own = ibv_alloc_pd(of);

		host->device_cnt = 2;
		table_changes(host, of);
		for (int i = 0; i < QPS; i++) {
			struct ibv_qp_attr a = attr_of(i == SECOND ? 2 : 1);

			qps[i] = qp_new(own, &a, i != WITHOUT);
			/* As when the peer has said that it is ready as well. */
			if (i < UNARMED)
				((struct vb_ibv_qp *)qps[i])->core->attr.path_mig_state =
				    VB_MIG_ARMED;
		}
		table_changes(host, of);
		assert_int_equal(migrated(of), 0);
		if (gone)
			host->device[0].ifindex = 0;
		else
			host->device[0].is_up = 0;
		table_changes(host, of);
		assert_int_equal(migrated(of), 1u << FIRST);
		assert_path(FIRST, 2, true);
		assert_int_equal(shown(qps[FIRST]).path_mig_state, IBV_MIG_MIGRATED);
		assert_path(SECOND, 2, false);
		assert_path(UNARMED, 1, false);
		assert_path(WITHOUT, 1, false);
		host->device[0].ifindex = was.ifindex;
		host->device[0].is_up = 1;
		table_changes(host, of);
		assert_int_equal(migrated(of), 0);
		/* The other port; the QP that has migrated has no path left to go to. */
		host->device[1].is_up = 0;
		table_changes(host, of);
		assert_int_equal(migrated(of), 1u << SECOND);
		assert_path(SECOND, 1, true);
		assert_path(FIRST, 2, true);
		assert_int_equal(ibv_close_device(of), 0);
		*host->device = was;
		host->device[1] = (struct vb_device){.pkey = {0}};
		host->device_cnt = 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    VERBS_TEST(modify_qp__two_paths),
	    VERBS_TEST(reload__armed_qps_migrate),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
