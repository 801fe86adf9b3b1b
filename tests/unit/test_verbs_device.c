/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices, contexts, and what they say of themselves. */
#include "descriptors.h"
#include "link/memory.h"
#include "node/wait/watch.h"
#include "verbs/priv.h"
#include "verbs_env.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/resource.h>

/* Of a header that rdma-core keeps to itself. */
const char *ibv_get_sysfs_path(void);

static void device_list__describes_lo(void **state)
{
	struct ibv_device **list;
	int cnt;

	(void)state;
	list = ibv_get_device_list(&cnt);
	assert_int_equal(cnt, 1);
	assert_null(list[1]);
	assert_string_equal(ibv_get_device_name(list[0]), "verbena0");
	assert_int_equal(list[0]->node_type, IBV_NODE_CA);
	assert_int_equal(list[0]->transport_type, IBV_TRANSPORT_IB);
	assert_true(ibv_get_device_guid(list[0]) != 0);
	assert_int_equal(ibv_get_device_index(list[0]), 0);
	assert_int_equal(
	    strncmp(list[0]->ibdev_path, ibv_get_sysfs_path(), strlen(ibv_get_sysfs_path())), 0);
	assert_int_equal(access(list[0]->ibdev_path, R_OK), 0);
	assert_int_equal(access(list[0]->dev_path, R_OK), 0);
	ibv_free_device_list(list);
}

/* As on a host without adapters. A first answer stays: a child asks, before anybody else has. */
static void sysfs_path__without_broker(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("VERBENA_BIN", "/nonexistent", 1);
		_exit(strcmp(ibv_get_sysfs_path(), "/sys") != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void device_list__without_broker_is_null(void **state)
{
	(void)state;
	verbs_close(NULL);
	setenv("VERBENA_BIN", "/nonexistent", 1);
	int cnt = 7;

	assert_null(ibv_get_device_list(&cnt));
	assert_int_equal(cnt, 0);
	assert_true(errno != 0);
	unsetenv("VERBENA_BIN");
}

/* A failed open leaves no descriptor; with one more each time it succeeds at last. */
static void open_device__without_descriptors(void **state)
{
	const unsigned before = descriptors_of(getpid());
	struct ibv_context *other = NULL;
	struct rlimit was, few;
	unsigned failed = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = (rlim_t)dup(0); /* the first number that is free */
	close((int)few.rlim_cur);
	while (!other) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		errno = 0;
		other = ibv_open_device(ctx->device);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		few.rlim_cur++;
		if (other)
			break;
		assert_int_equal(errno, EMFILE);
		assert_int_equal(descriptors_of(getpid()), before);
		failed++;
	}
	assert_uint_in_range(failed, 2, 8);
	assert_int_equal(ibv_close_device(other), 0);
	assert_int_equal(descriptors_of(getpid()), before);
}

/* Memory that only the broker may change is mapped read-only: a stray store faults. */
static void open_device__broker_state_is_read_only(void **state)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uint32_t seen[2] = {0}; /* read-only, writable */
	unsigned long from, to;
	char line[512], rights[8];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		if (!strstr(line, "memfd:" VB_MEMORY_HOST) ||
		    sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3)
			continue;
		if (rights[1] != 'w')
			assert_true(to - from >= offsetof(struct vb_host_memory, flow));
		seen[rights[1] == 'w']++;
	}
	fclose(f);
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 1);
}

