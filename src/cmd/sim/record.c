/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of `verbena sim`: events as JSON lines, packets of one port as pcapng. */
#include "cmd/sim/sim.h"
#include "export/pcapng.h"
#include "traffic/comment/fault.h"
#include "wire/ib/grh.h"
#include "wire/ib/lrh.h"
#include "wire/ib/vcrc.h"
#include "wire/icrc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_MAX                                                                                 \
	(VB_LRH_LEN + VB_GRH_LEN + VB_HDR_MAX + VB_PAYLOAD_MAX + VB_PAD_MAX + VB_ICRC_LEN +        \
	 VB_VCRC_LEN)

static void note_error(struct vb_sim_record *rec, const char *what, int err)
{
	if (rec->err == 0 && err) {
		rec->err = err;
		rec->failed = what;
	}
}

void vb_sim_record_event(void *ctx, const struct vb_trace_event *ev)
{
	struct vb_sim_record *rec = ctx;
	const struct vb_trace_info *info = &vb_trace_info[ev->id];

	if (rec->watch)
		vb_watch_event(rec->watch, ev);
	if (rec->series)
		vb_sim_series_event(rec->series, ev);
	if (rec->queues && ev->node == rec->queues->host)
		vb_queues_log_event(rec->queues, vb_sim_hca(rec->sim, ev->node), ev);
	if (!rec->trace)
		return;
	fprintf(rec->trace, "{\"t\":%" PRIu64 ",\"node\":%u,\"seq\":%u,\"event\":\"%s\"", ev->time,
		ev->node, ev->seq, info->name);
	if (ev->qpn)
		fprintf(rec->trace, ",\"qpn\":%u", ev->qpn);
	for (int i = 0; i < 4 && info->arg[i][0]; i++)
		fprintf(rec->trace, ",\"%s\":%" PRIu64, info->arg[i], ev->arg[i]);
	if (fputs("}\n", rec->trace) < 0)
		note_error(rec, "trace", -errno);
}

/* BTH through pad; a payload that is a length only is written as zeros. */
static void packet_copy(const struct vb_frame *pkt, uint8_t *out)
{
	uint32_t there = pkt->has_payload ? pkt->len : pkt->hdr_len;

	memcpy(out, pkt->bytes, there);
	memset(out + there, 0, pkt->len - there);
}

/* The GRH of a packet that has one. The marks of congestion are in the BTH: what the adapter makes
 * of them is not on the wire. */
static void grh_bytes(const struct vb_frame *pkt, uint8_t *out)
{
	const struct vb_grh grh = {.sgid = pkt->path.sgid,
				   .dgid = pkt->path.dgid,
				   .flow_label = pkt->path.flow_label,
				   .pay_len = (uint16_t)(pkt->len + VB_ICRC_LEN),
				   .version = 6,
				   .next_header = VB_GRH_NEXT_HEADER,
				   .hop_limit = pkt->path.hop_limit};

	vb_grh_emit(&grh, out);
}

/* A packet of InfiniBand, LRH through VCRC. A damaged packet has wrong CRCs. */
static uint32_t ib_packet_bytes(const struct vb_frame *pkt, uint8_t *out)
{
	bool has_grh = vb_path_has_grh(&pkt->path);
	const struct vb_lrh lrh = {.vl = pkt->prio,
				   .sl = pkt->path.sl,
				   .lnh = has_grh ? VB_LNH_GLOBAL : VB_LNH_LOCAL,
				   .dlid = pkt->path.dlid,
				   .slid = pkt->path.slid,
				   .words = (uint16_t)((pkt->frame_len - VB_VCRC_LEN) / 4)};
	uint8_t *bth = out + VB_LRH_LEN + (has_grh ? VB_GRH_LEN : 0);
	uint32_t crc;

	vb_lrh_emit(&lrh, out);
	if (has_grh)
		grh_bytes(pkt, out + VB_LRH_LEN);
	packet_copy(pkt, bth);
	crc = has_grh ? vb_icrc_start_global(out + VB_LRH_LEN) : vb_icrc_start_local(out);
	crc = vb_icrc_headers(crc, bth, pkt->hdr_len);
	crc = vb_icrc_bytes(crc, bth + pkt->hdr_len, pkt->len - pkt->hdr_len);
	vb_icrc_finish(pkt->corrupt ? ~crc : crc, bth + pkt->len);
	vb_vcrc_put(out + pkt->frame_len - VB_VCRC_LEN,
		    vb_vcrc(out, pkt->frame_len - VB_VCRC_LEN) ^ pkt->corrupt);
	return pkt->frame_len;
}

