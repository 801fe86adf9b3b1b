/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers through a real broker: those of a physical function hold for its virtual ones, which
 * read them and set none, and its histogram has the timers of all of them. ADP-26, REG-34
 */
#include "broker_env.h"
#include "node/shared/adapter.h"
#include "reg/csr/cc_names.h"
#include "reg/file.h"
#include "reg/text.h"

#include <stdio.h>
#include <string.h>

static struct vb_broker_observer o;

static int observe_with_function(void **state)
{
	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_broker_stay(&o, true, 1), 0);
	return 0;
}

static int observe_end(void **state)
{
	(void)state;
	assert_int_equal(vb_broker_stay(&o, false, 0), 0);
	vb_broker_observe_end(&o);
	return 0;
}

/* The place of the first device that is a virtual function, or is not. */
static uint32_t place_of(bool is_virtual)
{
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		if (o.host->device[i].ifindex && (o.host->device[i].parent != 0) == is_virtual)
			return i;
	fail_msg("no such device");
	return 0;
}

static struct vb_broker_reg reg_of(const struct vb_reg *reg, uint32_t device)
{
	struct vb_broker_reg r = {.method = VB_BROKER_REG_GET, .id = reg->id, .len = reg->len};

	snprintf(r.device, sizeof r.device, "%s", o.host->device[device].name);
	assert_int_equal(vb_broker_access(&o, &r, broker_why, sizeof broker_why), 0);
	return r;
}

static void set__not_of_a_virtual_function(void **state)
{
	struct vb_broker_reg r = reg_of(&vb_reg_pkey_table, place_of(true));

	(void)state;
	r.method = VB_BROKER_REG_SET;
	assert_int_equal(vb_broker_access(&o, &r, broker_why, sizeof broker_why), -EPERM);
	assert_non_null(strstr(broker_why, o.host->device[place_of(false)].name));
	r.method = VB_BROKER_REG_RESET;
	assert_int_equal(vb_broker_access(&o, &r, broker_why, sizeof broker_why), -EPERM);
	snprintf(r.device, sizeof r.device, "%s", o.host->device[place_of(false)].name);
	assert_int_equal(vb_broker_access(&o, &r, broker_why, sizeof broker_why), 0);
}

/* Timers in all bins of the physical function's histogram. */
static uint64_t timers(void)
{
	const struct vb_reg *reg = &vb_reg_adp_histogram;
	struct vb_broker_reg r = reg_of(reg, place_of(false));
	uint64_t sum = 0;

	for (int i = 0; i < 16; i++) {
		char name[32];
		unsigned others;
		const struct vb_reg_field *f;

		snprintf(name, sizeof name, "bin[%d]", i);
		f = vb_reg_find(reg, name, strlen(name), &others);
		assert_non_null(f);
		sum += vb_reg_field_get(reg, f, r.image);
	}
	return sum;
}

static void histogram__of_all_functions_until_reset(void **state)
{
	struct vb_broker_client c = client_connect();
	uint32_t pf = place_of(false), vf = place_of(true);
	struct vb_broker_reg r = reg_of(&vb_reg_pkey_table, pf);

	(void)state;
	assert_int_equal(timers(), 0);
	c.shm->fired[pf + 1].slot[12] += 2;
	assert_int_equal(timers(), 2);
	c.shm->fired[vf + 1].slot[12] += 3;
	assert_int_equal(timers(), 5);
	r.method = VB_BROKER_REG_RESET;
	assert_int_equal(vb_broker_access(&o, &r, broker_why, sizeof broker_why), 0);
	assert_int_equal(timers(), 0);
	c.shm->fired[vf + 1].slot[12]++;
	assert_int_equal(timers(), 1);
	vb_broker_disconnect(&c);
}

/* Has the histogram count one function; less than 0: all of them. */
static int count_function(int vhca)
{
	struct vb_broker_reg r = reg_of(&vb_reg_adp_histogram_config, place_of(false));
	struct vb_reg_text_fault fault;
	char text[64];

	snprintf(text, sizeof text, "vhca_id_valid=%d,vhca_id=%d", vhca >= 0, vhca < 0 ? 0 : vhca);
	assert_int_equal(
	    vb_reg_text_apply(&vb_reg_adp_histogram_config, text, false, r.image, &fault), 0);
	r.method = VB_BROKER_REG_SET;
	return vb_broker_access(&o, &r, broker_why, sizeof broker_why);
}

/* A histogram of one function counts its timers alone; another device's is refused. */
static void histogram__of_one_function(void **state)
{
	struct vb_broker_client c = client_connect();
	uint32_t pf = place_of(false), vf = place_of(true);

	(void)state;
	assert_int_equal(count_function((int)vf), 0);
	c.shm->fired[pf + 1].slot[12] += 2;
	c.shm->fired[vf + 1].slot[12] += 3;
	assert_int_equal(timers(), 3);
	assert_int_equal(count_function((int)pf), 0);
	assert_int_equal(timers(), 0);
	c.shm->fired[pf + 1].slot[12] += 4;
	c.shm->fired[vf + 1].slot[12] += 5;
	assert_int_equal(timers(), 4);
	assert_int_equal(count_function(VB_DEVICES_MAX - 1), -EINVAL);
	assert_int_equal(timers(), 4);
	assert_int_equal(count_function(-1), 0);
	c.shm->fired[vf + 1].slot[12]++;
	assert_int_equal(timers(), 1);
	vb_broker_disconnect(&c);
}

