/* SPDX-License-Identifier: BSD-2-Clause */
/* Credits between programs of a fabric whose data takes no time: what a receiver has room for is
 * what its senders may send, and so a slow one loses nothing, of whatever transport. LNK-21 */
#include "subnet_program_env.h"

#define SENDERS 3
#define PACKETS 4000u /* of each sender: more than the rings hold */
#define SLOWNESS 7    /* the receiver reads one packet where so many could be sent */

static int setup(void **state)
{
	fabric_begin(state);
	fabric_configure();
	return 0;
}

/* Time does not pass, so that nobody is taken for one that has stopped. */
static const vb_time now = VB_SEC;

/* The packets that the receiver has got of each sender. */
static uint32_t got[SENDERS];

static bool receiver_reads(const struct program *to, const struct program *from)
{
	struct vb_rx rx;

	if (to->link->ops->recv(to->link, &rx, 1, now) == 0)
		return false;
	for (int i = 0; i < SENDERS; i++) {
		if (be32_get(rx.pkt + 8) >> 24 != from[i].slot)
			continue;
		assert_int_equal(be32_get(rx.pkt + 8) & 0xffffff, got[i]);
		got[i]++;
		return true;
	}
	fail_msg("a packet of nobody");
	return false;
}

static void receiver__that_is_slow_loses_nothing(void **state)
{
	/* SEND only of UC and of UD. */
	static const uint8_t opcode[] = {0x24, 0x64}, hdr_len[] = {12, 20};
	struct program from[SENDERS], to;

	(void)state;
	program_begin(&to, "H-B", HOST_B, 2);
	for (int i = 0; i < SENDERS; i++)
		program_begin(&from[i], "H-A", HOST_A, 1);
	for (int kind = 0; kind < 2; kind++) {
		uint32_t sent[SENDERS] = {0}, refused = 0, left = SENDERS * PACKETS;

		memset(got, 0, sizeof got);
		for (uint32_t turn = 0; left; turn++) {
			uint32_t i = turn % SENDERS, credit;

			if (turn % SLOWNESS == 0 && receiver_reads(&to, from))
				left--;
			if (sent[i] == PACKETS) {
				left -= receiver_reads(&to, from);
				continue;
			}
			assert_true(vb_link_rx_credit(from[i].link, to.slot, now, &credit));
			assert_true(credit != UINT32_MAX);
			refused += credit < PAYLOAD;
			if (credit < PAYLOAD)
				continue;
			struct vb_tx *tx =
			    packet_add(&from[i], &to, from[i].slot << 24 | sent[i]++);

			tx->hdr[0] = opcode[kind];
			tx->hdr_len = hdr_len[kind];
			assert_int_equal(from[i].link->ops->send(from[i].link, &batch, 0, now), 1);
			batch.cnt = 0;
		}
		assert_true(refused > 1000);
		for (int i = 0; i < SENDERS; i++) {
			assert_int_equal(got[i], PACKETS);
			assert_int_equal(from[i].counters.v[VB_COUNTER_port_xmit_discards], 0);
		}
	}
	vb_subnet_count(fabric, HOST_A);
	assert_int_equal(link_of(HOST_A, 1)->counters.xmit_packets, 2 * SENDERS * PACKETS);
	assert_int_equal(link_of(HOST_A, 1)->counters.xmit_discards, 0);
	for (int i = 0; i < SENDERS; i++)
		program_end(&from[i]);
	program_end(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(receiver__that_is_slow_loses_nothing, setup,
					    fabric_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
