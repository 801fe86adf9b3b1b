/* SPDX-License-Identifier: BSD-2-Clause */
/* QPs and connections as attributes of NETLINK_RDMA, see objects.h. */
#include "files/netlink/objects.h"

#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

/* A list goes on in the next message from here on; programs have buffers of a page. */
#define MESSAGE_BYTES 3000u

/* enum ib_qp_type where it differs from that of the verbs: QP1, and kinds of one driver. */
#define TYPE_GSI 1
#define TYPE_DRIVER 0xff

/* enum rdma_cm_state of the kernel. */
enum {
	CM_IDLE,
	CM_ADDR_RESOLVED = 2,
	CM_ROUTE_RESOLVED = 4,
	CM_CONNECT,
	CM_DISCONNECT,
	CM_ADDR_BOUND,
	CM_LISTEN
};

void vb_nldev_handle(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i)
{
	vb_nl_u32(o, RDMA_NLDEV_ATTR_DEV_INDEX, i);
	vb_nl_string(o, RDMA_NLDEV_ATTR_DEV_NAME, h->host.device[i].name);
}

static bool is_of_device(const struct vb_qp_view *v, uint32_t i)
{
	return v->attr.port == i + 1;
}

uint32_t vb_nldev_qp_cnt(const struct vb_nl_host *h, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < h->qp_cnt; k++)
		n += is_of_device(&h->qp[k].view, i);
	return n;
}

static uint8_t type_of(enum vb_qp_type t)
{
	return t == VB_QPT_GSI ? TYPE_GSI : t < VB_QPT_GSI ? (uint8_t)t : TYPE_DRIVER;
}

static void put_qp(struct vb_nl_out *o, const struct vb_nl_qp *qp)
{
	const struct vb_qp_view *v = &qp->view;
	bool is_connected = v->type == VB_QPT_RC || v->type == VB_QPT_UC ||
			    v->type == VB_QPT_XRC_INI || v->type == VB_QPT_XRC_TGT;

	vb_nl_u32(o, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	vb_nl_u32(o, RDMA_NLDEV_ATTR_RES_LQPN, v->qpn);
	if (v->type == VB_QPT_RC || v->type == VB_QPT_UC) {
		vb_nl_u32(o, RDMA_NLDEV_ATTR_RES_RQPN, v->attr.dest_qpn);
		vb_nl_u32(o, RDMA_NLDEV_ATTR_RES_RQ_PSN, v->epsn);
	}
	vb_nl_u32(o, RDMA_NLDEV_ATTR_RES_SQ_PSN, (v->psn_una + v->unacked) & 0xffffff);
	if (is_connected)
		vb_nl_u8(o, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, (uint8_t)v->attr.path_mig_state);
	vb_nl_u8(o, RDMA_NLDEV_ATTR_RES_TYPE, type_of(v->type));
	vb_nl_u8(o, RDMA_NLDEV_ATTR_RES_STATE, (uint8_t)v->state);
	vb_nl_u32(o, RDMA_NLDEV_ATTR_RES_PID, qp->pid);
}

int vb_nldev_put_qp(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		    const struct nlmsghdr *request)
{
	uint32_t qpn = vb_nl_find_u32(request, RDMA_NLDEV_ATTR_RES_LQPN, UINT32_MAX);

	if (qpn == UINT32_MAX)
		return -EINVAL;
	for (uint32_t k = 0; k < h->qp_cnt; k++)
		if (h->qp[k].view.qpn == qpn && is_of_device(&h->qp[k].view, i)) {
			vb_nldev_handle(o, h, i);
			put_qp(o, &h->qp[k]);
			return 0;
		}
	return -ENOENT;
}

/* A list in messages that each have the device and a table with some entries. */
struct table {
	struct vb_nl_out *o;
	const struct vb_nl_host *h;
	const struct nlmsghdr *request;
	uint32_t device;
	uint16_t type;
	size_t nest; /* 0: no message has begun */
};

static void end_message(struct table *t)
{
	if (t->nest) {
		vb_nl_nest_end(t->o, t->nest);
		vb_nl_end(t->o);
	}
	t->nest = 0;
}

/* Begins an entry, in a new message when this one is full. */
static size_t begin_entry(struct table *t, uint16_t type)
{
	if (t->nest && vb_nl_message_bytes(t->o) > MESSAGE_BYTES)
		end_message(t);
	if (!t->nest) {
		vb_nl_begin(t->o, t->request, t->request->nlmsg_type, NLM_F_MULTI);
		vb_nldev_handle(t->o, t->h, t->device);
		t->nest = vb_nl_nest(t->o, t->type);
	}
	return vb_nl_nest(t->o, type);
}

int vb_nldev_list_qps(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		      const struct nlmsghdr *request)
{
	struct table t = {o, h, request, i, RDMA_NLDEV_ATTR_RES_QP, 0};

	for (uint32_t k = 0; k < h->qp_cnt; k++) {
		if (!is_of_device(&h->qp[k].view, i))
			continue;
		size_t entry = begin_entry(&t, RDMA_NLDEV_ATTR_RES_QP_ENTRY);

		put_qp(o, &h->qp[k]);
		vb_nl_nest_end(o, entry);
	}
	end_message(&t);
	return 0;
}

/* One that has ended is no resource any more. */
static bool is_id_of(const struct vb_ucma_view *v, uint32_t i)
{
	return !v->is_gone && v->hca_port == i + 1;
}

uint32_t vb_nldev_cm_id_cnt(const struct vb_nl_host *h, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < h->cm->cnt; k++)
		n += is_id_of(&h->cm->view[k], i);
	return n;
}