static void set_burst(const char *text)
{
	struct vb_broker_reg r = reg_of(&vb_reg_roce_accl, place_of(false));
	struct vb_reg_text_fault fault;

	assert_int_equal(vb_reg_text_apply(&vb_reg_roce_accl, text, false, r.image, &fault), 0);
	r.method = VB_BROKER_REG_SET;
	assert_int_equal(vb_broker_access(&o, &r, broker_why, sizeof broker_why), 0);
}

/* A reset is a new epoch of recovery, too: programs that are at work take the first values. */
static void reset__begins_an_epoch(void **state)
{
	struct vb_broker_reg r = reg_of(&vb_reg_roce_accl, place_of(false));
	const struct vb_adapter_shm *a = vb_broker_adapter(&o);
	uint32_t was = vb_adapter_state(a)->pf[place_of(false)].recovery_epoch;

	(void)state;
	r.method = VB_BROKER_REG_RESET;
	assert_int_equal(vb_broker_access(&o, &r, broker_why, sizeof broker_why), 0);
	assert_int_equal(vb_adapter_state(a)->pf[place_of(false)].recovery_epoch, was + 1);
}

static void access__of_no_device(void **state)
{
	struct vb_broker_reg r = reg_of(&vb_reg_roce_accl, place_of(false));

	(void)state;
	snprintf(r.device, sizeof r.device, "nothing");
	assert_int_equal(vb_broker_access(&o, &r, broker_why, sizeof broker_why), -ENODEV);
	assert_non_null(strstr(broker_why, "'nothing'"));
}

/* Without a broker no register is read, and why says so. */
static void access__the_broker_is_gone(void **state)
{
	struct vb_broker_observer mine;
	struct vb_broker_reg r;
	pid_t pid;

	(void)state;
	assert_int_equal(vb_broker_observe(&o, true, broker_why, sizeof broker_why), 0);
	r = reg_of(&vb_reg_roce_accl, place_of(false));
	mine = o;
	pid = (pid_t)o.host->broker_pid;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(process_ends(pid));
	broker_why[0] = 0;
	assert_true(vb_broker_access(&mine, &r, broker_why, sizeof broker_why) < 0);
	assert_non_null(strstr(broker_why, "the broker does not answer: "));
	vb_broker_observe_end(&mine);
}

/* An adapter that is not to stay has no virtual functions, whatever number is named. */
static void stay__functions_of_what_does_not(void **state)
{
	(void)state;
	assert_int_equal(vb_adapter_state(vb_broker_adapter(&o))->vf_cnt, 1);
	assert_int_equal(vb_broker_stay(&o, false, 3), 0);
	assert_int_equal(vb_adapter_state(vb_broker_adapter(&o))->vf_cnt, 0);
}

/* A change of congestion control is a new epoch of it, which programs follow at once; the same
 * value once more is none. */
static void set__begins_an_epoch(void **state)
{
	const struct vb_adapter_shm *a = vb_broker_adapter(&o);
	uint32_t was = vb_adapter_state(a)->pf[place_of(false)].cc_epoch;

	(void)state;
	for (int i = 0; i < 2; i++) {
		set_burst("cc_burst_size=1");
		assert_int_equal(vb_adapter_state(a)->pf[place_of(false)].cc_epoch, was + 1);
	}
	set_burst("cc_burst_size=0");
	assert_int_equal(vb_adapter_state(a)->pf[place_of(false)].cc_epoch, was + 2);
}

static uint64_t ai_rate(uint32_t pf)
{
	return vb_cc_name_find("rp_ai_rate", 10)
	    ->get(&vb_adapter_state(vb_broker_adapter(&o))->pf[pf].reg.cc);
}

/* The broker takes over writes to the files of settings while it waits. CC-29 */
static void files__are_heard_of(void **state)
{
	uint32_t pf = place_of(false);
	uint64_t was = ai_rate(pf);
	char path[512];

	(void)state;
	snprintf(path, sizeof path, "%s/class/infiniband/%s/cc_params/rp_ai_rate",
		 o.host->sysfs_path, o.host->device[pf].name);
	for (uint64_t next = was + 1; next >= was; next--) {
		FILE *f = fopen(path, "we");
		int ms = 0;

		assert_non_null(f);
		fprintf(f, "%llu\n", (unsigned long long)next);
		assert_int_equal(fclose(f), 0);
		for (; ai_rate(pf) != next && ms < BROKER_PATIENCE_MS; ms++)
			(void)poll(NULL, 0, 1);
		assert_true(ai_rate(pf) == next);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(set__not_of_a_virtual_function, observe_with_function,
					    observe_end),
	    cmocka_unit_test_setup_teardown(histogram__of_all_functions_until_reset,
					    observe_with_function, observe_end),
	    cmocka_unit_test_setup_teardown(histogram__of_one_function, observe_with_function,
					    observe_end),
	    cmocka_unit_test_setup_teardown(reset__begins_an_epoch, observe_with_function,
					    observe_end),
	    cmocka_unit_test_setup_teardown(access__of_no_device, observe_with_function,
					    observe_end),
	    cmocka_unit_test_setup_teardown(stay__functions_of_what_does_not, observe_with_function,
					    observe_end),
	    cmocka_unit_test_setup_teardown(set__begins_an_epoch, observe_with_function,
					    observe_end),
	    cmocka_unit_test_setup_teardown(files__are_heard_of, observe_with_function,
					    observe_end),
	    cmocka_unit_test(access__the_broker_is_gone),
	};

	if (!netns_enter()) {
		fprintf(stderr, "no network namespace of our own here: tests not run\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
