/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * I/O controllers of target channel adapters, and their services. Neither ibnetdiscover nor ibsim
 * has a form for them, so their lines begin with '#' and are comments to other programs:
 *
 *	#ioc "an array of disks" slot=1 vendor=0x2c9
 *	#service "SRP.T10:0002c90300001234" id=0x2c90300001234
 *
 * An #ioc belongs to the node before it, a #service to the #ioc before it. The values that a line
 * does not give are those of an SRP target of Linux (ib_srpt). IBA 16.3; item FAB-08
 */
#include "fabric/topology/text/read.h"

#include <errno.h>
#include <string.h>

/* INCITS SRP revision 16a, table B.7. */
#define SRP_IO_CLASS 0x0100
#define SRP_IO_SUBCLASS 0x609e
#define SRP_PROTOCOL 0x0108
#define SRP_PROTOCOL_VERSION 1
/* As ib_srpt offers them. */
#define SRPT_SEND_DEPTH 4095
#define SRPT_READ_DEPTH 4
#define SRPT_SEND_SIZE 2116
#define SRPT_RDMA_SIZE 65536

#define IOC "#ioc"
#define SERVICE "#service"

/* A word of a line: "KEY=NUMBER". */
struct io_key {
	const char *word;
	uint64_t max;
	uint16_t offset, size; /* of the member */
};
#define PROFILE(word_, member, max_)                                                               \
	{                                                                                          \
		.word = (word_), .max = (max_),                                                    \
		.offset = offsetof(struct vb_topo_ioc, profile.member),                            \
		.size = sizeof(((struct vb_topo_ioc *)0)->profile.member)                          \
	}

static const struct io_key ioc_keys[] = {
    {"slot", VB_IO_SLOTS_MAX, offsetof(struct vb_topo_ioc, slot), 1},
    PROFILE("guid", guid, UINT64_MAX),
    PROFILE("vendor", vendor_id, 0xffffff),
    PROFILE("device", device_id, UINT32_MAX),
    PROFILE("version", device_version, UINT16_MAX),
    PROFILE("subvendor", subsystem_vendor_id, 0xffffff),
    PROFILE("subsystem", subsystem_id, UINT32_MAX),
    PROFILE("class", io_class, UINT16_MAX),
    PROFILE("subclass", io_subclass, UINT16_MAX),
    PROFILE("protocol", protocol, UINT16_MAX),
    PROFILE("revision", protocol_version, UINT16_MAX),
    PROFILE("depth", send_depth, UINT16_MAX),
    PROFILE("reads", read_depth, UINT8_MAX),
    PROFILE("send", send_size, UINT32_MAX),
    PROFILE("rdma", rdma_size, UINT32_MAX),
    PROFILE("operations", operations, UINT8_MAX),
    {.word = NULL},
};

static const struct io_key service_keys[] = {
    {"id", UINT64_MAX, offsetof(struct vb_topo_service, service.id), 8},
    {.word = NULL},
};

static void member_store(void *of, const struct io_key *k, uint64_t n)
{
	uint8_t v8 = (uint8_t)n;
	uint16_t v16 = (uint16_t)n;
	uint32_t v32 = (uint32_t)n;
	const void *from = k->size == 1   ? (const void *)&v8
			   : k->size == 2 ? (const void *)&v16
			   : k->size == 4 ? (const void *)&v32
					  : (const void *)&n;

	memcpy((char *)of + k->offset, from, k->size);
}

/* The key that @word begins with; its '=' is taken. NULL: there is none. */
static const struct io_key *key_take(struct vb_lex *word, const struct io_key *keys)
{
	for (; keys->word; keys++) {
		struct vb_lex at = *word;

		if (vb_lex_text(&at, keys->word) && vb_lex_char(&at, '=')) {
			*word = at;
			return keys;
		}
	}
	return NULL;
}

/* "KEY=NUMBER KEY=NUMBER ..." up to the end of the line, into members of @of. */
static int read_values(struct vb_topo_reader *r, const struct io_key *keys, void *of)
{
	struct vb_lex word;

	while (vb_lex_word(&r->lex, &word)) {
		const char *at = word.at;
		const struct io_key *k = key_take(&word, keys);
		uint64_t n;

		if (!k)
			return REFUSE_AT(r, at, "there is no value \"%\" of % here",
					 SAY_PART(at, (size_t)(word.end - at)),
					 SAY_TEXT(keys == ioc_keys ? "a controller" : "a service"));
		if (!vb_lex_number(&word, &n) || word.at < word.end)
			return REFUSE_AT(r, word.at, "expected a number", SAY_NOTHING);
		if (n > k->max)
			return REFUSE_AT(r, at, "% is at most 0x%, not 0x%", SAY_TEXT(k->word),
					 SAY_HEX(k->max), SAY_HEX(n));
		member_store(of, k, n);
	}
	return 0;
}

