/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's life: one per process, made of a place at the broker, a link, an HCA and the
 * progress thread; and what becomes of it in a forked child.
 */
#include "link/driver.h"
#include "link/guard.h"
#include "node/bell/bell.h"
#include "node/engine/priv.h"
#include "node/host/error_hints.h"
#include "node/host/pace.h"
#include "node/wait/watch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* The engine of this process, and the lock of those that change it. */
static struct {
	pthread_mutex_t mutex;
	struct vb_engine *engine;
	pthread_once_t once;
} process = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* Set while this thread may fork a broker: not a fork of the application, and made by a thread that
 * may hold the locks which fork_prepare() takes. */
static _Thread_local bool forks_broker;

bool vb_engine_is_alive(const struct vb_engine *e)
{
	return atomic_load_explicit(&e->alive, memory_order_relaxed);
}

void vb_engine_lock(struct vb_engine *e)
{
	vb_lock_take(&e->lock);
}

void vb_engine_unlock(struct vb_engine *e)
{
	vb_lock_drop(&e->lock);
}

struct vb_hca *vb_engine_hca(struct vb_engine *e)
{
	return e->hca;
}

const struct vb_host_shm *vb_engine_host(const struct vb_engine *e)
{
	return e->broker.host;
}

struct vb_slot_shm *vb_engine_slot(struct vb_engine *e)
{
	return e->broker.shm;
}

void vb_engine_set_sink(struct vb_engine *e, const struct vb_engine_sink *sink)
{
	e->sink = *sink;
}

/*
 * fork(): the lock is held across it, so that the child finds the engine at rest and can close what
 * it inherited; the engine itself stays with the parent. Its memory is kept in the child, because
 * the application may still hold objects that point into it.
 */
static void fork_prepare(void)
{
	if (forks_broker)
		return;
	pthread_mutex_lock(&process.mutex);
	if (process.engine)
		vb_lock_take(&process.engine->lock);
}

static void fork_parent(void)
{
	if (forks_broker)
		return;
	if (process.engine)
		vb_lock_drop(&process.engine->lock);
	pthread_mutex_unlock(&process.mutex);
}

static void fork_child(void)
{
	struct vb_engine *e = process.engine;

	if (forks_broker)
		return;
	process.engine = NULL;
	pthread_mutex_init(&process.mutex, NULL);
	if (!e)
		return;
	atomic_store(&e->alive, false);
	atomic_store(&vb_watch_armed, 0);
	close(e->progress_thread.kick_fd);
	close(e->progress_thread.epoll_fd);
	vb_sleeper_close(e);
	vb_bells_abandon(e);
	if (e->mail.fd >= 0)
		close(e->mail.fd);
	e->link->ops->close(e->link);
	vb_broker_abandon(&e->broker);
	atomic_store(&e->lock.state, 0);
}

/*
 * exit(): packets that wait for company leave, above all acknowledgements of messages that the
 * program has seen, and responders that other processes have lent go back. Not at any price: the
 * lock may belong to the code that a signal handler which calls exit() has interrupted.
 */
static void exit_flush(void)
{
	struct vb_engine *e = process.engine;

	for (int i = 0; e && i < 100; i++) {
		if (vb_lock_try(&e->lock)) {
			vb_engine_flush(e);
			vb_xrc_give_back(e->hca, vb_clock_now());
			vb_lock_drop(&e->lock);
			return;
		}
		usleep(10);
	}
}

void vb_engine_send_held(void)
{
	struct vb_engine *e;

	if (pthread_mutex_trylock(&process.mutex))
		return;
	e = process.engine;
	/* The thread that holds the lock is at work with the queues, and sends what is left itself.
	 */
	if (e && vb_engine_is_alive(e) && vb_lock_try(&e->lock)) {
		vb_engine_send_rest(e);
		vb_lock_drop(&e->lock);
	}
	pthread_mutex_unlock(&process.mutex);
}

static void process_register(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
	atexit(exit_flush);
}

void vb_engine_check_broker(struct vb_engine *e)
{
	forks_broker = true;
	/* Without a broker everything that is open goes on; the next check tries again. */
	(void)vb_broker_check(&e->broker);
	forks_broker = false;
}

static void *hca_alloc(void *ctx, size_t size)
{
	(void)ctx;
	return calloc(1, size);
}

static void hca_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* A group has no address of its own: the device that it came by says to which port. */
static uint8_t multicast_port(const struct vb_engine *e, uint32_t ifindex)
{
	for (uint32_t i = 0; i < VB_DEVICES_MAX && i < e->devices.device_cnt; i++) {
		if (e->devices.device[i].ifindex == ifindex && !e->devices.device[i].parent)
			return (uint8_t)(i + 1);
	}
	return 0;
}