static void query_device__tells_the_limits(void **state)
{
	struct ibv_device_attr a;
	struct ibv_device_attr_ex ex;

	(void)state;
	assert_int_equal(ibv_query_device(ctx, &a), 0);
	assert_int_equal(a.max_qp_wr, (int)vb_limits_default.qp_wr);
	assert_int_equal(a.max_sge, (int)vb_limits_default.sge);
	assert_int_equal(a.phys_port_cnt, 1);
	assert_int_equal(a.atomic_cap, IBV_ATOMIC_GLOB); /* IBT-70 */
	/* IBT-98: one node, one system. */
	assert_true(a.node_guid == ibv_get_device_guid(ctx->device) && a.node_guid != 0);
	assert_true(a.sys_image_guid == a.node_guid);
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &ex), 0);
	assert_memory_equal(&ex.orig_attr, &a, offsetof(struct ibv_device_attr, phys_port_cnt));
	assert_true(ex.completion_timestamp_mask == UINT64_MAX);
	assert_int_equal(ex.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	assert_int_equal(ex.odp_caps.per_transport_caps.ud_odp_caps,
			 IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV);

	/* One more than the limit is refused, the limit is not. */
	struct ibv_cq *cq = ibv_create_cq(ctx, a.max_cqe, NULL, NULL, 0);

	assert_non_null(cq);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_null(ibv_create_cq(ctx, a.max_cqe + 1, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(ctx, 0, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors));
	assert_int_equal(errno, EINVAL);
}

/* Each number is the limit that is enforced. ibv_query_device(3) */
static void query_device__each_limit(void **state)
{
	const struct vb_limits *l = &vb_limits_default;
	struct ibv_device_attr a;

	(void)state;
	assert_int_equal(ibv_query_device(ctx, &a), 0);
	assert_string_equal(a.fw_ver, TEST_VERSION);
	assert_true(a.max_mr_size == l->mr_size);
	assert_true(a.page_size_cap == ~UINT64_C(0xfff));
	assert_int_equal(a.vendor_id, 0xffffff);
	assert_int_equal(a.vendor_part_id, 0);
	assert_int_equal(a.hw_ver, 0);
	assert_int_equal(a.max_qp, l->qp);
	assert_int_equal(a.max_qp_wr, l->qp_wr);
	assert_int_equal(a.max_sge, l->sge);
	assert_int_equal(a.max_sge_rd, l->sge_rd);
	assert_int_equal(a.max_cq, l->cq);
	assert_int_equal(a.max_cqe, l->cqe);
	assert_int_equal(a.max_mr, l->mr);
	assert_int_equal(a.max_pd, l->pd);
	assert_int_equal(a.max_qp_rd_atom, l->rd_atomic);
	assert_int_equal(a.max_qp_init_rd_atom, l->rd_atomic);
	assert_int_equal(a.max_res_rd_atom, l->rd_atomic * l->qp);
	assert_int_equal(a.max_mw, l->mw);
	assert_int_equal(a.max_ah, INT32_MAX);
	assert_int_equal(a.max_srq, l->srq);
	assert_int_equal(a.max_srq_wr, l->srq_wr);
	assert_int_equal(a.max_srq_sge, l->sge);
	assert_int_equal(a.max_mcast_grp, l->mcast_grp);
	assert_int_equal(a.max_mcast_qp_attach, l->mcast_qp);
	assert_int_equal(a.max_total_mcast_qp_attach, l->mcast_grp * l->mcast_qp);
	assert_int_equal(a.max_pkeys, VB_PKEYS_MAX);
	assert_int_equal(a.local_ca_ack_delay, 15);
	/* Unsupported objects. */
	assert_int_equal(a.max_ee + a.max_rdd + a.max_raw_ipv6_qp + a.max_raw_ethy_qp + a.max_fmr,
			 0);
	assert_int_equal(a.max_ee_rd_atom + a.max_ee_init_rd_atom, 0);
}

/* Each capability beyond the first version has its bit. ibv_query_device_ex(3) */
static void query_device__each_capability(void **state)
{
	const uint32_t ud = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV,
		       uc = ud | IBV_ODP_SUPPORT_WRITE,
		       rc = uc | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC,
		       flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
			       IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
			       IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW |
			       IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	struct verbs_context *v = verbs_get_ctx(ctx);
	struct ibv_query_device_ex_input wrong = {.comp_mask = 1}, none = {0};
	struct ibv_device_attr_ex a;
	uint8_t *end = (uint8_t *)&a + sizeof a.orig_attr;

	(void)state;
	assert_int_equal(v->query_device_ex(ctx, &none, &a, sizeof a), 0);
	assert_int_equal(a.orig_attr.device_cap_flags, flags);
	/* FLUSH_GLOBAL and ATOMIC_WRITE of the kernel's headers */
	assert_true(a.device_cap_flags_ex == (flags | UINT64_C(1) << 38 | UINT64_C(1) << 40));
	assert_int_equal(a.hca_core_clock, 1000000);
	assert_int_equal(a.odp_caps.per_transport_caps.rc_odp_caps, rc);
	assert_int_equal(a.odp_caps.per_transport_caps.uc_odp_caps, uc);
	assert_int_equal(a.odp_caps.per_transport_caps.ud_odp_caps, ud);
	assert_int_equal(a.xrc_odp_caps, rc);
	assert_int_equal(a.packet_pacing_caps.qp_rate_limit_min, 1000);
	assert_int_equal(a.packet_pacing_caps.qp_rate_limit_max, 400000000);
	assert_int_equal(a.packet_pacing_caps.supported_qpts, 1u << IBV_QPT_RC | 1u << IBV_QPT_UC |
								  1u << IBV_QPT_UD |
								  1u << IBV_QPT_XRC_SEND);
	assert_int_equal(a.cq_mod_caps.max_cq_count, UINT16_MAX);
	assert_int_equal(a.cq_mod_caps.max_cq_period, UINT16_MAX);
	assert_true(a.max_dm_size == VB_DM_SIZE);
	assert_int_equal(a.phys_port_cnt_ex, 1);
	/* An old program's structure is shorter, a later one's longer. */
	memset(&a, 0xaa, sizeof a);
	assert_int_equal(v->query_device_ex(ctx, NULL, &a, sizeof a.orig_attr), 0);
	assert_int_equal(a.orig_attr.max_sge, vb_limits_default.sge);
	assert_int_equal(*end, 0xaa);
	assert_int_equal(v->query_device_ex(ctx, NULL, &a, sizeof a.orig_attr - 1), EINVAL);
	assert_int_equal(v->query_device_ex(ctx, &wrong, &a, sizeof a), EINVAL);
}

/* The clock of completions; the mask says which values asked for exist.
 * ibv_query_rt_values_ex(3) */
static void query_rt_values__clock(void **state)
{
	struct ibv_values_ex v = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK}, later = v,
			     none = {.raw_clock.tv_nsec = 7};

	(void)state;
	assert_int_equal(ibv_query_rt_values_ex(ctx, &v), 0);
	assert_int_equal(ibv_query_rt_values_ex(ctx, &later), 0);
	assert_int_equal(v.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_int_equal(v.raw_clock.tv_sec, 0);
	assert_true(v.raw_clock.tv_nsec > 0 && later.raw_clock.tv_nsec >= v.raw_clock.tv_nsec);
	assert_int_equal(ibv_query_rt_values_ex(ctx, &none), 0);
	assert_int_equal(none.raw_clock.tv_nsec, 7);
	v.comp_mask = IBV_VALUES_MASK_RAW_CLOCK | 1 << 6;
	assert_int_equal(ibv_query_rt_values_ex(ctx, &v), EINVAL);
	assert_int_equal(v.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
}

/* A context has one vector, and names its device. */
static void open_device__what_the_context_has(void **state)
{
	struct ibv_cq *cq;

	(void)state;
	assert_int_equal(ctx->num_comp_vectors, 1);
	cq = ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors - 1);
	assert_non_null(cq);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_null(ibv_create_cq(ctx, 1, NULL, NULL, -1));
	assert_int_equal(errno, EINVAL);
	assert_true(ctx->async_fd != ctx->cmd_fd);
	assert_ptr_equal(vb_ibv_ctx(ctx)->dev, ctx->device);
}

static void query_port__is_ethernet_and_active(void **state)
{
	struct ibv_port_attr a;

	(void)state;
	assert_int_equal(ibv_query_port(ctx, 1, &a), 0);
	assert_int_equal(a.state, IBV_PORT_ACTIVE);
	assert_int_equal(a.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(a.active_mtu, IBV_MTU_4096);
	assert_int_equal(a.lid, 0);
	/* Loopback has no speed of its own: 4 lanes of EDR, by their codes. IBT-94 */
	assert_int_equal(a.active_width, 2);
	assert_int_equal(a.active_speed, 32);
	assert_int_equal(ibv_query_port(ctx, 0, &a), EINVAL);
	assert_int_equal(ibv_query_port(ctx, 2, &a), EINVAL);
}

/* P_KeyViolations and Q_KeyViolations have 16 bits and stay at their end. IBA 14.2.5.6 */
static void query_port__violations_stay_at_their_end(void **state)
{
	struct vb_ibv_context *c = vb_ibv_ctx(ctx);
	uint64_t *v = vb_engine_slot(c->engine)->counters[c->port].v;
	struct ibv_port_attr a;

	(void)state;
	v[VB_COUNTER_port_rcv_constraint_errors] = UINT16_MAX - 1;
	v[VB_COUNTER_qkey_viol_cntr] = UINT16_MAX + 6;
	assert_int_equal(ibv_query_port(ctx, 1, &a), 0);
	assert_int_equal(a.bad_pkey_cntr, UINT16_MAX - 1);
	assert_int_equal(a.qkey_viol_cntr, UINT16_MAX);
}

/* gid_tbl_len is the number of entries: there is none with that index. */
static void gid__none_beyond_the_table(void **state)
{
	struct ibv_gid_entry e;
	struct ibv_port_attr port;
	union ibv_gid gid;

	(void)state;
	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	assert_int_equal(ibv_query_gid(ctx, 1, port.gid_tbl_len - 1, &gid), 0);
	errno = 0;
	assert_int_equal(ibv_query_gid(ctx, 1, port.gid_tbl_len, &gid), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, (uint32_t)port.gid_tbl_len, &e, 0), EINVAL);
}

/* From rdma-core's header. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, int *type);

/* GID types for ibv_devinfo; another version's structure holds less or more of one. */
static void gid__types_and_sizes(void **state)
{
	struct {
		struct ibv_gid_entry e[2];
		uint8_t behind[16];
	} to;
	struct ibv_port_attr port;
	int type = 7;
	__be16 pkey;

	(void)state;
	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	assert_int_equal(ibv_query_gid_type(ctx, 1, 0, &type), 0);
	assert_int_equal(type, 1);
	assert_int_equal(ibv_query_gid_type(ctx, 1, (unsigned)port.gid_tbl_len - 1, &type), 0);
	errno = 0;
	assert_int_equal(ibv_query_gid_type(ctx, 1, (unsigned)port.gid_tbl_len, &type), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_query_gid_type(ctx, 2, 0, &type), -1);
	memset(&to, 0xaa, sizeof to);
	assert_int_equal(_ibv_query_gid_ex(ctx, 1, 0, to.e, 0, sizeof to.e[0] - 4), 0);
	assert_int_equal(to.e[0].port_num, 1);
	assert_int_equal(to.e[0].ndev_ifindex, 0xaaaaaaaa);
	assert_int_equal(_ibv_query_gid_ex(ctx, 1, 0, to.e, 0, sizeof to.e), 0);
	assert_true(to.e[0].ndev_ifindex != 0 && to.e[1].port_num == 0);
	assert_int_equal(to.behind[0], 0xaa);
	memset(&to, 0xaa, sizeof to);
	assert_int_equal(_ibv_query_gid_table(ctx, to.e, 0, 0, sizeof to.e[0]), -EINVAL);
	assert_int_equal(to.e[0].port_num, 0xaaaaaaaa);
	/* The full member's P_Key is the first. */
	assert_int_equal(ibv_query_pkey(ctx, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, pkey), 0);
	assert_int_equal(ibv_query_pkey(ctx, 1, port.pkey_tbl_len - 1, &pkey), 0);
	assert_int_equal(ibv_query_pkey(ctx, 1, port.pkey_tbl_len, &pkey), -1);
}

/* The symbol of old programs: nothing behind the first structure's end is written. */
#undef ibv_query_port
static void query_port__old_symbol_writes_no_more_than_the_old_structure(void **state)
{
	struct ibv_port_attr a;

	(void)state;
	memset(&a, 0xaa, sizeof a);
	assert_int_equal(ibv_query_port(ctx, 1, (struct _compat_ibv_port_attr *)&a), 0);
	assert_int_equal(a.state, IBV_PORT_ACTIVE);
	assert_int_equal(a.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(a.port_cap_flags2, 0xaaaa);
}

static void gid__table_and_entries_agree(void **state)
{
	struct ibv_gid_entry table[64], e;
	union ibv_gid gid, zero = {0};
	ssize_t cnt = ibv_query_gid_table(ctx, table, 64, 0);

	(void)state;
	assert_true(cnt >= 1);
	for (ssize_t i = 0; i < cnt; i++) {
		assert_int_equal(table[i].gid_type, IBV_GID_TYPE_ROCE_V2);
		assert_int_equal(ibv_query_gid_ex(ctx, 1, table[i].gid_index, &e, 0), 0);
		assert_memory_equal(&e, &table[i], sizeof e);
		assert_int_equal(ibv_query_gid(ctx, 1, (int)e.gid_index, &gid), 0);
		assert_memory_equal(&gid, &e.gid, sizeof gid);
	}
	assert_int_equal(ibv_query_gid_table(ctx, table, (size_t)cnt, 0), cnt);
	if (cnt > 1)
		assert_int_equal(ibv_query_gid_table(ctx, table, (size_t)cnt - 1, 0), -EINVAL);
	/* An empty entry reads as zero; one outside the table is an error. */
	assert_int_equal(ibv_query_gid(ctx, 1, 31, &gid), 0);
	assert_memory_equal(&gid, &zero, sizeof gid);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 31, &e, 0), ENODATA);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 0, &e, 1), EOPNOTSUPP); /* no such flag */
	assert_int_equal(ibv_query_gid(ctx, 1, 4000, &gid), -1);
	assert_int_equal(ibv_query_gid(ctx, 1, -1, &gid), -1);
	assert_int_equal(ibv_query_gid(ctx, 2, 0, &gid), -1);
}

