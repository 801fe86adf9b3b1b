/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker as the adapter's firmware, request by request: registers and the CSR space of several
 * devices, of several processes, and of several observers at once. ADP-26, CC-31, CC-43, REG-34
 */
#include "broker_inside.h"
#include "node/shared/adapter.h"
#include "reg/csr/cc_names.h"
#include "reg/file.h"
#include "reg/text.h"

#include <inttypes.h>

#define OF_QP(index) (VB_CSR_QP_STATE + ((index)-1) * VB_CSR_STRIDE)
#define BUSY(word) ((word) >> 51 & 1)

static struct vb_broker_msg m;

static const struct vb_adapter_pf *pf(uint32_t i)
{
	return &vb_adapter_state(vb_slots_adapter(&b.slots))->pf[i];
}

static struct vb_host_memory *memory(void)
{
	return (struct vb_host_memory *)b.slots.host;
}

/* An access to a register of device @name, which the broker answers in m. */
static int access_reg(uint32_t method, const struct vb_reg *reg, const char *name)
{
	m.op = VB_BROKER_REGISTER;
	m.status = -EIO; /* the question is no answer */
	snprintf(m.text, sizeof m.text, "of the question");
	m.reg.method = method;
	m.reg.id = reg->id;
	m.reg.len = reg->len;
	snprintf(m.reg.device, sizeof m.reg.device, "%s", name);
	vb_broker_register(&b, &m);
	assert_int_equal(m.op, VB_BROKER_DONE);
	if (!m.status)
		assert_string_equal(m.text, "");
	return m.status;
}

static void get_reg(const struct vb_reg *reg, const char *name)
{
	assert_int_equal(access_reg(VB_BROKER_REG_GET, reg, name), 0);
}

/* Changes fields of a register. */
static int set_reg(const struct vb_reg *reg, const char *name, const char *fields)
{
	struct vb_reg_text_fault fault;

	get_reg(reg, name);
	assert_int_equal(vb_reg_text_apply(reg, fields, false, m.reg.image, &fault), 0);
	return access_reg(VB_BROKER_REG_SET, reg, name);
}

/* A write is to that device, at all of its names, and begins an epoch of the settings that it
 * changes: programs look for that. */
static void reg__begins_the_epoch_of_what_it_changes(void **state)
{
	(void)state;
	for (int n = 1; n <= 2; n++) {
		assert_int_equal(set_reg(&vb_reg_roce_accl, "eth1",
					 n == 1 ? "roce_tx_window_en=1" : "roce_tx_window_en=0"),
				 0);
		assert_int_equal(pf(2)->recovery_epoch, n);
	}
	get_reg(&vb_reg_roce_recovery, "verbena2");
	assert_int_equal(access_reg(VB_BROKER_REG_SET, &vb_reg_roce_recovery, "verbena2"), 0);
	assert_int_equal(pf(2)->recovery_epoch, 3);
	assert_int_equal(set_reg(&vb_reg_pkey_table, "verbena2", "pkey[2]=7"), 0);
	assert_int_equal(pf(2)->recovery_epoch, 3);
	assert_int_equal(pf(2)->cc_epoch, 0);
	assert_int_equal(set_reg(&vb_reg_roce_accl, "verbena2", "cc_burst_size=1"), 0);
	assert_int_equal(pf(2)->cc_epoch, 1);
	assert_int_equal(access_reg(VB_BROKER_REG_RESET, &vb_reg_roce_accl, "verbena2"), 0);
	assert_int_equal(pf(2)->cc_epoch, 2);
	assert_int_equal(pf(2)->recovery_epoch, 5);
	/* The other device has nothing of it. */
	assert_int_equal(pf(0)->recovery_epoch, 0);
	assert_int_equal(pf(0)->cc_epoch, 0);
}

