/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ADP_RETX_HISTOGRAM_CONFIG and ADP_RETX_HISTOGRAM, registers 0xc01d and 0xc01e: how often adaptive
 * timers fired, by the timeout they had. The transport counts by exact timeout
 * (struct vb_adp_fired); these registers gather that into bins. REG-34
 */
#include "base/assert.h"
#include "reg/file.h"

#include <errno.h>
#include <string.h>

#define UNITS_ALL 0xf

#define ROW(addr, b, w, how, member, what)                                                         \
	{                                                                                          \
		.path = #member, .address = (addr), .bit = (b), .width = (w), .access = (how),     \
		.select = VB_REG_NO_SELECT, .text = what, VB_REG_SHOWS(histogram.member)           \
	}
#define LIMIT(addr, b, w, name, what)                                                              \
	{                                                                                          \
		.path = name, .address = (addr), .bit = (b), .width = (w), .access = VB_REG_RO,    \
		.select = VB_REG_NO_SELECT, .text = what                                           \
	}

static const struct vb_reg_field config_fields[] = {
    LIMIT(0x00, 20, 4, "time_unit_cap", "bit n: time_unit n can be set"),
    ROW(0x00, 24, 2, VB_REG_RW, bin_width_mode,
	"0: bins from 1 on have bin1_width, 1: each is twice as wide as the one before"),
    ROW(0x00, 26, 2, VB_REG_RW, time_unit, "of the widths: 0 ns, 1 us, 2 100 us, 3 ms"),
    ROW(0x00, 29, 1, VB_REG_RW, vhca_id_valid,
	"count the function vhca_id; else the device and its virtual functions"),
    ROW(0x00, 30, 1, VB_REG_RW, clear_on_read, "reading ADP_RETX_HISTOGRAM sets it to 0"),
    ROW(0x00, 31, 1, VB_REG_RW, count_enable, "timers are counted"),
    ROW(0x04, 0, 16, VB_REG_RW, vhca_id, "a function of the device, as 'verbena hca' shows it"),
    LIMIT(0x04, 16, 8, "bin_num_max", "highest bin_num"),
    ROW(0x04, 24, 8, VB_REG_RW, bin_num, "number of bins, from 1; the last one has no end"),
    ROW(0x08, 0, 16, VB_REG_RW, bin1_width, "width of bin 1"),
    ROW(0x08, 16, 16, VB_REG_RW, bin0_width, "width of bin 0, which begins at 0"),
};

#define BIN(i) LIMIT(0x10 + 8 * (i), 0, 64, "bin[" #i "]", "timers that fired in this bin")

static const struct vb_reg_field fields[] = {
    ROW(0x00, 24, 8, VB_REG_RO, bin_num, "number of bins"),
    BIN(0),
    BIN(1),
    BIN(2),
    BIN(3),
    BIN(4),
    BIN(5),
    BIN(6),
    BIN(7),
    BIN(8),
    BIN(9),
    BIN(10),
    BIN(11),
    BIN(12),
    BIN(13),
    BIN(14),
    BIN(15),
};

_Static_assert(sizeof fields / sizeof fields[0] == VB_ADP_BINS_MAX + 1, "a row for each bin");

static const struct vb_reg_field *config_field(const char *name)
{
	unsigned others;
	const struct vb_reg_field *f =
	    vb_reg_find(&vb_reg_adp_histogram_config, name, strlen(name), &others);

	VB_ASSERT(f && !others); /* the table has a row of this name */
	return f;
}

static int config_get(const struct vb_reg *reg, struct vb_reg_file *file,
		      const struct vb_reg_env *env, uint8_t *image, struct vb_reg_fault *fault)
{
	(void)file, (void)env, (void)fault;
	vb_reg_field_put(reg, config_field("time_unit_cap"), image, UNITS_ALL);
	vb_reg_field_put(reg, config_field("bin_num_max"), image, VB_ADP_BINS_MAX);
	return 0;
}

/* How the transport's counters stand for what @h counts. */
static int fired_now(const struct vb_adp_histogram *h, const struct vb_reg_env *env,
		     struct vb_adp_fired *out)
{
	return env->fired(env->ctx, h->vhca_id_valid ? h->vhca_id : -1, out);
}

/* Adds to @kept what fired since @h->from. A counter that ran back began again at 0. */
static void keep_fired(struct vb_adp_histogram *h, const struct vb_adp_fired *now)
{
	for (int i = 0; i < VB_ADP_FIRED_SLOTS; i++)
		h->kept.slot[i] +=
		    now->slot[i] >= h->from.slot[i] ? now->slot[i] - h->from.slot[i] : now->slot[i];
	h->from = *now;
}