/* A text in quotes, into @to of @size bytes, the last of which stays 0. */
static int read_text(struct vb_topo_reader *r, uint8_t *to, size_t size)
{
	const char *text;
	size_t len;

	vb_lex_skip_blank(&r->lex);
	if (!vb_lex_quoted(&r->lex, &text, &len) || len == 0)
		return REFUSE_HERE(r, "expected a name in quotes", SAY_NOTHING);
	if (len >= size)
		return REFUSE_AT(r, text, "the name has % bytes, at most % are allowed",
				 SAY_DEC(len), SAY_DEC(size - 1));
	memcpy(to, text, len);
	return 0;
}

static int read_ioc(struct vb_topo_reader *r, struct vb_topo_node *n)
{
	uint32_t before = r->ioc ? r->ioc->slot : 0;
	struct vb_topo_ioc *c = vb_topo_keep(&r->b, sizeof *c);
	int err;

	if (!c)
		return -ENOMEM;
	c->profile = (struct vb_io_controller_profile){
	    .vendor_id = n->vendor_id,
	    .device_id = n->device_id,
	    .subsystem_vendor_id = n->vendor_id,
	    .io_class = SRP_IO_CLASS,
	    .io_subclass = SRP_IO_SUBCLASS,
	    .protocol = SRP_PROTOCOL,
	    .protocol_version = SRP_PROTOCOL_VERSION,
	    .send_depth = SRPT_SEND_DEPTH,
	    .read_depth = SRPT_READ_DEPTH,
	    .send_size = SRPT_SEND_SIZE,
	    .rdma_size = SRPT_RDMA_SIZE,
	    .operations = VB_IO_SEND_TO | VB_IO_SEND_FROM | VB_IO_READ_FROM | VB_IO_WRITE_FROM,
	};
	err = read_text(r, c->profile.id, sizeof c->profile.id);
	if (!err)
		err = read_values(r, ioc_keys, c);
	if (err)
		return err;
	if (c->slot == 0 && before < VB_IO_SLOTS_MAX)
		c->slot = (uint8_t)(before + 1);
	if (c->slot <= before)
		return REFUSE_HERE(r, "slots of controllers rise, up to %; the one before has %",
				   SAY_DEC(VB_IO_SLOTS_MAX), SAY_DEC(before));
	*(r->ioc ? &r->ioc->next : &n->ioc) = c;
	r->ioc = c;
	r->service = NULL;
	return 0;
}

static int read_service(struct vb_topo_reader *r)
{
	struct vb_topo_service *s;
	int err;

	if (!r->ioc)
		return REFUSE_HERE(r, "a #service stands behind the #ioc that offers it",
				   SAY_NOTHING);
	if (r->ioc->profile.service_cnt == VB_IO_SERVICES_MAX)
		return REFUSE_HERE(r, "a controller has at most % services",
				   SAY_DEC(VB_IO_SERVICES_MAX));
	s = vb_topo_keep(&r->b, sizeof *s);
	if (!s)
		return -ENOMEM;
	err = read_text(r, s->service.name, sizeof s->service.name);
	if (!err)
		err = read_values(r, service_keys, s);
	if (err)
		return err;
	*(r->service ? &r->service->next : &r->ioc->service) = s;
	r->service = s;
	r->ioc->profile.service_cnt++;
	return 0;
}

/* The word that the line begins with; a blank, or nothing, is behind it. */
static bool line_begins(const struct vb_lex *line, const char *word)
{
	struct vb_lex at = *line;

	return vb_lex_text(&at, word) && (at.at == at.end || vb_lex_is_blank(*at.at));
}

bool vb_topo_is_io(const struct vb_lex *line)
{
	return line_begins(line, IOC) || line_begins(line, SERVICE);
}

int vb_topo_read_io(struct vb_topo_reader *r)
{
	struct vb_topo_node *n = r->in_node ? &r->b.t->node[r->b.t->node_cnt - 1] : NULL;
	bool is_ioc = line_begins(&r->lex, IOC);

	if (!n || n->type != VB_NODE_CA)
		return REFUSE_HERE(r, "I/O controllers stand behind the Ca that has them",
				   SAY_NOTHING);
	(void)vb_lex_text(&r->lex, is_ioc ? IOC : SERVICE);
	return is_ioc ? read_ioc(r, n) : read_service(r);
}