/* A reset makes rates for the link of the device that is reset. CC-49 */
static void reg__reset_knows_the_rate(void **state)
{
	static struct vb_reg_file want;

	(void)state;
	assert_int_equal(access_reg(VB_BROKER_REG_RESET, &vb_reg_roce_accl, "eth1"), 0);
	vb_reg_file_reset(&want, UINT64_C(40000000000));
	assert_memory_equal(&pf(2)->reg.cc, &want.cc, sizeof want.cc);
	assert_int_equal(access_reg(VB_BROKER_REG_RESET, &vb_reg_roce_accl, "eth0"), 0);
	vb_reg_file_reset(&want, UINT64_C(25000000000));
	assert_memory_equal(&pf(0)->reg.cc, &want.cc, sizeof want.cc);
}

/* A mistake is named, and changes nothing. */
static void reg__says_what_is_wrong(void **state)
{
	const struct vb_reg none = {.id = 0x1234, .len = 0x40};
	static struct vb_adapter_pf before;
	char text[sizeof m.text];

	(void)state;
	before = *pf(0);
	assert_int_equal(access_reg(VB_BROKER_REG_GET, &none, "eth0"), -EINVAL);
	assert_string_equal(m.text,
			    "register 0x1234, length 0x40: there is no register with this id");
	assert_int_equal(access_reg(3, &vb_reg_roce_accl, "eth0"), -EPROTO);
	assert_non_null(strstr(m.text, ": there is no such method"));
	assert_int_equal(access_reg(VB_BROKER_REG_GET, &vb_reg_roce_accl, "nothing"), -ENODEV);
	assert_string_equal(m.text, "there is no device 'nothing'");
	/* A name without an end has its end where there is room for no more. */
	m.reg.method = VB_BROKER_REG_GET;
	memset(m.reg.device, 'x', sizeof m.reg.device);
	vb_broker_register(&b, &m);
	assert_int_equal(m.status, -ENODEV);
	snprintf(text, sizeof text, "there is no device '%.*s'", (int)sizeof m.reg.device - 1,
		 m.reg.device);
	assert_string_equal(m.text, text);
	assert_int_equal(access_reg(VB_BROKER_REG_RESET, &vb_reg_roce_accl, "verbena0v1"), -EPERM);
	assert_string_equal(m.text, "verbena0v1 is a virtual function, with the settings of "
				    "verbena0: use '-d verbena0'");
	assert_int_equal(set_reg(&vb_reg_adp_histogram_config, "eth0", "bin_num=0"), -EINVAL);
	assert_non_null(strstr(m.text, "bin_num=0x0: "));
	assert_memory_equal(pf(0), &before, sizeof before);
}

/* P_Keys are those of the device and of its functions, and programs are woken for them; for what
 * they look for by themselves they are not. IBT-81 */
static void reg__pkeys_wake_programs(void **state)
{
	uint32_t one = client(), two = client(), generation = b.slots.host->generation;

	(void)state;
	assert_int_equal(set_reg(&vb_reg_pkey_table, "eth0", "pkey[3]=0x8007"), 0);
	assert_true(is_woken(one) && is_woken(two));
	assert_int_equal(b.slots.host->generation, generation + 1);
	assert_int_equal(b.slots.host->device[0].pkey[3], 0x8007);
	assert_int_equal(b.slots.host->device[1].pkey[3], 0x8007);
	assert_int_equal(b.slots.host->device[2].pkey[3], 0);
	/* A virtual function reads what the physical one has. */
	get_reg(&vb_reg_pkey_table, "eth0");
	struct vb_broker_reg of_pf = m.reg;

	get_reg(&vb_reg_pkey_table, "verbena0v1");
	assert_memory_equal(m.reg.image, of_pf.image, sizeof of_pf.image);
	/* The same again is no change. */
	assert_int_equal(set_reg(&vb_reg_pkey_table, "eth0", "pkey[3]=0x8007"), 0);
	assert_int_equal(b.slots.host->generation, generation + 1);
	assert_int_equal(heard(one, &m), -EAGAIN);
}

