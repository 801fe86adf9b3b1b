/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The broker as the adapter's firmware: serves accesses to registers, resets, and keeps the adapter
 * while nobody uses it. A request is one message, applied as a whole or not at all.
 */
#include "link/carried/carried.h"
#include "node/broker/state.h"
#include "node/netdev/devices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The functions whose timers a histogram counts. */
struct functions {
	const struct vb_slots *slots;
	uint32_t pf; /* device */
};

static void add_fired(const struct vb_slots *s, uint32_t device, struct vb_adp_fired *sum)
{
	const struct vb_adp_fired *past = &vb_slots_adapter(s)->past_fired[device + 1];

	for (int i = 0; i < VB_ADP_FIRED_SLOTS; i++)
		sum->slot[i] += past->slot[i];
	for (uint32_t k = VB_SLOT_FIRST; k < s->group.cnt; k++)
		for (int i = 0; s->slot[k].is_taken && i < VB_ADP_FIRED_SLOTS; i++)
			sum->slot[i] += __atomic_load_n(&s->slot[k].shm->fired[device + 1].slot[i],
							__ATOMIC_RELAXED);
}

static int timers_fired(void *ctx, int vhca, struct vb_adp_fired *out)
{
	const struct functions *f = ctx;
	int found = -ENODEV;

	memset(out, 0, sizeof *out);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		const struct vb_device *d = &f->slots->host->device[i];
		bool ours = d->ifindex && (i == f->pf || d->parent == f->pf + 1);

		if (!ours || (vhca >= 0 && (uint32_t)vhca != i))
			continue;
		add_fired(f->slots, i, out);
		found = 0;
	}
	return found;
}

static void explain_fault(const struct vb_reg_fault *fault, struct vb_broker_msg *m)
{
	if (fault->field)
		snprintf(m->text, sizeof m->text, "%s=0x%" PRIx64 ": %s", fault->field->path,
			 fault->value, fault->rule);
	else
		snprintf(m->text, sizeof m->text, "register 0x%x, length 0x%x: %s", m->reg.id,
			 m->reg.len, fault->rule);
}

static void access_register(struct vb_broker *b, struct vb_broker_msg *m, uint32_t pf)
{
	static struct vb_adapter_state next;
	struct vb_adapter_shm *a = vb_slots_adapter(&b->slots);
	struct functions f = {&b->slots, pf};
	struct vb_reg_env env = {timers_fired, &f};
	struct vb_reg_fault fault = {0};

	next = *vb_adapter_state(a);

	struct vb_adapter_pf *to = &next.pf[pf];
	const struct vb_cc_settings cc = to->reg.cc;

	switch ((enum vb_broker_reg_method)m->reg.method) {
	case VB_BROKER_REG_GET:
		m->status = vb_reg_get(&to->reg, &env, m->reg.id, m->reg.image, m->reg.len, &fault);
		break;
	case VB_BROKER_REG_SET:
		m->status = vb_reg_set(&to->reg, &env, m->reg.id, m->reg.image, m->reg.len, &fault);
		to->recovery_epoch +=
		    m->reg.id == vb_reg_roce_accl.id || m->reg.id == vb_reg_roce_recovery.id;
		to->cc_epoch += !vb_cc_settings_eq(&to->reg.cc, &cc);
		break;
	case VB_BROKER_REG_RESET:
		vb_reg_file_reset(&to->reg, vb_device_rate_bps(&b->slots.host->device[pf]));
		(void)timers_fired(&f, -1, &to->reg.histogram.from);
		to->recovery_epoch++;
		to->cc_epoch++;
		break;
	default:
		fault.rule = "there is no such method";
		m->status = -EPROTO;
	}
	if (m->status) {
		explain_fault(&fault, m);
		return;
	}
	vb_adapter_commit(a, &next);
	if (vb_devices_set_pkeys(b->slots.host, pf, to->reg.pkey)) {
		vb_broker_publish_tree(b);
		vb_broker_wake_clients(b);
	}
}

void vb_broker_register(struct vb_broker *b, struct vb_broker_msg *m)
{
	const struct vb_host_shm *host = b->slots.host;

	m->op = VB_BROKER_DONE;
	m->status = 0;
	m->text[0] = 0;
	m->reg.device[sizeof m->reg.device - 1] = 0;

	int i = vb_devices_find(host, m->reg.device);

	if (i < 0) {
		m->status = -ENODEV;
		snprintf(m->text, sizeof m->text, "there is no device '%s'", m->reg.device);
		return;
	}

	const struct vb_device *d = &host->device[i];

	if (d->parent && m->reg.method != VB_BROKER_REG_GET) {
		const char *pf = host->device[d->parent - 1].name;

		m->status = -EPERM;
		snprintf(m->text, sizeof m->text,
			 "%s is a virtual function, with the settings of %s: use '-d %s'", d->name,
			 pf, pf);
		return;
	}
	/* A virtual function reads through to its physical one. ADP-26 */
	access_register(b, m, d->parent ? d->parent - 1 : (uint32_t)i);
}

int vb_broker_set_kept(struct vb_broker *b, bool on, uint32_t vf_cnt)
{
	static struct vb_adapter_state next;
	struct vb_adapter_shm *a = vb_slots_adapter(&b->slots);
	bool has_port = b->slots.fd_store >= 0;

	/* A keeper has the descriptor store, and there is none without the port, or a part of the
	 * shared broker's. */
	if (on && !has_port) {
		int rc = vb_carrier_runs() ? vb_slots_start_carried(&b->slots)
					   : vb_slots_start(&b->slots);

		if (rc)
			return rc;
	}
	next = *vb_adapter_state(a);
	next.is_kept = on;
	next.vf_cnt = !on ? 0 : vf_cnt < VB_VFS_MAX ? vf_cnt : VB_VFS_MAX;
	vb_adapter_commit(a, &next);
	if (on && !has_port)
		vb_broker_group_ready(b);
	else
		vb_broker_refresh_devices(b);
	b->keeper_due = on ? 0 : VB_NEVER;
	return 0;
}

void vb_broker_keep(struct vb_broker *b, struct vb_broker_msg *m)
{
	m->status = vb_broker_set_kept(b, m->slot != 0, m->cnt);
	m->op = VB_BROKER_DONE;
	m->text[0] = 0;
}