static uint8_t link_port_of(void *ctx, const struct vb_gid *local, uint32_t ifindex)
{
	struct vb_engine *e = ctx;

	if (vb_gid_is_multicast(local))
		return multicast_port(e, ifindex);
	return vb_addr_find(&e->addr, local, ifindex);
}

static uint8_t link_port_of_path(void *ctx, const struct vb_path *path)
{
	const struct vb_engine *e = ctx;

	return vb_addr_of_path(&e->devices, path);
}

int vb_engine_join(struct vb_engine *e, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	return vb_link_join(e->link, port, gid, lid);
}

void vb_engine_leave(struct vb_engine *e, uint8_t port, const struct vb_gid *gid, uint16_t lid)
{
	vb_link_leave(e->link, port, gid, lid);
}

void vb_engine_tap(void *ctx, const struct vb_link_tap *t)
{
	struct vb_engine *e = ctx;

	vb_capture_write(&e->broker.shm->capture, t,
			 t->at_ns ? t->at_ns : vb_clock_read(CLOCK_REALTIME));
}

static bool device_is_up(const struct vb_device *dev)
{
	return dev->ifindex && dev->is_up;
}

/* Device @i of the table as an HCA port; a hole in the table has no MTU and takes no QP. */
static struct vb_hca_port device_port(struct vb_engine *e, uint32_t i)
{
	const struct vb_device *dev = &e->devices.device[i];

	struct vb_hca_port p = {
	    .active_mtu = (enum vb_mtu)(dev->ifindex ? dev->active_mtu : 0),
	    .counters = &e->broker.shm->counters[i + 1],
	    .adp_fired = &e->broker.shm->fired[i + 1],
	    .bad_keys = &e->broker.shm->bad_keys[i + 1],
	    .cct_events = &e->broker.shm->cct_events[i + 1],
	    .parent = (uint8_t)dev->parent,
	    .lmc = dev->ib.lmc & 7,
	    .is_down = !device_is_up(dev),
	};

	_Static_assert(sizeof p.pkey == sizeof dev->pkey, "one table");
	memcpy(p.pkey, dev->pkey, sizeof p.pkey);
	return p;
}

void vb_engine_reload(struct vb_engine *e)
{
	uint32_t before[VB_DEVICES_MAX];
	bool was_up[VB_DEVICES_MAX];

	if (__atomic_load_n(&e->broker.host->generation, __ATOMIC_ACQUIRE) == e->generation) {
		vb_engine_adopt(e);
		return;
	}
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		before[i] = e->devices.device[i].ifindex;
		was_up[i] = device_is_up(&e->devices.device[i]);
	}
	e->generation = vb_host_read(e->broker.host, &e->devices);
	vb_addr_build(&e->addr, &e->devices);
	/* Settings of a device whose place has another one now are forgotten. */
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		e->adopted[i].is_set &= e->devices.device[i].ifindex == before[i];
	for (uint32_t i = 0; i < VB_DEVICES_MAX && i < e->devices.device_cnt; i++) {
		struct vb_hca_port p = device_port(e, i);

		int err = vb_hca_set_port(e->hca, (uint8_t)(i + 1), &p);

		assert(!err); /* a port that exists already */
		(void)err;
		vb_link_follow_port(e->link, (uint8_t)(i + 1), e->devices.device[i].ifindex);
	}
	vb_hca_find_homes(e->hca);
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		if (was_up[i] && !device_is_up(&e->devices.device[i]))
			vb_hca_port_failed(e->hca, (uint8_t)(i + 1), vb_clock_now());
	/* Virtual functions may have another parent. */
	e->adopts = false;
	vb_engine_adopt(e);
	vb_engine_follow_cc(e);
	vb_engine_follow_faults(e);
	if (e->sink.port_change)
		e->sink.port_change(e->sink.ctx);
}

void vb_engine_make_grh(struct vb_engine *e)
{
	e->makes_grh = true;
	vb_engine_follow_bring(e);
}

void vb_engine_follow_bring(struct vb_engine *e)
{
	uint32_t bring = e->makes_grh ? VB_LINK_BRING_ALL : 0;

	/* The link has its faults before there is an HCA. */
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		if (e->broker.shm->fault[i].rules.text[0] ||
		    (e->hca && vb_hca_cc(e->hca, (uint8_t)(i + 1))->np_en))
			bring |= VB_LINK_BRING_CLASS;
	e->bring = bring;
}

/* The driver that `verbena run --link` asks for. NULL: @why says what is wrong. */
static const struct vb_link_driver *driver_wanted(char *why, size_t why_size)
{
	const char *text = getenv("VERBENA_LINK");
	const struct vb_link_driver *d = vb_link_driver_find(text ? text : "");
	char names[64];

	if (!d) {
		vb_link_driver_names(names, sizeof names);
		snprintf(why, why_size, "VERBENA_LINK is '%s': it has to be %s", text, names);
	}
	return d;
}

