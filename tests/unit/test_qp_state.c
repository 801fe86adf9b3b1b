/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The QP state machine against the table that Linux checks every modify with, written down here a
 * second time as words. Facts B.4; IBT-29, IBT-31...37
 */
#include "cmocka_env.h"
#include "core/qp/qp.h"

#include <errno.h>
#include <string.h>

static struct vb_refusal why;

static const char *const type_name[] = {"RC", "UC", "UD", "INI", "TGT", "SMI", "GSI", "DCI", "DCT"};
static const enum vb_qp_type type_of[] = {VB_QPT_RC,      VB_QPT_UC,      VB_QPT_UD,
					  VB_QPT_XRC_INI, VB_QPT_XRC_TGT, VB_QPT_SMI,
					  VB_QPT_GSI,     VB_QPT_DCI,     VB_QPT_DCT};
#define TYPES (sizeof type_of / sizeof type_of[0])

static const char *const state_name[VB_QPS_CNT] = {"RESET", "INIT", "RTR", "RTS",
						   "SQD",   "SQE",  "ERR"};

static const struct {
	const char *name;
	uint32_t bit;
} attr_name[] = {
    {"CUR_STATE", 1u << 1},  {"NOTIFY", 1u << 2},       {"ACCESS", 1u << 3},
    {"PKEY_INDEX", 1u << 4}, {"PORT", 1u << 5},         {"QKEY", 1u << 6},
    {"AV", 1u << 7},         {"PATH_MTU", 1u << 8},     {"TIMEOUT", 1u << 9},
    {"RETRY_CNT", 1u << 10}, {"RNR_RETRY", 1u << 11},   {"RQ_PSN", 1u << 12},
    {"MAX_RD", 1u << 13},    {"ALT_PATH", 1u << 14},    {"MIN_RNR", 1u << 15},
    {"SQ_PSN", 1u << 16},    {"MAX_DEST_RD", 1u << 17}, {"PATH_MIG", 1u << 18},
    {"CAP", 1u << 19},       {"DEST_QPN", 1u << 20},    {"RATE_LIMIT", 1u << 25},
};

struct row {
	const char *from, *to, *types, *required, *optional;
};

#define SENDS "RC UC UD INI TGT SMI GSI DCI"
#define ANY SENDS " DCT"

/* A pair of states that has no row for a type is illegal for it. */
static const struct row rows[] = {
    {"RESET", "RESET", ANY, "", ""},
    {"RESET", "INIT", "RC UC INI TGT", "PKEY_INDEX PORT ACCESS", ""},
    {"RESET", "INIT", "UD", "PKEY_INDEX PORT QKEY", ""},
    {"RESET", "INIT", "SMI GSI", "PKEY_INDEX QKEY", ""},
    {"INIT", "INIT", "RC UC INI TGT", "", "PKEY_INDEX PORT ACCESS"},
    {"INIT", "INIT", "UD", "", "PKEY_INDEX PORT QKEY"},
    {"INIT", "INIT", "SMI GSI", "", "PKEY_INDEX QKEY"},
    {"INIT", "RTR", "RC TGT", "AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD MIN_RNR",
     "ALT_PATH ACCESS PKEY_INDEX"},
    {"INIT", "RTR", "UC INI", "AV PATH_MTU DEST_QPN RQ_PSN", "ALT_PATH ACCESS PKEY_INDEX"},
    {"INIT", "RTR", "UD SMI GSI", "", "PKEY_INDEX QKEY"},
    {"RTR", "RTS", "RC", "TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_RD",
     "CUR_STATE ALT_PATH ACCESS PATH_MIG MIN_RNR"},
    {"RTR", "RTS", "INI", "TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_RD",
     "CUR_STATE ALT_PATH ACCESS PATH_MIG"},
    {"RTR", "RTS", "TGT", "TIMEOUT SQ_PSN", "CUR_STATE ALT_PATH ACCESS MIN_RNR PATH_MIG"},
    {"RTR", "RTS", "UC", "SQ_PSN", "CUR_STATE ALT_PATH ACCESS PATH_MIG"},
    {"RTR", "RTS", "UD SMI GSI", "SQ_PSN", "CUR_STATE QKEY"},
    {"RTS", "RTS", "RC TGT", "", "CUR_STATE ACCESS ALT_PATH PATH_MIG MIN_RNR"},
    {"RTS", "RTS", "UC INI", "", "CUR_STATE ACCESS ALT_PATH PATH_MIG"},
    {"RTS", "RTS", "UD SMI GSI", "", "CUR_STATE QKEY"},
    {"RTS", "SQD", SENDS, "", "NOTIFY"},
    {"SQD", "RTS", "RC TGT", "", "CUR_STATE ACCESS ALT_PATH PATH_MIG MIN_RNR"},
    {"SQD", "RTS", "UC INI", "", "CUR_STATE ACCESS ALT_PATH PATH_MIG"},
    {"SQD", "RTS", "UD SMI GSI", "", "CUR_STATE QKEY"},
    {"SQD", "SQD", "RC", "",
     "PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_RD MAX_DEST_RD ALT_PATH ACCESS PKEY_INDEX MIN_RNR "
     "PATH_MIG"},
    {"SQD", "SQD", "INI", "",
     "PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_RD ALT_PATH ACCESS PKEY_INDEX PATH_MIG"},
    {"SQD", "SQD", "TGT", "",
     "PORT AV TIMEOUT MAX_DEST_RD ALT_PATH ACCESS PKEY_INDEX MIN_RNR PATH_MIG"},
    {"SQD", "SQD", "UC", "", "AV ALT_PATH ACCESS PKEY_INDEX PATH_MIG"},
    {"SQD", "SQD", "UD SMI GSI", "", "PKEY_INDEX QKEY"},
    {"SQE", "RTS", "UD SMI GSI", "", "CUR_STATE QKEY"},
    {"SQE", "RTS", "UC", "", "CUR_STATE ACCESS"},
    {"INIT", "RESET", ANY, "", ""},
    {"RTR", "RESET", ANY, "", ""},
    {"RTS", "RESET", ANY, "", ""},
    {"SQD", "RESET", ANY, "", ""},
    {"SQE", "RESET", ANY, "", ""},
    {"ERR", "RESET", ANY, "", ""},
    {"INIT", "ERR", ANY, "", ""},
    {"RTR", "ERR", ANY, "", ""},
    {"RTS", "ERR", ANY, "", ""},
    {"SQD", "ERR", ANY, "", ""},
    {"SQE", "ERR", ANY, "", ""},
    {"ERR", "ERR", ANY, "", ""},
    {"RESET", "INIT", "DCI", "PKEY_INDEX PORT", "ACCESS"},
    {"RESET", "INIT", "DCT", "PKEY_INDEX PORT ACCESS", ""},
    {"INIT", "INIT", "DCI DCT", "", "PKEY_INDEX PORT ACCESS"},
    {"INIT", "RTR", "DCI", "PATH_MTU", "AV PKEY_INDEX"},
    {"INIT", "RTR", "DCT", "PATH_MTU AV MIN_RNR", "ALT_PATH ACCESS PKEY_INDEX"},
    {"RTR", "RTS", "DCI", "TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_RD",
     "CUR_STATE ALT_PATH ACCESS PATH_MIG MIN_RNR"},
    {"RTS", "RTS", "DCI", "", "CUR_STATE ACCESS ALT_PATH PATH_MIG MIN_RNR"},
    {"SQD", "RTS", "DCI", "", "CUR_STATE ACCESS ALT_PATH PATH_MIG MIN_RNR"},
};