/* All timers in the histogram of device @name. */
static uint64_t timers(const char *name)
{
	const struct vb_reg *reg = &vb_reg_adp_histogram;
	uint64_t sum = 0;

	get_reg(reg, name);
	for (int i = 0; i < VB_ADP_BINS_MAX; i++) {
		char field[32];
		unsigned others;

		snprintf(field, sizeof field, "bin[%d]", i);
		sum += vb_reg_field_get(reg, vb_reg_find(reg, field, strlen(field), &others),
					m.reg.image);
	}
	return sum;
}

/* A histogram has the timers of all processes, of those that have ended too, of the device and its
 * functions, and of no other device. */
static void histogram__of_all_processes(void **state)
{
	uint32_t one = client(), two = client();
	struct vb_slot_shm *s[2] = {b.slots.slot[b.conn[one].slot].shm,
				    b.slots.slot[b.conn[two].slot].shm};

	(void)state;
	s[0]->fired[1].slot[12] = 1;
	s[1]->fired[1].slot[12] = 20;
	s[0]->fired[2].slot[40] = 300;
	s[1]->fired[2].slot[12] = 4000;
	s[1]->fired[3].slot[12] = 50000;
	assert_int_equal(timers("eth0"), 4321);
	assert_int_equal(timers("eth1"), 50000);
	vb_conn_end(&b, one);
	assert_int_equal(timers("eth0"), 4321);
	vb_conn_end(&b, two);
	assert_int_equal(timers("eth0"), 4321);
	assert_int_equal(timers("eth1"), 50000);
	/* A reset begins them anew. */
	assert_int_equal(access_reg(VB_BROKER_REG_RESET, &vb_reg_roce_accl, "eth0"), 0);
	assert_int_equal(timers("eth0"), 0);
	assert_int_equal(timers("eth1"), 50000);
}

/* An adapter that stays has as many functions of each device as were asked for, 8 at most, and a
 * keeper at once; it needs the port. */
static void keep__as_many_functions_as_there_may_be(void **state)
{
	static const uint32_t asked[] = {3, 8, 9}, has[] = {3, 8, 8};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		b.keeper_due = 7;
		assert_int_equal(vb_broker_set_kept(&b, true, asked[i]), 0);
		assert_int_equal(vb_adapter_state(vb_slots_adapter(&b.slots))->vf_cnt, has[i]);
		assert_int_equal(vb_adapter_state(vb_slots_adapter(&b.slots))->is_kept, 1);
		assert_true(b.keeper_due == 0);
	}
	assert_int_equal(vb_broker_set_kept(&b, false, 5), 0);
	assert_int_equal(vb_adapter_state(vb_slots_adapter(&b.slots))->vf_cnt, 0);
	assert_int_equal(vb_adapter_state(vb_slots_adapter(&b.slots))->is_kept, 0);
	assert_true(b.keeper_due == VB_NEVER);
}

/* Where somebody has the port the adapter does not stay, and that is said. */
static void keep__needs_the_port(void **state)
{
	struct vb_group other;
	uint32_t o = observer();

	(void)state;
	vb_group_init(&other);
	assert_int_equal(vb_group_grow(&other, 1), 0);
	vb_broker_msg_init(&m, VB_BROKER_KEEP);
	m.slot = 1;
	m.cnt = 2;
	say_with(o, &m, -1);
	assert_int_equal(heard(o, &m), 1);
	assert_int_equal(m.status, -EADDRINUSE);
	assert_int_equal(vb_adapter_state(vb_slots_adapter(&b.slots))->is_kept, 0);
	assert_int_equal(b.slots.fd_store, -1);
	assert_int_equal(b.slots.host->is_open, 0);
	/* It is no matter for one that is not to stay. */
	vb_broker_msg_init(&m, VB_BROKER_KEEP);
	say_with(o, &m, -1);
	assert_int_equal(heard(o, &m), 1);
	assert_int_equal(m.status, 0);
	vb_group_close(&other);
}

