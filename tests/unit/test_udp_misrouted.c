/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A GSO batch whose first packet is damaged where the kernel looks for the process: all of it goes
 * to another one, which tells what is not its own from packets for QPs that do not exist. The
 * sockets are steered as the broker has them (node/store/group.h).
 */
#include "core/hca.h"
#include "node/store/group.h"
#include "udp_forged.h"

#include <netinet/udp.h>

#define OWNER 2u /* slot of the process that the GSO batch is for */
#define OTHER 3u
#define QPN (0x123400u | OWNER)
#define PKTS 8u

static void *memory_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void memory_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* An adapter of the process of slot @slot, which has no QP. */
static struct vb_hca *adapter_new(struct fixture *f, uint32_t slot)
{
	struct vb_hca_config cfg = {.limits = vb_limits_default,
				    .qpn_base = slot,
				    .qpn_stride = 256,
				    .port_cnt = 1,
				    .port[1] = {.active_mtu = VB_MTU_4096,
						.pkey = {VB_PKEY_DEFAULT},
						.counters = &f->counters},
				    .alloc = memory_alloc,
				    .free = memory_free};
	struct vb_hca *hca;

	assert_int_equal(vb_hca_create(&hca, &cfg, 0), 0);
	return hca;
}

/* Sends packets for QPN in one GSO batch; the low byte of the first one's QPN is @low. */
static void gso_send(struct fixture *f, uint8_t low)
{
	struct vb_hdr h = {
	    .opcode = VB_TRANSPORT_UC | VB_OP_SEND_ONLY, .pkey = VB_PKEY_DEFAULT, .dqpn = QPN};
	uint8_t gso[PKTS * sizeof((struct forged *)NULL)->pkt];
	struct forged o;
	int seg;

	forge(&o, &f->path6, 0, 0, 64);
	for (uint32_t i = 0; i < PKTS; i++) {
		h.psn = vb_psn(i);
		(void)vb_hdr_emit(&h, o.pkt);
		forge_icrc(&o, &f->path6, 0, 0);
		memcpy(gso + i * o.len, o.pkt, o.len);
	}
	gso[7] = low;
	seg = (int)o.len;
	assert_int_equal(setsockopt(o.fd, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg), 0);
	assert_int_equal(send(o.fd, gso, PKTS * o.len, 0), PKTS * o.len);
	close(o.fd);
}

/* Has the adapter of @f take packets and find that their QPN is not its. Returns how many. */
static uint32_t packets_handled(struct fixture *f, struct vb_hca *hca)
{
	struct vb_rx rx[2 * PKTS];
	uint32_t cnt = f->link->ops->recv(f->link, rx, 2 * PKTS, 0);

	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(vb_hca_handle_packet(hca, &rx[i], 0), VB_VERDICT_QPN);
	return cnt;
}

static void recv__batch_of_another_process(void **state)
{
	struct vb_group g;
	struct fixture *f;
	struct vb_hca *hca;
	uint8_t byte;

	(void)state;
	vb_group_init(&g);
	while (g.cnt <= OTHER)
		assert_int_equal(vb_group_grow(&g, 1), 0);
	vb_group_open(&g, OWNER);
	vb_group_open(&g, OTHER);
	f = fixture_on(dup(g.fd[OTHER]));
	hca = adapter_new(f, OTHER);

	/* As it should be: nothing comes here. */
	gso_send(f, OWNER);
	assert_int_equal(packets_handled(f, hca), 0);
	assert_int_equal(recv(g.fd[OWNER], &byte, 1, MSG_DONTWAIT | MSG_TRUNC) > 0, 1);

	gso_send(f, OTHER);
	assert_int_equal(packets_handled(f, hca), PKTS - 1);
	assert_int_equal(counter(f, VB_COUNTER_rx_icrc_encapsulated), 1);
	assert_int_equal(counter(f, VB_COUNTER_rx_misrouted), PKTS - 1);
	assert_int_equal(counter(f, VB_COUNTER_rx_qpn_miss), 0);
	vb_hca_destroy(hca);
	f->link->ops->close(f->link);
	free(f);
	vb_group_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(recv__batch_of_another_process),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace may be made here: test skipped\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