/* True when @word is one of the words of @list. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, " "), p += *p == ' ') {
		if (strcspn(p, " ") == len && strncmp(p, word, len) == 0)
			return true;
	}
	return false;
}

static uint32_t mask_of(const char *list)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < sizeof attr_name / sizeof attr_name[0]; i++) {
		if (has_word(list, attr_name[i].name))
			mask |= attr_name[i].bit;
	}
	return mask;
}

static const struct row *row_of(const char *type, const char *from, const char *to)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (strcmp(rows[i].from, from) == 0 && strcmp(rows[i].to, to) == 0 &&
		    has_word(rows[i].types, type))
			return &rows[i];
	}
	return NULL;
}

/* One pair of states for one type, and what the table says of it. */
struct step {
	size_t type;
	enum vb_qp_state from, to;
	bool legal;
	uint32_t required, optional;
};

static struct step step_of(size_t type, unsigned from, unsigned to)
{
	const struct row *r = row_of(type_name[type], state_name[from], state_name[to]);

	return (struct step){
	    .type = type,
	    .from = (enum vb_qp_state)from,
	    .to = (enum vb_qp_state)to,
	    .legal = r != NULL,
	    .required = r ? mask_of(r->required) : 0,
	    .optional = r ? mask_of(r->optional) : 0,
	};
}

static void expect(const struct step *s, uint32_t mask)
{
	uint32_t given = mask & ~1u; /* STATE itself is always there */
	bool legal = s->legal && (given & s->required) == s->required &&
		     !(given & ~(s->required | s->optional));
	int rc = vb_qp_transition_check(type_of[s->type], s->from, s->to, mask, &why);

	if (rc != (legal ? 0 : -EINVAL))
		fail_msg("%s %s to %s with %#x: %d", type_name[s->type], state_name[s->from],
			 state_name[s->to], mask, rc);
}

/* The required attributes, and all allowed ones, each with any one or two bits wrong, and with
 * every choice of the optional ones. */
static void expect_all(const struct step *s)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < 32 * 32; i++) {
		uint32_t flip = 1u << (i & 31) | 1u << (i >> 5);

		expect(s, s->required ^ flip);
		expect(s, (s->required | s->optional) ^ flip);
	}
	expect(s, UINT32_MAX);
	do {
		expect(s, s->required | set);
		set = (set - s->optional) & s->optional;
	} while (set);
}

static void transition_check__every_pair_of_states(void **state)
{
	(void)state;
	for (size_t t = 0; t < TYPES; t++) {
		for (unsigned from = 0; from < VB_QPS_CNT; from++) {
			for (unsigned to = 0; to < VB_QPS_CNT; to++) {
				struct step s = step_of(t, from, to);

				expect_all(&s);
			}
		}
	}
}

/* SQE is entered by the adapter alone, and nothing leads back. IBT-29, IBT-35, IBT-36 */
static void transition_check__what_no_mask_allows(void **state)
{
	(void)state;
	for (size_t t = 0; t < TYPES; t++) {
		for (unsigned from = 0; from < VB_QPS_CNT; from++) {
			assert_int_equal(
			    vb_qp_transition_check(type_of[t], from, VB_QPS_SQE, 1, &why), -EINVAL);
			assert_int_equal(
			    vb_qp_transition_check(type_of[t], from, VB_QPS_RESET, 1, &why), 0);
			assert_int_equal(
			    vb_qp_transition_check(type_of[t], from, VB_QPS_ERR, 1, &why),
			    from == VB_QPS_RESET ? -EINVAL : 0);
		}
	}
	assert_int_equal(
	    vb_qp_transition_check((enum vb_qp_type)5, VB_QPS_RESET, VB_QPS_RESET, 1, &why),
	    -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(transition_check__every_pair_of_states),
	    cmocka_unit_test(transition_check__what_no_mask_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