/* Begins a request of the CSR space for device @name. */
static void begin(enum vb_broker_csr_method method, const char *name)
{
	vb_broker_msg_init(&m, VB_BROKER_CSR);
	m.csr.method = method;
	m.csr.failed = m.csr.qpn = 99;
	snprintf(m.csr.device, sizeof m.csr.device, "%s", name);
}

static void add(uint32_t at, uint64_t word)
{
	m.csr.access[m.csr.cnt].at = at;
	m.csr.access[m.csr.cnt].word = word;
	m.csr.access[m.csr.cnt++].mask = UINT64_MAX;
}

/* Observer @o asks; its status, or 1: the answer is still to come. */
static int ask(uint32_t o)
{
	say_with(o, &m, -1);
	if (heard(o, &m) != 1)
		return 1;
	assert_int_equal(m.op, VB_BROKER_DONE);
	return m.status;
}

/* 72 accesses are one request, one more is none. The methods end with LOOK. */
static void csr__as_many_as_a_request_has(void **state)
{
	uint32_t o = observer();

	(void)state;
	for (uint32_t cnt = 72; cnt <= 73; cnt++) {
		begin(VB_BROKER_CSR_READ, "eth0");
		for (int i = 0; i < 72; i++)
			add(0x200218, 0);
		m.csr.cnt = cnt;
		assert_int_equal(ask(o), cnt == 72 ? 0 : -EPROTO);
		assert_int_equal(m.csr.failed, 0);
		assert_int_equal(m.csr.qpn, 0);
	}
	begin(VB_BROKER_CSR_LOOK, "eth0");
	add(0x200218, 0);
	assert_int_equal(ask(o), 0);
	begin((enum vb_broker_csr_method)(VB_BROKER_CSR_LOOK + 1), "eth0");
	add(0x200218, 0);
	assert_int_equal(ask(o), -EPROTO);
	begin(VB_BROKER_CSR_READ, "eth7");
	add(0x200218, 0);
	snprintf(m.text, sizeof m.text, "of the question");
	assert_int_equal(ask(o), -ENODEV);
	assert_string_equal(m.text, "there is no device 'eth7'");
	begin(VB_BROKER_CSR_WRITE, "verbena0v1");
	add(0x200218, 0);
	assert_int_equal(ask(o), -EPERM);
	assert_string_equal(m.text, "verbena0v1 is a virtual function: use '-d verbena0'");
}

/* A write is an epoch of that device, and wakes programs; a read or a refused write is none.
 * A virtual function reads through to its physical one. ADP-26 */
static void csr__writes_begin_an_epoch(void **state)
{
	uint32_t o = observer(), one = client(), two = client();

	(void)state;
	begin(VB_BROKER_CSR_WRITE, "eth0");
	add(0x200218, 77);
	assert_int_equal(ask(o), 0);
	assert_true(is_woken(one) && is_woken(two));
	assert_int_equal(pf(0)->cc_epoch, 1);
	assert_int_equal(pf(2)->cc_epoch, 0);
	for (int i = 0; i < 2; i++) {
		begin(VB_BROKER_CSR_READ, i ? "verbena0v1" : "eth0");
		add(0x200218, 0);
		assert_int_equal(ask(o), 0);
		assert_int_equal(m.csr.access[0].word, 77);
	}
	begin(VB_BROKER_CSR_READ, "eth1");
	add(0x200218, 0);
	assert_int_equal(ask(o), 0);
	assert_true(m.csr.access[0].word != 77);
	begin(VB_BROKER_CSR_WRITE, "eth0");
	add(0x200218, 78);
	add(0x200260, 0); /* no clock */
	assert_int_equal(ask(o), -EINVAL);
	assert_int_equal(m.csr.failed, 1);
	assert_non_null(strstr(m.text, "0x200260: cc_clk_hz=0x0: "));
	assert_int_equal(pf(0)->cc_epoch, 1);
	assert_int_equal(heard(one, &m), -EAGAIN);
	begin(VB_BROKER_CSR_READ, "eth0");
	add(0x200218, 0);
	add(0x200219, 0);
	assert_int_equal(ask(o), -EINVAL);
	assert_int_equal(m.csr.failed, 1);
	assert_string_equal(m.text, "0x200219: there is no register at this address");
}

