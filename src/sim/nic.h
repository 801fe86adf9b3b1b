/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter that ships (core/hca.h) as a machine of a fabric, and the NIC around it: it fetches
 * one packet at a time from the core, when its port can take it, and puts those of a priority that
 * may not send aside.
 */
#ifndef VB_SIM_NIC_H
#define VB_SIM_NIC_H

#include "core/hca.h"
#include "fabric/ib/node/end.h"

/* Packets that are fetched from the core for a priority that may not send. */
#define VB_NIC_STAGED_MAX 8u

/* The state that the NICs of a fabric share. */
struct vb_nic_group {
	struct vb_frame_pool *pool;
	bool carry_data;       /* payloads have bytes */
	uint32_t telemetry_at; /* frames have telemetry there, as switches have it; 0: none */
	/* Of NICs: the first address, and how many there are; of InfiniBand LIDs, those of routers
	 * among them. */
	uint32_t address, cnt;
	const struct vb_sl2vl *sl2vl; /* of InfiniBand: of each NIC by LID, or with step 0 of all */
	uint32_t sl2vl_step;
	struct vb_nic *first, *last; /* those whose cores may have something to say */
	struct vb_tx_batch batch;
};

struct vb_nic {
	_Alignas(64) struct vb_machine machine; /* first: the machine is the NIC; lines: priv.h */
	struct vb_hca *hca;
	struct vb_pd *pd;
	struct vb_cq *cq;
	vb_time deadline; /* for which the holder has set its clock */
	struct vb_port *port;
	struct vb_ib_end *ib; /* of InfiniBand: between the core and the port */
	struct vb_nic_group *group;
	struct vb_nic *next; /* in the list of the group */
	uint32_t address;
	uint32_t staged;
	bool listed;
	bool is_waiting; /* it has a deadline or something to send, as its holder has counted */
	struct vb_counters counters;
};

/* Makes the adapter, with all that @cfg says; its port counts into @nic. */
int vb_nic_init(struct vb_nic *nic, const struct vb_hca_config *cfg, struct vb_port *port,
		struct vb_nic_group *group, uint32_t address, uint32_t cqe);
void vb_nic_destroy(struct vb_nic *nic);

void vb_nic_handle_packet(struct vb_nic *nic, struct vb_frame *f, vb_time now);
struct vb_frame *vb_nic_poll_transmit(struct vb_nic *nic, vb_time now);
vb_time vb_nic_poll_timeout(const struct vb_nic *nic);
void vb_nic_handle_timeout(struct vb_nic *nic, vb_time now);

/* Its port is one of InfiniBand: nic_ib.c. */
void vb_nic_set_infiniband(struct vb_nic *nic, struct vb_ib_end *ib);
/* The link of such a port comes up or is lost. */
void vb_nic_set_link(struct vb_nic *nic, bool up, vb_time now);

/* For both kinds of port: a packet goes into the core, which does not keep it; whether one may be
 * fetched from there, and the next one. */
enum vb_verdict vb_nic_frame_take(struct vb_nic *nic, const struct vb_frame *f, vb_time now);
bool vb_nic_may_fetch(const struct vb_nic *nic);
struct vb_frame *vb_nic_fetch(struct vb_nic *nic, vb_time now);

/* Puts it into the list of those whose cores may have completions, events or work. */
void vb_nic_list(struct vb_nic *nic);
/* The next one of the list, out of it; NULL: it is empty. */
struct vb_nic *vb_nic_take(struct vb_nic_group *g);

#endif
