/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers to requests of NETLINK_RDMA, see nldev.h: which command, which device, a list or one
 * thing. Attributes and their order are those of the kernel's drivers/infiniband/core/nldev.c.
 */
#include "files/netlink/nldev.h"

#include "files/netlink/host.h"
#include "files/netlink/objects.h"
#include "node/sysfs/device_node.h"
#include "node/wait/uverbs.h"

#include <errno.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>

#define NODE_TYPE_CA 1 /* enum rdma_node_type */
#define STATE_DOWN 1   /* IBA 14.2.5.6 */
#define STATE_ACTIVE 4
#define PHYS_DISABLED 3
#define PHYS_LINK_UP 5
#define NETNS_EXCLUSIVE 0 /* each network namespace is a host of its own */
#define UVERBS_ABI 1      /* of a driver */

struct command {
	enum vb_nl_depth depth;
	bool is_of_device; /* the request names one */
	bool is_of_port;   /* ... and its port, unless it wants a list */
	/* Puts the attributes of device @i. */
	int (*put)(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		   const struct nlmsghdr *request);
	/* Instead: lists what device @i has, in as many messages as it takes. */
	int (*list)(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		    const struct nlmsghdr *request);
};

static int put_device(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		      const struct nlmsghdr *request)
{
	const struct vb_device *d = &h->host.device[i];

	(void)request;
	vb_nldev_handle(o, h, i);
	vb_nl_u32(o, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	vb_nl_u64(o, RDMA_NLDEV_ATTR_CAP_FLAGS, 0);
	vb_nl_string(o, RDMA_NLDEV_ATTR_FW_VERSION, VERBENA_VERSION);
	vb_nl_u64(o, RDMA_NLDEV_ATTR_NODE_GUID, d->guid);
	vb_nl_u64(o, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, d->guid);
	vb_nl_u8(o, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NODE_TYPE_CA);
	vb_nl_u8(o, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	vb_nl_string(o, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
	return 0;
}

static int put_port(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		    const struct nlmsghdr *request)
{
	const struct vb_device *d = &h->host.device[i];

	(void)request;
	vb_nldev_handle(o, h, i);
	vb_nl_u32(o, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	vb_nl_u8(o, RDMA_NLDEV_ATTR_PORT_STATE, d->is_up ? STATE_ACTIVE : STATE_DOWN);
	vb_nl_u8(o, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, d->is_up ? PHYS_LINK_UP : PHYS_DISABLED);
	vb_nl_u32(o, RDMA_NLDEV_ATTR_NDEV_INDEX, d->ifindex);
	vb_nl_string(o, RDMA_NLDEV_ATTR_NDEV_NAME, d->ifname);
	return 0;
}

/* The counters of the folder hw_counters. Only those of the port: no QP has one of its own. */
static int put_statistics(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
			  const struct nlmsghdr *request)
{
	size_t all, one;

	if (vb_nl_find_u32(request, RDMA_NLDEV_ATTR_STAT_RES, 0))
		return -EOPNOTSUPP;
	vb_nldev_handle(o, h, i);
	vb_nl_u32(o, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	all = vb_nl_nest(o, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	for (int k = 0; k < VB_COUNTER_CNT; k++) {
		if (vb_counter_info[k].file != VB_COUNTER_HW)
			continue;
		one = vb_nl_nest(o, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
		vb_nl_string(o, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, vb_counter_info[k].name);
		vb_nl_u64(o, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, h->total[i + 1].v[k]);
		vb_nl_nest_end(o, one);
	}
	vb_nl_nest_end(o, all);
	return 0;
}

/* Counters bound to QPs: this adapter has none, as a list may say. */
static int list_statistics(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
			   const struct nlmsghdr *request)
{
	(void)o;
	(void)h;
	(void)i;
	return vb_nl_find_u32(request, RDMA_NLDEV_ATTR_STAT_RES, 0) == RDMA_NLDEV_ATTR_RES_QP
		   ? 0
		   : -EINVAL;
}

/* Numbers of what there is; of CQs, regions and PDs nobody else knows to which device they belong.
 */
static int put_summary(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		       const struct nlmsghdr *request)
{
	const struct {
		const char *name;
		uint64_t cnt;
	} kind[] = {{"qp", vb_nldev_qp_cnt(h, i)}, {"cm_id", vb_nldev_cm_id_cnt(h, i)}};
	size_t all, one;

	(void)request;
	vb_nldev_handle(o, h, i);
	all = vb_nl_nest(o, RDMA_NLDEV_ATTR_RES_SUMMARY);
	for (size_t k = 0; k < sizeof kind / sizeof kind[0]; k++) {
		one = vb_nl_nest(o, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
		vb_nl_string(o, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, kind[k].name);
		vb_nl_u64(o, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, kind[k].cnt);
		vb_nl_nest_end(o, one);
	}
	vb_nl_nest_end(o, all);
	return 0;
}

static const struct command commands[RDMA_NLDEV_NUM_OPS] = {
    [RDMA_NLDEV_CMD_GET] = {.put = put_device},
    [RDMA_NLDEV_CMD_PORT_GET] = {.is_of_device = true, .is_of_port = true, .put = put_port},
    [RDMA_NLDEV_CMD_STAT_GET] = {.is_of_device = true,
				 .is_of_port = true,
				 .put = put_statistics,
				 .list = list_statistics},
    [RDMA_NLDEV_CMD_RES_GET] = {.depth = VB_NL_CONNECTIONS, .put = put_summary},
    [RDMA_NLDEV_CMD_RES_QP_GET] = {.depth = VB_NL_QPS,
				   .is_of_device = true,
				   .put = vb_nldev_put_qp,
				   .list = vb_nldev_list_qps},
    [RDMA_NLDEV_CMD_RES_CM_ID_GET] = {.depth = VB_NL_CONNECTIONS,
				      .is_of_device = true,
				      .put = vb_nldev_put_cm_id,
				      .list = vb_nldev_list_cm_ids},
};

/* A file of /dev/infiniband: rdma_cm is the host's, uverbs each device's. librdmacm compares the
 * number with that of the file. */
static int put_file(struct vb_nl_out *o, const struct nlmsghdr *request)
{
	uint32_t i = vb_nl_find_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, UINT32_MAX);
	bool is_cm = vb_nl_is_string(request, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "rdma_cm");
	char name[24] = "rdma_cm";

	if (!is_cm && !vb_nl_is_string(request, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs"))
		return -EOPNOTSUPP;
	if (!is_cm && i >= VB_DEVICES_MAX)
		return -EINVAL;
	if (!is_cm) {
		vb_uverbs_offer();
		vb_nl_u32(o, RDMA_NLDEV_ATTR_DEV_INDEX, i);
		snprintf(name, sizeof name, "uverbs%u", i);
	}
	vb_nl_u64(o, RDMA_NLDEV_ATTR_CHARDEV,
		  is_cm ? makedev(VB_RDMA_CM_MAJOR, VB_RDMA_CM_MINOR)
			: makedev(VB_UVERBS_MAJOR, VB_UVERBS_MINOR + i));
	vb_nl_u64(o, RDMA_NLDEV_ATTR_CHARDEV_ABI, is_cm ? VB_RDMA_CM_ABI : UVERBS_ABI);
	vb_nl_string(o, RDMA_NLDEV_ATTR_CHARDEV_NAME, name);
	return 0;
}

/* Answers a request that asks for no device. */
static int answer_host(struct vb_nl_out *o, const struct nlmsghdr *request, unsigned op)
{
	vb_nl_begin(o, request, request->nlmsg_type, 0);
	int rc = 0;

	if (op == RDMA_NLDEV_CMD_GET_CHARDEV) {
		rc = put_file(o, request);
	} else {
		vb_nl_u8(o, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, NETNS_EXCLUSIVE);
		vb_nl_u8(o, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	}
	vb_nl_end(o);
	if (rc)
		o->len = o->at;
	return rc;
}

/* The device that the request names, UINT32_MAX: it names none. */
static int find_device(const struct command *c, const struct vb_nl_host *h,
		       const struct nlmsghdr *request, uint32_t *i)
{
	bool is_list = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	uint32_t port = vb_nl_find_u32(request, RDMA_NLDEV_ATTR_PORT_INDEX, 0);

	*i = vb_nl_find_u32(request, RDMA_NLDEV_ATTR_DEV_INDEX, UINT32_MAX);
	if (*i == UINT32_MAX)
		return is_list && !c->is_of_device ? 0 : -EINVAL;
	if (*i >= h->host.device_cnt || !h->host.device[*i].ifindex)
		return -ENODEV;
	/* Each device has port 1 alone. */
	return port > 1 || (c->is_of_port && !is_list && port != 1) ? -EINVAL : 0;
}

static int answer_devices(struct vb_nl_out *o, const struct command *c, const struct vb_nl_host *h,
			  const struct nlmsghdr *request)
{
	bool is_list = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	uint32_t device;
	int rc = find_device(c, h, request, &device);

	for (uint32_t i = 0; i < h->host.device_cnt && !rc; i++) {
		if (!h->host.device[i].ifindex || (device != UINT32_MAX && i != device))
			continue;
		if (is_list && c->list) {
			rc = c->list(o, h, i, request);
			continue;
		}
		vb_nl_begin(o, request, request->nlmsg_type, is_list ? NLM_F_MULTI : 0);
		rc = c->put(o, h, i, request);
		vb_nl_end(o);
		if (rc)
			o->len = o->at;
	}
	return rc;
}

static int answer_request(struct vb_nl_out *o, const struct nlmsghdr *request)
{
	unsigned op = RDMA_NL_GET_OP(request->nlmsg_type);
	const struct command *c;
	struct vb_nl_host *h;
	int rc;

	if (RDMA_NL_GET_CLIENT(request->nlmsg_type) != RDMA_NL_NLDEV || op >= RDMA_NLDEV_NUM_OPS)
		return -EINVAL;
	if (op == RDMA_NLDEV_CMD_GET_CHARDEV || op == RDMA_NLDEV_CMD_SYS_GET)
		return answer_host(o, request, op);
	c = &commands[op];
	if (!c->put)
		return -EOPNOTSUPP;
	rc = vb_nl_host_gather(&h, c->depth);
	if (rc)
		return rc;
	rc = answer_devices(o, c, h, request);
	vb_nl_host_free(h);
	return rc;
}

void vb_nldev_answer(struct vb_nl_out *o, const struct nlmsghdr *h)
{
	bool is_list = (h->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	/* The header alone comes back, whatever NETLINK_CAP_ACK says. */
	struct nlmsgerr e = {.error = answer_request(o, h), .msg = *h};

	if (e.error == 0 && is_list) {
		vb_nl_begin(o, h, NLMSG_DONE, NLM_F_MULTI);
		vb_nl_raw(o, &e.error, sizeof e.error);
		vb_nl_end(o);
	} else if (e.error || h->nlmsg_flags & NLM_F_ACK) {
		vb_nl_begin(o, h, NLMSG_ERROR, NLM_F_CAPPED);
		vb_nl_raw(o, &e, sizeof e);
		vb_nl_end(o);
	}
}