/* A setting by its name knows the rate of its device, and says what is wrong by that name. */
static void csr__by_name(void **state)
{
	const struct vb_cc_name *max = vb_cc_name_find("rp_max_rate", 11);
	uint32_t o = observer();
	char text[100];

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin(VB_BROKER_CSR_NAME, i ? "eth1" : "eth0");
		add((uint32_t)(max - vb_cc_names), 0); /* the rate of the link */
		assert_int_equal(ask(o), 0);
		assert_int_equal(max->get(&pf(i ? 2 : 0)->reg.cc), i ? 40000 : 25000);
	}
	begin(VB_BROKER_CSR_NAME, "eth0");
	add((uint32_t)(max - vb_cc_names), 10000);
	add((uint32_t)(vb_cc_name_find("rp_gd", 5) - vb_cc_names), 9);
	assert_int_equal(ask(o), -EINVAL);
	assert_int_equal(m.csr.failed, 1);
	assert_int_equal(strncmp(m.text, "rp_gd=9 ", 8), 0);
	assert_int_equal(max->get(&pf(0)->reg.cc), 25000);
	begin(VB_BROKER_CSR_NAME, "eth0");
	add(vb_cc_name_cnt, 9);
	assert_int_equal(ask(o), -EINVAL);
	assert_string_equal(m.text, "there is no setting of this number");
	/* A setting that has no name in debugfs has that of sysfs. */
	for (uint32_t i = 0; i < vb_cc_name_cnt; i++) {
		if (vb_cc_names[i].debugfs)
			continue;
		begin(VB_BROKER_CSR_NAME, "eth0");
		add(i, UINT64_MAX);
		assert_int_equal(ask(o), -EINVAL);
		snprintf(text, sizeof text, "%s=18446744073709551615 ", vb_cc_names[i].sysfs);
		assert_int_equal(strncmp(m.text, text, strlen(text)), 0);
	}
}

/* Registers of QPs are asked of the process that has the QP, by the device that it belongs to or
 * that one's physical function. */
static void qp__of_its_device(void **state)
{
	static const struct {
		const char *name;
		uint32_t index;
		bool found;
	} row[] = {{"eth0", 1, true},       {"verbena0v1", 1, false}, {"eth1", 1, false},
		   {"eth0", 2, true},       {"verbena0v1", 2, true},  {"eth1", 2, false},
		   {"eth0", 3, false},      {"eth1", 3, true},        {"eth0", 4, false},
		   {"verbena0v1", 4, false}};
	uint32_t o = observer(), one = client(), two = client();
	uint32_t *index = memory()->qp_index;
	char text[100];

	(void)state;
	index[0] = 1u << 24 | 0x100 | b.conn[one].slot;
	index[1] = 2u << 24 | 0x200 | b.conn[two].slot;
	index[2] = 3u << 24 | 0x300 | b.conn[two].slot;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		uint32_t who = row[i].index == 1 ? one : two;

		begin(VB_BROKER_CSR_READ, row[i].name);
		add(OF_QP(row[i].index), 0);
		if (!row[i].found) {
			assert_int_equal(ask(o), -ENXIO);
			snprintf(text, sizeof text, "0x%06x: no QP of %s has index %u",
				 OF_QP(row[i].index),
				 row[i].name[0] == 'v'   ? row[i].name
				 : row[i].name[3] == '1' ? "verbena2"
							 : "verbena0",
				 row[i].index);
			assert_string_equal(m.text, text);
			continue;
		}
		assert_int_equal(ask(o), 1);
		assert_int_equal(heard(who == one ? two : one, &m), -EAGAIN);
		assert_int_equal(heard(who, &m), 1);
		assert_int_equal(m.op, VB_BROKER_CSR);
		assert_int_equal(m.csr.qpn, index[row[i].index - 1] & 0xffffff);
		m.csr.access[0].word = 4711 + i;
		say_with(who, &m, -1);
		assert_int_equal(heard(o, &m), 1);
		assert_int_equal(m.op, VB_BROKER_DONE);
		assert_int_equal(m.csr.access[0].word, 4711 + i);
	}
}