/* Opens a link of @d, and before that the one that it stands before. */
static int open_driver(struct vb_engine *e, const struct vb_link_driver *d,
		       struct vb_link_config *cfg, char *why, size_t why_size)
{
	int rc = d->below ? open_driver(e, d->below, cfg, why, why_size) : 0;

	if (rc)
		return rc;
	cfg->lower = e->link;
	rc = d->open(&e->link, cfg);
	if (rc)
		return vb_error_hint(why, why_size, rc, "cannot set up %s", d->what);
	cfg->rx_fd = e->broker.rx_fd = -1; /* the link's now */
	return 0;
}

static int open_link(struct vb_engine *e, char *why, size_t why_size)
{
	const struct vb_link_driver *d =
	    e->broker.fabric ? vb_link_driver_fabric() : driver_wanted(why, why_size);
	struct vb_link_config cfg = {
	    .rx_fd = e->broker.rx_fd,
	    .flow = e->broker.flow,
	    .slot = (uint16_t)e->broker.slot,
	    .own = e->flow_own,
	    .wakeup = e->broker.wakeup,
	    .port_of = link_port_of,
	    .generation = &e->addr.generation,
	    .tap = vb_engine_tap,
	    .tap_on = &e->broker.shm->capture.enabled,
	    .bring = &e->bring,
	    .looks = &e->looks,
	    .drains = &e->drains,
	    .refused = vb_engine_note_refusal,
	    .ctx = e,
	};

	if (!d)
		return -EINVAL;
	if (e->broker.carried) {
		d = vb_link_driver_carried();
		cfg.carried = e->broker.carried;
		if (!e->broker.is_direct)
			cfg.flow = NULL; /* of the sockets of the shared broker nobody tells */
	}
	if (e->broker.fabric) {
		cfg.fabric = e->broker.fabric;
		cfg.carrier = e->broker.carrier;
		cfg.port_of_path = link_port_of_path;
		cfg.tap = NULL; /* link/ib/ib.h shows the packets: it knows their ways */
	}
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		cfg.ifindex[i + 1] = e->devices.device[i].ifindex;
		cfg.counters[i + 1] = &e->broker.shm->counters[i + 1];
	}
	/* A slot's last owner may have been killed while there was no broker. */
	__atomic_store_n(&e->broker.wakeup[e->broker.slot].token, 0, __ATOMIC_RELEASE);
	return open_driver(e, d, &cfg, why, why_size);
}

static uint32_t at_most(uint32_t v, uint32_t most)
{
	return v < most ? v : most;
}

uint32_t vb_engine_qp_max(const struct vb_engine *e)
{
	uint32_t max = vb_limits_default.qp;

	/* A narrow slot has fewer numbers; the child of a fork has no slot. */
	if (e->broker.shm)
		max = at_most(max, vb_slot_qpn_cnt(e->broker.slot));
	return e->broker.qp_max ? at_most(max, e->broker.qp_max) : max;
}

static int open_hca(struct vb_engine *e, uint32_t window)
{
	struct vb_hca_config cfg = {
	    .limits = vb_limits_default,
	    .qpn_base = vb_slot_qpn_base(e->broker.slot),
	    .qpn_stride = vb_slot_qpn_stride(e->broker.slot),
	    .qpn_first = e->broker.shm->qpn_next,
	    .port_cnt = VB_DEVICES_MAX,
	    .peer_window_bytes = window,
	    .gso_bytes = at_most(e->flow.gso, e->link->batch_max),
	    .read_piece_bytes = window / 2,
	    .find_home = vb_engine_find_home,
	    .rx_credit = vb_engine_rx_credit,
	    .unanswered = vb_engine_unanswered,
	    .receiver_ctx = e,
	    .page_in = vb_engine_page_in,
	    .guard = vb_guard_run,
	    .xrc_send = vb_engine_send_xrc,
	    .xrc_ctx = e,
	    .trace = {.mask = VB_QP_HISTORY_EVENTS, .emit = vb_engine_tell, .ctx = e},
	    .alloc = hca_alloc,
	    .free = hca_free,
	};

	cfg.limits.qp = vb_engine_qp_max(e);
	if (getrandom(&cfg.seed, sizeof cfg.seed, 0) != (ssize_t)sizeof cfg.seed)
		return -errno;
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		cfg.port[i + 1] = device_port(e, i);
	int err = vb_hca_create(&e->hca, &cfg, vb_clock_now());

	if (!err) {
		vb_engine_adopt(e);
		vb_engine_follow_cc(e);
		vb_engine_follow_probes(e);
	}
	return err;
}