static void unsupported__says_so(void **state)
{
	struct ibv_srq_init_attr_ex srq = {.comp_mask =
					       IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					   .srq_type = IBV_SRQT_TM,
					   .pd = pd};
	struct ibv_wq_init_attr wq = {0};
	struct ibv_flow_attr flow = {0};
	struct verbs_end end = end_new(IBV_QPT_UD, NULL, NULL);

	(void)state;
	errno = 0;
	assert_null(ibv_create_srq_ex(ctx, &srq));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_create_wq(ctx, &wq));
	errno = 0;
	assert_null(ibv_create_flow(end.qp, &flow));
	assert_int_equal(errno, EOPNOTSUPP);
	end_free(&end);
}

static uint32_t descriptors(void)
{
	uint32_t cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

/* A context has two descriptors, cmd_fd and async_fd, and gives both back; where there is no room
 * for one of them, the device does not open. */
static void open_device__descriptors(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	uint32_t before = descriptors();
	struct rlimit old, few;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct ibv_context *other = ibv_open_device(list[0]);
		int copy;

		assert_non_null(other);
		assert_int_equal(descriptors(), before + 2);
		copy = dup(other->cmd_fd);
		assert_true(copy >= 0);
		close(copy);
		assert_int_equal(ibv_close_device(other), 0);
		assert_int_equal(descriptors(), before);
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (rlim_t room = 0; room < 2; room++) {
		int last = dup(0);

		close(last);
		few = (struct rlimit){(rlim_t)last + room, old.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_null(ibv_open_device(list[0]));
		assert_int_equal(errno, EMFILE);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_int_equal(descriptors(), before);
	}
	ibv_free_device_list(list);
}

static void close_device__takes_what_is_left(void **state)
{
	struct verbs_end e = end_new(IBV_QPT_RC, ibv_create_comp_channel(ctx), NULL);
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};

	(void)state;
	assert_non_null(ibv_create_srq(pd, &srq));
	assert_non_null(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	to_init(e.qp);
	/* verbs_close() closes the device with all of it. */
}

/* The numbers of objects, which others of the host see, are those of objects that are there: also
 * when each is destroyed by itself. */
static void destroy__objects_are_counted_out(void **state)
{
	const struct vb_slot_shm *slot = vb_engine_slot(vb_ibv_ctx(ctx)->engine);
	const uint32_t qps = slot->qp_cnt, cqs = slot->cq_cnt, mrs = slot->mr_cnt;
	struct verbs_end e = end_new(IBV_QPT_RC, NULL, NULL);
	struct ibv_mr *m = ibv_reg_mr(pd, buf, 64, 0);

	(void)state;
	assert_int_equal(slot->qp_cnt, qps + 1);
	assert_int_equal(slot->cq_cnt, cqs + 1);
	assert_int_equal(slot->mr_cnt, mrs + 1);
	assert_int_equal(ibv_dereg_mr(m), 0);
	end_free(&e);
	assert_int_equal(slot->qp_cnt, qps);
	assert_int_equal(slot->cq_cnt, cqs);
	assert_int_equal(slot->mr_cnt, mrs);
}

/* The numbers of objects, which others of the host see, are those of objects that are there. */
static void close_device__objects_are_counted_out(void **state)
{
	const struct vb_slot_shm *slot = vb_engine_slot(vb_ibv_ctx(ctx)->engine);
	const uint32_t qps = slot->qp_cnt, cqs = slot->cq_cnt, mrs = slot->mr_cnt;
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_pd *p = ibv_alloc_pd(other);
	struct ibv_cq *cq = ibv_create_cq(other, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
	    .send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	struct ibv_qp *qp = ibv_create_qp(p, &init);

	(void)state;

	assert_non_null(qp);
	assert_non_null(ibv_reg_mr(p, buf, 64, 0));
	/* The slot's next owner begins with the number behind. */
	assert_int_equal(slot->qpn_next, (qp->qp_num >> 8) + 1);
	assert_int_equal(slot->qp_cnt, qps + 1);
	assert_int_equal(slot->cq_cnt, cqs + 1);
	assert_int_equal(slot->mr_cnt, mrs + 1);
	assert_int_equal(ibv_close_device(other), 0);
	assert_int_equal(slot->qp_cnt, qps);
	assert_int_equal(slot->cq_cnt, cqs);
	assert_int_equal(slot->mr_cnt, mrs);
}

/* An armed CQ that is left to the device is waited for no more. */
static void close_device__ends_the_wait_for_events(void **state)
{
	const uint32_t armed = vb_watch_armed;
	struct ibv_context *other = ibv_open_device(ctx->device);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(other);
	struct ibv_cq *cq = ibv_create_cq(other, 4, NULL, channel, 0);

	(void)state;
	assert_non_null(cq);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	assert_int_equal(vb_watch_armed, armed + 1);
	assert_int_equal(ibv_close_device(other), 0);
	assert_int_equal(vb_watch_armed, armed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sysfs_path__without_broker),
	    VERBS_TEST(device_list__describes_lo),
	    VERBS_TEST(query_device__tells_the_limits),
	    VERBS_TEST(query_device__each_limit),
	    VERBS_TEST(query_device__each_capability),
	    VERBS_TEST(query_rt_values__clock),
	    VERBS_TEST(open_device__what_the_context_has),
	    VERBS_TEST(query_port__is_ethernet_and_active),
	    VERBS_TEST(query_port__violations_stay_at_their_end),
	    VERBS_TEST(query_port__old_symbol_writes_no_more_than_the_old_structure),
	    VERBS_TEST(gid__table_and_entries_agree),
	    VERBS_TEST(gid__none_beyond_the_table),
	    VERBS_TEST(gid__types_and_sizes),
	    VERBS_TEST(unsupported__says_so),
	    VERBS_TEST(open_device__descriptors),
	    VERBS_TEST(open_device__without_descriptors),
	    VERBS_TEST(open_device__broker_state_is_read_only),
	    VERBS_TEST(close_device__takes_what_is_left),
	    VERBS_TEST(close_device__objects_are_counted_out),
	    VERBS_TEST(close_device__ends_the_wait_for_events),
	    VERBS_TEST(destroy__objects_are_counted_out),
	    cmocka_unit_test_setup(device_list__without_broker_is_null, verbs_open),
	};

	VERBS_MAIN_OR_SKIP();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