static int config_check(const struct vb_adp_histogram *h, struct vb_reg_fault *fault)
{
	if (h->bin_width_mode > VB_BINS_DOUBLE)
		return vb_reg_broken(fault, config_field("bin_width_mode"), h->bin_width_mode,
				     "must be 0 (fixed) or 1 (double)");
	if (h->bin_num < 1 || h->bin_num > VB_ADP_BINS_MAX)
		return vb_reg_broken(fault, config_field("bin_num"), h->bin_num,
				     "must be from 1 to bin_num_max, 16");
	if (h->bin0_width == 0)
		return vb_reg_broken(fault, config_field("bin0_width"), 0, "must not be 0");
	if (h->bin1_width == 0)
		return vb_reg_broken(fault, config_field("bin1_width"), 0, "must not be 0");
	return 0;
}

static int config_set(const struct vb_reg *reg, struct vb_reg_file *file,
		      const struct vb_reg_env *env, const uint8_t *image,
		      struct vb_reg_fault *fault)
{
	struct vb_reg_file next = *file;
	struct vb_adp_histogram *h = &next.histogram;
	const struct vb_adp_histogram *old = &file->histogram;
	struct vb_adp_fired now;

	vb_reg_store(reg, image, &next);
	int err = config_check(h, fault);
	if (err)
		return err;
	if (old->count_enable && fired_now(old, env, &now) == 0)
		keep_fired(h, &now);
	if (fired_now(h, env, &now))
		return vb_reg_broken(fault, config_field("vhca_id"), h->vhca_id,
				     "must be a function of this device");
	/* Other functions than before: what was counted is not theirs. */
	if (h->vhca_id_valid != old->vhca_id_valid ||
	    (h->vhca_id_valid && h->vhca_id != old->vhca_id))
		memset(&h->kept, 0, sizeof h->kept);
	h->from = now;
	*file = next;
	return 0;
}

static uint64_t unit_ns(uint8_t unit)
{
	static const uint32_t ns[] = {[VB_HIST_NS] = 1,
				      [VB_HIST_US] = 1000,
				      [VB_HIST_100US] = 100000,
				      [VB_HIST_MS] = 1000000};

	VB_ASSERT_ALL(unit <= VB_HIST_MS);
	return ns[unit & 3];
}

/* The bin that a timeout lies in. Widths are at most 65535 ms << 14: nothing overflows. */
static unsigned bin_of(const struct vb_adp_histogram *h, uint64_t timeout_ns)
{
	uint64_t unit = unit_ns(h->time_unit), width = h->bin1_width * unit;
	uint64_t end = h->bin0_width * unit;
	unsigned bin = 0;

	VB_ASSERT_ALL(h->bin0_width > 0 && h->bin1_width > 0);
	while (timeout_ns >= end && bin + 1u < h->bin_num) {
		end += width;
		if (h->bin_width_mode == VB_BINS_DOUBLE)
			width *= 2;
		bin++;
	}
	VB_ASSERT(bin < VB_ADP_BINS_MAX);
	return bin;
}

static int get_histogram(const struct vb_reg *reg, struct vb_reg_file *file,
			 const struct vb_reg_env *env, uint8_t *image, struct vb_reg_fault *fault)
{
	struct vb_adp_histogram *h = &file->histogram;
	uint64_t bin[VB_ADP_BINS_MAX] = {0};
	struct vb_adp_fired now;

	(void)fault;
	/* A function that is gone keeps what it had. */
	if (h->count_enable && fired_now(h, env, &now) == 0)
		keep_fired(h, &now);
	for (unsigned i = 0; i < VB_ADP_FIRED_SLOTS; i++)
		bin[bin_of(h, vb_adp_fired_ns(i))] += h->kept.slot[i];
	VB_ASSERT(h->bin_num >= 1 && h->bin_num <= VB_ADP_BINS_MAX);
	for (unsigned i = 0; i < h->bin_num; i++)
		vb_reg_field_put(reg, &fields[1 + i], image, bin[i]);
	if (h->clear_on_read)
		memset(&h->kept, 0, sizeof h->kept);
	return 0;
}

const struct vb_reg vb_reg_adp_histogram_config = {
    .name = "ADP_RETX_HISTOGRAM_CONFIG",
    .text = "The choice of what ADP_RETX_HISTOGRAM counts",
    .id = 0xc01d,
    .word = 4,
    .len = 0x80,
    .len_short = 0x80,
    .field_cnt = sizeof config_fields / sizeof config_fields[0],
    .field = config_fields,
    .get = config_get,
    .set = config_set,
};

const struct vb_reg vb_reg_adp_histogram = {
    .name = "ADP_RETX_HISTOGRAM",
    .text = "Adaptive timers that fired, by timeout",
    .id = 0xc01e,
    .word = 4,
    .len = 0x90,
    .len_short = 0x90,
    .field_cnt = sizeof fields / sizeof fields[0],
    .field = fields,
    .get = get_histogram,
};
