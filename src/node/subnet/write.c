/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes of programs to their umad files: by calls that are answered, and, where the page of the
 * file says that nothing can be wrong, as messages on the file's own socket without an answer. Such
 * a message is checked like any other. If it is refused all the same, because the program spoiled
 * its page or all memory went at once, it is lost as on a wire. Items MAD-11, MAD-12, MAD-23
 */
#include "node/subnet/page.h"
#include "node/subnet/state.h"

#include "link/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 32u /* messages of one call of recvmmsg(2) */

struct vb_subnet_file *vb_subnet_file_of(const struct vb_subnet_daemon *d, uint64_t token)
{
	for (const struct vb_list *l = d->users.next; l != &d->users; l = l->next) {
		const struct vb_subnet_user *u =
		    vb_container_of(l, const struct vb_subnet_user, node);

		for (struct vb_list *k = u->files.next; k != &u->files; k = k->next) {
			struct vb_subnet_file *f = vb_container_of(k, struct vb_subnet_file, node);

			if (f->token == token && f->umad.number >= 0)
				return f;
		}
	}
	return NULL;
}

int vb_subnet_pages_open(struct vb_subnet_daemon *d)
{
	void *p;
	int fd = vb_memory_new("verbena-umad", VB_SUBNET_PAGES * sizeof *d->pages, &p);

	if (fd < 0)
		return fd;
	d->pages = p;
	d->pages_fd = fd;
	return 0;
}

void vb_subnet_pages_close(struct vb_subnet_daemon *d)
{
	if (!d->pages)
		return;
	vb_memory_unmap(d->pages, VB_SUBNET_PAGES * sizeof *d->pages);
	close(d->pages_fd);
	d->pages = NULL;
}

static void set_word(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

void vb_subnet_page_form(struct vb_subnet_file *f)
{
	if (f->page)
		set_word(&f->page->hdr_len, vb_umad_hdr_len(&f->umad.form));
}

/* Its own record says which pages are free, not what programs can write to. */
void vb_subnet_page_enter(struct vb_subnet_daemon *d, struct vb_subnet_file *f)
{
	struct vb_subnet_page *p;
	uint32_t i = 0;

	while (i < VB_SUBNET_PAGES && d->page_used[i])
		i++;
	if (i == VB_SUBNET_PAGES)
		return;
	d->page_used[i] = true;
	f->page = p = &d->pages[i];
	memset(p, 0, sizeof *p);
	p->port = f->user->at.port;
	p->is_switch = vb_subnet_at_switch(d, f->user->at.node);
	p->port_cnt = d->topo->node[f->user->at.node].port_cnt;
	vb_subnet_page_form(f);
	vb_agents_file_count(f->user->agents, f->umad.number, p->outstanding);
	__atomic_store_n(&p->token, f->token, __ATOMIC_RELEASE);
}

void vb_subnet_page_leave(struct vb_subnet_daemon *d, struct vb_subnet_file *f)
{
	if (!f->page)
		return;
	__atomic_store_n(&f->page->token, 0, __ATOMIC_RELEASE);
	d->page_used[f->page - d->pages] = false;
	f->page = NULL;
}

static void set_bit(uint32_t *word, uint32_t bit, bool is_set)
{
	set_word(word, is_set ? *word | bit : *word & ~bit);
}

void vb_subnet_page_agent(struct vb_subnet_file *f, uint32_t id, const struct vb_agent_request *r)
{
	struct vb_subnet_page *p = f->page;

	if (!p || id >= VB_UMAD_AGENTS)
		return;
	if (r) {
		set_bit(&p->with_rmpp, 1u << id, r->rmpp_version != 0);
		set_bit(&p->user_rmpp, 1u << id, r->user_rmpp);
	}
	vb_subnet_page_form(f);
	set_bit(&p->agents, 1u << id, r != NULL);
}

static int write_plain(struct vb_subnet_file *f, const uint8_t *buf, size_t len)
{
	struct vb_mad_message m;
	int rc = vb_umad_write_parse(&m, buf, len, vb_umad_hdr_len(&f->umad.form));

	return rc ? rc : vb_agents_write(f->user->agents, f->umad.number, &m);
}

static void show_memory(struct vb_subnet_file *f)
{
	if (f->page)
		__atomic_store_n(&f->page->is_low, vb_agents_is_low(f->user->agents),
				 __ATOMIC_RELAXED);
}

int vb_subnet_file_write(struct vb_subnet_daemon *d, const struct vb_subnet_call *call,
			 const struct vb_fds *fds)
{
	struct vb_subnet_file *f = vb_subnet_file_of(d, call->token);
	int rc;

	if (!f)
		return -EIO;
	vb_subnet_file_drain(f);
	rc = vb_umad_file_write(&f->umad, call, fds, NULL, NULL);
	show_memory(f);
	return rc;
}

/* From here on the agents count it, or it is gone. */
static void uncount_write(struct vb_subnet_file *f, const uint8_t *buf, size_t len)
{
	uint32_t hdr_len = vb_umad_hdr_len(&f->umad.form);

	if (f->page && len >= hdr_len + VB_MAD_HDR_LEN)
		__atomic_fetch_sub(vb_subnet_page_counter(f->page, buf + hdr_len), 1,
				   __ATOMIC_RELEASE);
}

void vb_subnet_file_drain(struct vb_subnet_file *f)
{
	static uint8_t buf[BATCH][VB_SUBNET_WRITE_MAX];
	static struct mmsghdr mh[BATCH];
	static struct iovec iov[BATCH];
	int n, i;

	for (i = 0; !mh[BATCH - 1].msg_hdr.msg_iov && i < (int)BATCH; i++) {
		iov[i] = (struct iovec){buf[i], sizeof buf[i]};
		mh[i].msg_hdr.msg_iov = &iov[i];
		mh[i].msg_hdr.msg_iovlen = 1;
	}
	do {
		n = recvmmsg(f->watch.fd, mh, BATCH, MSG_DONTWAIT, NULL);
		/* At the end of the program's side there are empty ones without end. */
		for (i = 0; i < n && mh[i].msg_len != 0; i++) {
			(void)write_plain(f, buf[i], mh[i].msg_len);
			uncount_write(f, buf[i], mh[i].msg_len);
		}
	} while (n == (int)BATCH && i == n);
	show_memory(f);
}
