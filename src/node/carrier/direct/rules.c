/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of nftables, see rules.h. libnftables(3) */
#include "node/carrier/direct/rules.h"

#include "base/slot.h"
#include "wire/icrc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libnftables.so.1"
#define TABLE "inet verbena"
/* The middle and the low byte of the destination QPN, in bits from the UDP header on: 8 bytes of
 * it, and 6 of the BTH. IBA 9.2 */
#define DQPN_AT "@th,112,16"
/* Of these the bits that name a narrow slot. base/slot.h */
#define DQPN_BITS ((VB_SLOT_SHARE - 1) << 8 | 0xff)
#define COMMANDS_MAX 1024

typedef void *(*context_new_fn)(uint32_t flags);
typedef int (*buffer_fn)(void *context);

/* The function @name of the library, at @to, a pointer to a function. */
static bool symbol_find(void *library, const char *name, void *to)
{
	void *p = dlsym(library, name);

	memcpy(to, &p, sizeof p);
	return p != NULL;
}

/* A context that keeps what it has to say, and prints nothing. */
static int context_open(struct vb_carrier_rules *r)
{
	context_new_fn context_new;
	buffer_fn keep_output, keep_errors;

	if (!symbol_find(r->library, "nft_ctx_new", &context_new) ||
	    !symbol_find(r->library, "nft_ctx_buffer_output", &keep_output) ||
	    !symbol_find(r->library, "nft_ctx_buffer_error", &keep_errors) ||
	    !symbol_find(r->library, "nft_ctx_get_error_buffer", &r->error) ||
	    !symbol_find(r->library, "nft_run_cmd_from_buffer", &r->run))
		return -ENOSYS;
	r->context = context_new(0);
	if (!r->context)
		return -ENOMEM;
	return keep_output(r->context) || keep_errors(r->context) ? -ENOMEM : 0;
}

/* The first line of what the library says. */
static void explain_failure(const struct vb_carrier_rules *r, char *why, size_t why_size)
{
	const char *text = r->error(r->context);

	snprintf(why, why_size, "nftables does not take the rule that steers packets: %.*s",
		 text ? (int)strcspn(text, "\n") : 0, text ? text : "");
}

int vb_carrier_rules_open(struct vb_carrier_rules *r, char *why, size_t why_size)
{
	char commands[COMMANDS_MAX];
	int rc;

	*r = (struct vb_carrier_rules){.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
	if (!r->library) {
		snprintf(why, why_size, "%s is needed: %s", LIBRARY, dlerror());
		return -ENOENT;
	}
	rc = context_open(r);
	if (rc) {
		snprintf(why, why_size, "%s cannot be used: %s", LIBRARY, strerror(-rc));
		return rc;
	}
	snprintf(commands, sizeof commands,
		 "add table " TABLE "; delete table " TABLE "; table " TABLE " {\n"
		 "map slots { typeof " DQPN_AT " : udp dport; }\n"
		 "chain input {\n"
		 "type filter hook input priority filter + 10; policy accept;\n"
		 "udp dport %u udp dport set " DQPN_AT " & 0x%x map @slots\n"
		 "}\n}\n",
		 VB_ROCE_PORT, DQPN_BITS);
	if (r->run(r->context, commands) == 0)
		return 0;
	explain_failure(r, why, why_size);
	return -EIO;
}

void vb_carrier_rules_close(struct vb_carrier_rules *r)
{
	if (r->context)
		(void)r->run(r->context, "delete table " TABLE);
}

int vb_carrier_rules_set(const struct vb_carrier_rules *r, uint32_t slot, uint16_t port)
{
	uint32_t key = vb_slot_qpn_base(slot);
	char commands[COMMANDS_MAX];

	if (port)
		snprintf(commands, sizeof commands, "add element " TABLE " slots { 0x%04x : %u }",
			 key, port);
	else
		snprintf(commands, sizeof commands, "delete element " TABLE " slots { 0x%04x }",
			 key);
	return r->run(r->context, commands) ? -EIO : 0;
}