/* The packet with its ICRC. */
static uint32_t packet_bytes(const struct vb_frame *pkt, uint8_t *out)
{
	struct vb_icrc_udp u = {
	    .src = pkt->path.sgid,
	    .dst = pkt->path.dgid,
	    .sport = pkt->path.udp_sport,
	    .dport = VB_ROCE_PORT,
	    .ip_frag = 0x4000,
	};
	uint32_t crc;

	packet_copy(pkt, out);
	crc = vb_icrc_start(&u, pkt->len + VB_ICRC_LEN);
	crc = vb_icrc_headers(crc, out, pkt->hdr_len);
	crc = vb_icrc_bytes(crc, out + pkt->hdr_len, pkt->len - pkt->hdr_len);
	/* A damaged packet carries the ICRC of what it was, or when its bytes are not there a wrong
	 * one. */
	if (pkt->corrupt)
		crc = pkt->has_payload ? pkt->icrc : ~crc;
	vb_icrc_finish(crc, out + pkt->len);
	return pkt->len + VB_ICRC_LEN;
}

void vb_sim_record_packet(void *ctx, uint32_t port, enum vb_cable_tap_dir dir,
			  const struct vb_frame *pkt, vb_time now)
{
	struct vb_sim_record *rec = ctx;
	uint8_t bytes[PACKET_MAX];
	char comment[VB_FAULT_COMMENT_MAX];

	if (rec->watch)
		vb_watch_packet(rec->watch, port, dir, pkt, now);
	if (rec->depths)
		rec->depths->has_moved = true;
	if (rec->series)
		vb_sim_series_packet(rec->series, port, dir, pkt, now);
	if (!rec->pcap || port != rec->port)
		return;

	if (vb_path_has_lid(&pkt->path)) {
		uint32_t len = ib_packet_bytes(pkt, bytes);

		note_error(rec, "capture",
			   vb_pcapng_bytes(rec->out, 0, now, dir == VB_CABLE_SENT,
					   VB_PCAPNG_IB_PACKET, bytes, len,
					   vb_fault_comment(pkt->mark, comment)));
		return;
	}

	struct vb_udp_frame frame = {
	    .src = pkt->path.sgid,
	    .dst = pkt->path.dgid,
	    .flow_label = pkt->path.flow_label,
	    .sport = pkt->path.udp_sport,
	    .dport = VB_ROCE_PORT,
	    .traffic_class = pkt->path.traffic_class,
	    .hop_limit = pkt->path.hop_limit,
	    .payload = bytes,
	    .payload_len = packet_bytes(pkt, bytes),
	};

	note_error(rec, "capture",
		   vb_pcapng_packet(rec->out, 0, now, dir == VB_CABLE_SENT, &frame,
				    vb_fault_comment(pkt->mark, comment)));
}

int vb_sim_record_begin(struct vb_sim_record *rec, const struct vb_sim *sim)
{
	struct vb_sim_ib_stats st;
	char name[32];
	int err;

	rec->port = vb_sim_port_of(sim, rec->node, rec->port_idx);
	rec->out = calloc(1, sizeof(struct vb_pcapng));
	if (!rec->out)
		return -ENOMEM;
	snprintf(name, sizeof name, "%u.%u", rec->node, rec->port_idx);
	err = vb_pcapng_begin(rec->out, rec->pcap, "verbena sim");
	return err ? err
		   : vb_pcapng_interface(
			 rec->out, name, "simulated port", vb_sim_port_rate(sim, rec->port),
			 vb_sim_ib_port_stats(sim, rec->port, &st) ? VB_PCAPNG_INFINIBAND
								   : VB_PCAPNG_IP);
}

int vb_sim_record_end(struct vb_sim_record *rec)
{
	if (rec->trace && fclose(rec->trace) != 0)
		note_error(rec, "trace", -errno);
	if (rec->pcap && fclose(rec->pcap) != 0)
		note_error(rec, "capture", -errno);
	free(rec->out);
	vb_watch_free(rec->watch);
	/* That the simulation is taken down afterwards is no part of the run. */
	rec->trace = rec->pcap = NULL;
	rec->watch = NULL;
	return rec->err;
}
