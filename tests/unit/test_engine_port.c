/* SPDX-License-Identifier: BSD-2-Clause */
/* Which port of a node of InfiniBand a packet is for: by its LID, and by its GID if it has one. IBA
 * 8.3; items LNK-03, LNK-05, FAB-20 */
#include "node/engine/priv.h"

#include "cmocka_env.h"

enum { LID = 0x10, OTHER = 0x20, ALIAS = 3 };

static struct vb_host_shm table;

static struct vb_gid gid_of(uint8_t guid)
{
	return (struct vb_gid){{0xfe, 0x80, [15] = guid}};
}

/* Two ports; the first has LMC 1, and a GUID of the manager's beside its own. */
static int table_begin(void **state)
{
	(void)state;
	memset(&table, 0, sizeof table);
	table.device_cnt = 2;
	for (uint8_t i = 0; i < 2; i++) {
		struct vb_device *d = &table.device[i];

		d->ifindex = 1;
		d->ib.number = (uint8_t)(i + 1);
		d->ib.lid = i ? OTHER : LID;
		d->ib.lmc = i ? 0 : 1;
		d->gid[0] = (struct vb_gid_entry){gid_of((uint8_t)(i + 1)), VB_GID_IB};
	}
	table.device[0].gid[ALIAS] = (struct vb_gid_entry){gid_of(9), VB_GID_IB};
	return 0;
}

static uint8_t port_of(uint16_t dlid, const struct vb_gid *dgid, uint8_t hop_limit)
{
	struct vb_path path = {.dlid = dlid, .hop_limit = hop_limit};

	if (dgid)
		path.dgid = *dgid;
	return vb_addr_of_path(&table, &path);
}

/* LNK-03 */
static void path__by_lid(void **state)
{
	(void)state;
	assert_int_equal(port_of(LID, NULL, 0), 1);
	assert_int_equal(port_of(LID + 1, NULL, 0), 1);
	assert_int_equal(port_of(LID + 2, NULL, 0), 0);
	assert_int_equal(port_of(LID - 1, NULL, 0), 0);
	assert_int_equal(port_of(OTHER, NULL, 0), 2);
	table.device[1].ib.lid = 0; /* no manager has been there */
	assert_int_equal(port_of(OTHER, NULL, 0), 0);
}

/* LNK-05: with a GRH the DGID is one of the port's as well, whatever the hop limit; else the packet
 * is for nobody. FAB-20: a GUID of the manager's makes one as good as the port's own, until it is
 * taken away. */
static void path__by_gid(void **state)
{
	struct vb_gid own = gid_of(1), alias = gid_of(9), other = gid_of(2), subnet = gid_of(1);

	(void)state;
	for (unsigned hops = 0; hops < 256; hops += 51) {
		assert_int_equal(port_of(LID + 1, &own, (uint8_t)hops), 1);
		assert_int_equal(port_of(LID, &alias, (uint8_t)hops), 1);
		assert_int_equal(port_of(LID, &other, (uint8_t)hops), 0);
	}
	assert_int_equal(port_of(OTHER, &other, 0), 2);
	assert_int_equal(port_of(OTHER, &alias, 0), 0);
	subnet.b[1] = 0xc0;
	assert_int_equal(port_of(LID, &subnet, 0), 0);
	table.device[0].gid[ALIAS].type = VB_GID_NONE;
	assert_int_equal(port_of(LID, &alias, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(path__by_lid, table_begin),
	    cmocka_unit_test_setup(path__by_gid, table_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