/* An answer is that of the process that was asked, to the question that was asked. While a write is
 * on its way the device is busy, and while a read is it is not. CC-43 */
static void qp__answers_of_who_was_asked(void **state)
{
	uint32_t o = observer(), other = observer(), one = client(), two = client();
	struct vb_broker_msg asked;

	(void)state;
	memory()->qp_index[0] = 1u << 24 | 0x100 | b.conn[one].slot;
	for (int write = 0; write < 2; write++) {
		begin(write ? VB_BROKER_CSR_WRITE : VB_BROKER_CSR_READ, "eth0");
		add(OF_QP(1), 0);
		assert_int_equal(ask(o), 1);
		assert_int_equal(heard(one, &asked), 1);
		begin(VB_BROKER_CSR_READ, "eth0");
		add(0x200200, 0);
		assert_int_equal(ask(other), 0);
		assert_int_equal(BUSY(m.csr.access[0].word), write);
		begin(VB_BROKER_CSR_READ, "eth1");
		add(0x200200, 0);
		assert_int_equal(ask(other), 0);
		assert_int_equal(BUSY(m.csr.access[0].word), 0);
		/* Not from somebody else, and not to another question. */
		say_with(two, &asked, -1);
		asked.csr.tag++;
		say_with(one, &asked, -1);
		assert_int_equal(heard(o, &m), -EAGAIN);
		asked.csr.tag--;
		say_with(one, &asked, -1);
		assert_int_equal(heard(o, &m), 1);
		/* Once. */
		say_with(one, &asked, -1);
		assert_int_equal(heard(o, &m), -EAGAIN);
		assert_int_equal(heard(other, &m), -EAGAIN);
		begin(VB_BROKER_CSR_READ, "eth0");
		add(0x200200, 0);
		assert_int_equal(ask(other), 0);
		assert_int_equal(BUSY(m.csr.access[0].word), 0);
	}
}

/* When a process ends all who have asked it are told, and nobody else is. */
static void qp__its_process_ends(void **state)
{
	uint32_t o[3] = {observer(), observer(), observer()}, one = client(), two = client();

	(void)state;
	memory()->qp_index[0] = 1u << 24 | 0x100 | b.conn[one].slot;
	memory()->qp_index[1] = 1u << 24 | 0x100 | b.conn[two].slot;
	for (int i = 0; i < 3; i++) {
		begin(VB_BROKER_CSR_READ, "eth0");
		add(OF_QP(i == 1 ? 2 : 1), 0);
		assert_int_equal(ask(o[i]), 1);
	}
	vb_conn_end(&b, one);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(heard(o[i], &m), i == 1 ? -EAGAIN : 1);
		if (i == 1)
			continue;
		assert_int_equal(m.op, VB_BROKER_DONE);
		assert_int_equal(m.status, -ENXIO);
		assert_string_equal(m.text, "the program whose QP this is has ended");
	}
	/* They may ask again; the other one gets its answer. */
	begin(VB_BROKER_CSR_READ, "eth0");
	add(0x200218, 0);
	assert_int_equal(ask(o[0]), 0);
	assert_int_equal(heard(two, &m), 1);
	say_with(two, &m, -1);
	assert_int_equal(heard(o[1], &m), 1);
	assert_int_equal(m.status, 0);
}