static void engine_close(struct vb_engine *e)
{
	vb_bells_stop(e);
	vb_progress_thread_stop(e);
	vb_sleeper_close(e);
	if (e->hca)
		vb_hca_destroy(e->hca);
	vb_engine_close_mail(e);
	if (e->link)
		e->link->ops->close(e->link);
	if (e->connected)
		vb_broker_disconnect(&e->broker);
	free(e);
}

/* Makes links and HCA at the slot that e->broker describes. @why names what failed. */
static int engine_plug(struct vb_engine *e, char *why, size_t why_size)
{
	e->generation = vb_host_read(e->broker.host, &e->devices);
	vb_addr_build(&e->addr, &e->devices);

	uint32_t window = vb_engine_size_flow(e, e->broker.rx_fd);

	int err = open_link(e, why, why_size);

	if (!err) {
		vb_wait_init(&e->wait, vb_pace_slowness(), vb_link_is_silent(e->link));
		err = vb_engine_open_faults(e, why, why_size);
	}
	if (!err)
		err = vb_engine_open_cc(e, why, why_size);
	if (err)
		return err;
	err = open_hca(e, at_most(window, e->link->window_max));
	if (err)
		err = vb_error_hint(why, why_size, err, "cannot set up the adapter's memory");
	return err;
}

/* The progress thread runs already, and makes the mailbox where it is missing. */
static void open_mail(struct vb_engine *e)
{
	vb_lock_take(&e->lock);
	(void)vb_engine_open_mail(e);
	vb_lock_drop(&e->lock);
}

static int engine_open(struct vb_engine *e, char *why, size_t why_size)
{
	forks_broker = true;
	int err = vb_broker_connect(&e->broker, why, why_size);
	forks_broker = false;

	if (err)
		return err;
	e->connected = true;
	e->broker.serve_csr = vb_engine_serve_csr;
	e->broker.serve_ctx = e;
	err = engine_plug(e, why, why_size);
	if (err)
		return err;
	/* First the sleeper: the kernel tells of packets in this order. */
	err = vb_sleeper_open(e);
	if (!err)
		err = vb_progress_thread_start(e);
	if (err)
		err = vb_error_hint(why, why_size, err, "cannot set up the progress thread");
	/* Without a mailbox, packets that came to another process are lost, as on any network. */
	else if (!e->broker.fabric)
		open_mail(e);
	atomic_store(&e->alive, !err);
	return err;
}

static struct vb_engine *engine_new(void)
{
	struct vb_engine *e = calloc(1, sizeof *e);

	if (e) {
		e->mail.fd = e->progress_thread.kick_fd = e->progress_thread.epoll_fd = -1;
		e->sleeper.epoll_fd = e->sleeper.wake_fd = e->sleeper.signal_fd = -1;
	}
	return e;
}

int vb_engine_open_inside(struct vb_engine **out, const struct vb_broker_client *at, char *why,
			  size_t why_size)
{
	struct vb_engine *e = engine_new();
	int err;

	if (!e) {
		close(at->rx_fd); /* as in every other failure */
		return vb_error_hint(why, why_size, -ENOMEM, "cannot set up the adapter");
	}
	e->broker = *at;
	err = engine_plug(e, why, why_size);
	if (err) {
		if (e->broker.rx_fd >= 0)
			close(e->broker.rx_fd);
		engine_close(e);
		return err;
	}
	atomic_store(&e->alive, true);
	*out = e;
	return 0;
}

void vb_engine_close_inside(struct vb_engine *e)
{
	engine_close(e);
}

int vb_engine_acquire(struct vb_engine **out, char *why, size_t why_size)
{
	int err = 0;

	pthread_once(&process.once, process_register);
	pthread_mutex_lock(&process.mutex);
	if (!process.engine) {
		struct vb_engine *e = engine_new();

		if (e) {
			err = engine_open(e, why, why_size);
		} else {
			err = -ENOMEM;
			(void)vb_error_hint(why, why_size, err, "cannot set up the adapter");
		}
		if (err && e)
			engine_close(e);
		if (!err)
			process.engine = e;
	}
	if (!err) {
		process.engine->refs++;
		*out = process.engine;
	}
	pthread_mutex_unlock(&process.mutex);
	return err;
}

struct vb_engine *vb_engine_borrow(void)
{
	struct vb_engine *e;

	pthread_mutex_lock(&process.mutex);
	e = process.engine;
	if (e)
		e->refs++;
	pthread_mutex_unlock(&process.mutex);
	return e;
}

void vb_engine_release(struct vb_engine *e)
{
	/* In a forked child: the parent's engine, whose memory stays for objects that point to it.
	 */
	if (!vb_engine_is_alive(e))
		return;
	pthread_mutex_lock(&process.mutex);
	if (--e->refs == 0) {
		process.engine = NULL;
		engine_close(e);
	}
	pthread_mutex_unlock(&process.mutex);
}