static uint8_t id_state(const struct vb_ucma_view *v)
{
	switch ((enum vb_cm_state)v->cm_state) {
	case VB_CM_STATE_IDLE:
	case VB_CM_STATE_LISTEN:
		break;
	case VB_CM_STATE_DREQ_SENT:
	case VB_CM_STATE_DREQ_RCVD:
	case VB_CM_STATE_TIMEWAIT:
		return CM_DISCONNECT;
	default:
		return CM_CONNECT;
	}
	if (v->is_listener)
		return CM_LISTEN;
	if (v->end != VB_UCMA_END_NONE)
		return CM_DISCONNECT;
	if (v->has_route)
		return CM_ROUTE_RESOLVED;
	if (v->dst.family)
		return CM_ADDR_RESOLVED;
	return v->src.family ? CM_ADDR_BOUND : CM_IDLE;
}

/* As struct sockaddr_storage; InfiniBand's own addresses have no text in iproute2. */
static void put_address(struct vb_nl_out *o, uint16_t type, const struct vb_ucma_addr *a)
{
	struct sockaddr_storage s = {.ss_family = a->family};
	struct sockaddr_in *in = (struct sockaddr_in *)&s;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&s;

	if (a->family == AF_INET) {
		in->sin_port = htons(a->port);
		memcpy(&in->sin_addr, a->gid.b + 12, sizeof in->sin_addr);
	} else if (a->family == AF_INET6) {
		in6->sin6_port = htons(a->port);
		in6->sin6_scope_id = a->scope;
		memcpy(&in6->sin6_addr, a->gid.b, sizeof in6->sin6_addr);
	} else {
		return;
	}
	vb_nl_put(o, type, &s, sizeof s);
}

static void put_id(struct vb_nl_out *o, const struct vb_ucma_view *v)
{
	vb_nl_u32(o, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	if (v->local_qpn) {
		vb_nl_u32(o, RDMA_NLDEV_ATTR_RES_LQPN, v->local_qpn);
		vb_nl_u8(o, RDMA_NLDEV_ATTR_RES_TYPE, v->qp_type);
	}
	vb_nl_u32(o, RDMA_NLDEV_ATTR_RES_PS, v->ps);
	vb_nl_u8(o, RDMA_NLDEV_ATTR_RES_STATE, id_state(v));
	put_address(o, RDMA_NLDEV_ATTR_RES_SRC_ADDR, &v->src);
	put_address(o, RDMA_NLDEV_ATTR_RES_DST_ADDR, &v->dst);
	vb_nl_u32(o, RDMA_NLDEV_ATTR_RES_CM_IDN, v->number);
	vb_nl_u32(o, RDMA_NLDEV_ATTR_RES_PID, v->pid);
}

int vb_nldev_put_cm_id(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
		       const struct nlmsghdr *request)
{
	uint32_t number = vb_nl_find_u32(request, RDMA_NLDEV_ATTR_RES_CM_IDN, UINT32_MAX);

	if (number == UINT32_MAX)
		return -EINVAL;
	for (uint32_t k = 0; k < h->cm->cnt; k++)
		if (h->cm->view[k].number == number && is_id_of(&h->cm->view[k], i)) {
			vb_nldev_handle(o, h, i);
			put_id(o, &h->cm->view[k]);
			return 0;
		}
	return -ENOENT;
}

int vb_nldev_list_cm_ids(struct vb_nl_out *o, const struct vb_nl_host *h, uint32_t i,
			 const struct nlmsghdr *request)
{
	struct table t = {o, h, request, i, RDMA_NLDEV_ATTR_RES_CM_ID, 0};

	for (uint32_t k = 0; k < h->cm->cnt; k++) {
		if (!is_id_of(&h->cm->view[k], i))
			continue;
		size_t entry = begin_entry(&t, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY);

		put_id(o, &h->cm->view[k]);
		vb_nl_nest_end(o, entry);
	}
	end_message(&t);
	return 0;
}
