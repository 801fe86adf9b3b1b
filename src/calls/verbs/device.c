/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices and what they tell. ibv_open_device(3), ibv_query_port(3), ibv_get_async_event(3) */
#include "calls/next.h"
#include "calls/show.h"
#include "calls/verbs/destroy.h"

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct vb_call c;
	struct ibv_device **list;
	int cnt = 0;

	vb_call_begin(&c, "ibv_get_device_list");
	vb_call_go(&c);
	list = vb_next_verbs()->ibv_get_device_list(&cnt);
	vb_call_done(&c);
	if (num_devices)
		*num_devices = cnt;
	vb_call_results(&c);
	vb_call_open(&c, "devices", '[');
	for (int i = 0; list && i < cnt; i++)
		vb_call_word(&c, NULL, list[i]->name);
	vb_call_close(&c, ']');
	vb_call_end_count(&c, list ? cnt : -1);
	return list;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct vb_call c;
	struct ibv_context *context;

	vb_call_begin(&c, "ibv_open_device");
	vb_call_word(&c, "device", device ? device->name : "NULL");
	vb_call_go(&c);
	context = vb_next_verbs()->ibv_open_device(device);
	vb_call_done(&c);
	if (context)
		vb_calls_take_context(context);
	vb_call_end_object(&c, VB_KIND_CTX, context);
	return context;
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct vb_call c;
	struct ibv_context *context;

	vb_call_begin(&c, "ibv_import_device");
	vb_call_number(&c, "cmd_fd", cmd_fd);
	vb_call_go(&c);
	context = vb_next_verbs()->ibv_import_device(cmd_fd);
	vb_call_done(&c);
	if (context)
		vb_calls_take_context(context);
	vb_call_end_object(&c, VB_KIND_CTX, context);
	return context;
}

VB_CALLS_DESTROY_ENTRY(ibv_close_device, ibv_context, VB_KIND_CTX, "context")

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_device");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_query_device(context, attr);
	vb_call_done(&c);
	if (!rc)
		vb_call_device_attr(&c, attr);
	vb_call_end_error(&c, rc);
	return rc;
}

/* struct _compat_ibv_port_attr has the first fields of struct ibv_port_attr. */
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_port");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "port_num", port);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_query_port(context, port, attr);
	vb_call_done(&c);
	if (!rc)
		vb_call_port_attr(&c, (const struct ibv_port_attr *)attr);
	vb_call_end_error(&c, rc);
	return rc;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_gid");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "port_num", port);
	vb_call_number(&c, "index", index);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_query_gid(context, port, index, gid);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		vb_call_gid(&c, "gid", gid);
	}
	vb_call_end_error(&c, rc);
	return rc;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_query_pkey");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_number(&c, "port_num", port);
	vb_call_number(&c, "index", index);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_query_pkey(context, port, index, pkey);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		vb_call_hex(&c, "pkey", be16toh(*pkey));
	}
	vb_call_end_error(&c, rc);
	return rc;
}

/* Shows the object that the event is about. Kinds without one are about the port or the device. */
static void event_object(struct vb_call *c, const struct ibv_async_event *e)
{
	switch (e->event_type) {
	case IBV_EVENT_CQ_ERR:
		vb_call_object(c, "cq", VB_KIND_CQ, e->element.cq);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		vb_call_object(c, "srq", VB_KIND_SRQ, e->element.srq);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		vb_call_object(c, "qp", VB_KIND_QP, e->element.qp);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		break;
	default:
		vb_call_number(c, "port_num", e->element.port_num);
	}
}

static void event_show(struct vb_call *c, const struct ibv_async_event *e)
{
	const char *name = vb_name_of(vb_names_event, e->event_type);

	vb_call_word(c, "event", name ? name : "?");
	event_object(c, e);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct vb_call c;
	int rc;

	vb_call_begin(&c, "ibv_get_async_event");
	vb_call_object(&c, "context", VB_KIND_CTX, context);
	vb_call_go(&c);
	rc = vb_next_verbs()->ibv_get_async_event(context, event);
	vb_call_done(&c);
	if (!rc) {
		vb_call_results(&c);
		event_show(&c, event);
	}
	vb_call_end_error(&c, rc);
	return rc;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct vb_call c;

	vb_call_begin(&c, "ibv_ack_async_event");
	event_show(&c, event);
	vb_call_go(&c);
	vb_next_verbs()->ibv_ack_async_event(event);
	vb_call_done(&c);
	vb_call_end(&c);
}