/* A process that takes no more requests is not waited for. */
static void qp__its_process_takes_nothing(void **state)
{
	uint32_t o = observer(), one = client(), cnt = 0;
	char text[100];

	(void)state;
	memory()->qp_index[0] = 1u << 24 | 0x100 | b.conn[one].slot;
	vb_broker_msg_init(&m, VB_BROKER_DONE);
	while (vb_conn_send(&b.conn[one], &m, NULL) == 0)
		cnt++;
	assert_true(cnt > 1);
	begin(VB_BROKER_CSR_READ, "eth0");
	add(OF_QP(1), 0);
	assert_int_equal(ask(o), -EBUSY);
	snprintf(text, sizeof text, "0x%06x: process %d, whose QP this is, takes no requests",
		 OF_QP(1), (int)getpid());
	assert_string_equal(m.text, text);
	/* Nothing is on its way. */
	begin(VB_BROKER_CSR_READ, "eth0");
	add(0x200218, 0);
	assert_int_equal(ask(o), 0);
}

/* A place of the table that has another network device now begins anew, with the rate of that; the
 * others go on. */
static void devices__of_another_place(void **state)
{
	static struct vb_reg_file want;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    set_reg(&vb_reg_roce_accl, i ? "eth1" : "eth0", "roce_tx_window_en=0"), 0);
	vb_slots_adapter(&b.slots)->past_fired[1].slot[3] = 9;
	vb_slots_adapter(&b.slots)->past_fired[3].slot[3] = 9;
	/* Here there is "lo" alone, in the first place. */
	snprintf(b.slots.host->device[0].ifname, sizeof b.slots.host->device[0].ifname, "lo");
	b.devices_due = 5;
	vb_broker_refresh_devices(&b);
	assert_true(b.devices_due == VB_NEVER);
	assert_string_equal(b.slots.host->device[0].ifname, "lo");
	assert_int_equal(pf(0)->recovery_epoch, 1);
	assert_int_equal(pf(0)->cc_epoch, 0);
	assert_int_equal(vb_slots_adapter(&b.slots)->past_fired[1].slot[3], 9);
	/* The function has gone with its place. */
	assert_string_equal(b.slots.host->device[1].ifname, "");
	assert_int_equal(pf(1)->recovery_epoch, 1);
	assert_int_equal(pf(1)->cc_epoch, 1);
	/* The device that has gone may come again. */
	assert_string_equal(b.slots.host->device[2].ifname, "eth1");
	assert_int_equal(pf(2)->recovery_epoch, 1);
	assert_int_equal(vb_slots_adapter(&b.slots)->past_fired[3].slot[3], 9);
	/* A new name is another device. */
	snprintf(b.slots.host->device[0].ifname, sizeof b.slots.host->device[0].ifname, "eth9");
	vb_broker_refresh_devices(&b);
	vb_reg_file_reset(&want, 0);
	assert_memory_equal(&pf(0)->reg.recovery, &want.recovery, sizeof want.recovery);
	assert_memory_equal(&pf(0)->reg.cc, &want.cc, sizeof want.cc);
	assert_int_equal(pf(0)->recovery_epoch, 2);
	assert_int_equal(pf(0)->cc_epoch, 1);
	assert_int_equal(vb_slots_adapter(&b.slots)->past_fired[1].slot[3], 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, inside_begin, inside_end)
#define G(f) cmocka_unit_test_setup_teardown(f, inside_begin_group, inside_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(reg__begins_the_epoch_of_what_it_changes),
	    T(reg__reset_knows_the_rate),
	    T(reg__says_what_is_wrong),
	    G(reg__pkeys_wake_programs),
	    G(histogram__of_all_processes),
	    G(keep__as_many_functions_as_there_may_be),
	    T(keep__needs_the_port),
	    T(csr__as_many_as_a_request_has),
	    G(csr__writes_begin_an_epoch),
	    T(csr__by_name),
	    G(qp__of_its_device),
	    G(qp__answers_of_who_was_asked),
	    G(qp__its_process_ends),
	    G(qp__its_process_takes_nothing),
	    T(devices__of_another_place),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
