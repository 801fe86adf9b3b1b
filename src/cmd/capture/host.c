/* SPDX-License-Identifier: BSD-2-Clause */
/* The RoCE devices of this host as a source of `verbena capture`: an interface for each. */
#include "cmd/capture/capture.h"
#include "cmd/capture/rates.h"
#include "node/broker/broker.h"
#include "traffic/comment/fault.h"

#include <string.h>

static struct host {
	struct vb_broker_observer o;
	struct vb_capture_rates rates;
	struct {
		bool known;
		uint32_t interface;
		uint64_t captured;
	} port[VB_HCA_PORTS_MAX + 1];
} host;

static int attach_host(struct vb_capture *c)
{
	char why[512];

	if (!vb_broker_observe(&host.o, true, why, sizeof why))
		return 0;
	vb_cmd_error(c->cmd, "%s", why);
	return 1;
}

static int find_slots(struct vb_capture *c)
{
	(void)c;
	return vb_broker_observe_slots(&host.o);
}

static const struct vb_capture_ring *slot_ring(const struct vb_capture *c, uint32_t k)
{
	(void)c;
	return host.o.slot[k] ? &host.o.slot[k]->capture : NULL;
}

static int turn_host(struct vb_capture *c, bool on)
{
	(void)c;
	return vb_broker_capture(&host.o, on);
}

static void look_rates(struct vb_capture *c, bool is_first)
{
	(void)c;
	vb_capture_rates_look(&host.rates, &host.o, !is_first);
}

static int add_interface(struct vb_capture *c, uint32_t port)
{
	static struct vb_host_shm table;

	vb_host_read(host.o.host, &table);
	const struct vb_device *d = &table.device[port - 1];
	host.port[port].known = true;
	host.port[port].interface = c->out.interface_cnt;
	return vb_pcapng_interface(&c->out, d->name, d->ifname, (uint64_t)d->speed_mbps * 1000000,
				   VB_PCAPNG_IP);
}

static int begin_host(struct vb_capture *c)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < host.o.host->device_cnt; i++)
		if (host.o.host->device[i].ifindex)
			rc = add_interface(c, i + 1);
	return rc;
}

static int write_packet(struct vb_capture *c, const struct vb_ring_reader *r)
{
	const struct vb_capture_rec *rec = &r->rec;
	uint32_t port = rec->port >= 1 && rec->port <= VB_HCA_PORTS_MAX ? rec->port : 1;
	struct vb_udp_frame frame = {
	    .src = rec->src,
	    .dst = rec->dst,
	    .flow_label = rec->flow_label,
	    .sport = rec->sport,
	    .dport = rec->dport,
	    .ip_id = rec->ip_id,
	    .traffic_class = rec->traffic_class,
	    .hop_limit = rec->hop_limit,
	    .payload = r->data,
	    .payload_len = rec->len,
	};
	char comment[VB_FAULT_COMMENT_MAX + VB_CAPTURE_RATES_PER_PACKET * VB_RATE_COMMENT_MAX];
	int rc = host.port[port].known ? 0 : add_interface(c, port);

	if (!vb_fault_comment(rec->mark, comment))
		comment[0] = 0;
	vb_capture_rates_tell(&host.rates, rec->time_ns, c->ahead_ns, comment, sizeof comment);

	if (!rc)
		rc = vb_pcapng_packet(&c->out, host.port[port].interface, rec->time_ns,
				      rec->sent != 0, &frame, comment[0] ? comment : NULL);
	c->captured += !rc;
	host.port[port].captured += !rc;
	return rc;
}

static int finish_host(struct vb_capture *c, uint64_t now)
{
	int rc = 0;

	for (uint32_t port = 1; !rc && port <= VB_HCA_PORTS_MAX; port++)
		if (host.port[port].known)
			rc = vb_pcapng_statistics(&c->out, host.port[port].interface, now,
						  host.port[port].captured, c->lost);
	return rc;
}

static void detach_host(struct vb_capture *c)
{
	(void)c;
	vb_broker_observe_end(&host.o);
}

const struct vb_capture_source vb_capture_host = {
    .attach = attach_host,
    .find = find_slots,
    .ring = slot_ring,
    .turn = turn_host,
    .comes_back = true,
    .look = look_rates,
    .begin = begin_host,
    .write = write_packet,
    .finish = finish_host,
    .detach = detach_host,
};
