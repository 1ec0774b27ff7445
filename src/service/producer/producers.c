/* SPDX-License-Identifier: Apache-2.0 */
#include "service/producer/producers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "common/data_source_descriptor.pb-c.h"
#include "config/trace_config.pb-c.h"
#include "config/unpack.h"
#include "gen/fields.h"
#include "service/ipc/ipc_peer.h"
#include "service/ipc/limits.h"
#include "service/ipc/quota.h"
#include "service/ipc/request_decode.h"

/*
 * The service reads the name, the id and four flags of a descriptor. It keeps the descriptor itself
 * for the reply to QueryServiceState. A malformed descriptor would make the whole reply malformed,
 * so all its messages are checked first.
 */

struct source_name {
	UT_hash_handle hh;
	struct source_list sources; /* not empty */
	char text[];
};

/* Estimated overhead of an allocation, and size of a name with its hash table entry. */
#define ALLOC_COST 16u
#define ENTRY_COST (sizeof(struct source_name) + ALLOC_COST + 16u)

/* ---- names ---- */

static struct source_name *registry_find_name(const struct registry *r, const char *name)
{
	struct source_name *n;

	HASH_FIND_STR(r->names, name, n);
	return n;
}

static struct source_name *find_or_add_name(struct registry *r, const char *name)
{
	size_t len = strlen(name);
	struct source_name *n = registry_find_name(r, name);

	if (n)
		return n;
	n = calloc(1, sizeof(*n) + len + 1);
	if (!n)
		return NULL;
	memcpy(n->text, name, len + 1);
	TAILQ_INIT(&n->sources);
	HASH_ADD_KEYPTR(hh, r->names, n->text, len, n);
	if (!n->hh.tbl)
		free(TAKE_PTR(n));
	return n;
}

static void free_name_if_unused(struct registry *r, struct source_name *n)
{
	if (!TAILQ_EMPTY(&n->sources))
		return;
	HASH_DEL(r->names, n);
	free(n);
}

static void registry_init(struct registry *r)
{
	*r = (struct registry){0};
	TAILQ_INIT(&r->sources);
}

struct registered_source *registry_find_first(const struct registry *r, const char *name)
{
	const struct source_name *n = registry_find_name(r, name);

	return n ? TAILQ_FIRST(&n->sources) : NULL;
}

/* ---- one source ---- */

static void source_free(struct registered_source *r)
{
	if (!r)
		return;
	free(r->name);
	free(r->descriptor);
	free(r);
}

DEFINE_DESTRUCTOR(struct registered_source *, source_free)

/* Stores the fields of a descriptor in r. Returns 0, -EBADMSG, -ENOMEM, or -EINVAL if the name is
 * invalid. */
static int decode_descriptor(const uint8_t *data, size_t len, struct registered_source *r)
{
	struct pb_field f;
	struct pb_dec d;
	int e = 0;

	pb_dec_init(&d, data, len);
	while (e == 0 && pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_BYTES(PB_DATA_SOURCE_DESCRIPTOR_NAME):
			e = decode_string(&f, MAX_NAME_BYTES, &r->name);
			break;
		case KEY_VARINT(PB_DATA_SOURCE_DESCRIPTOR_ID):
			r->id = f.u64;
			break;
		case KEY_VARINT(PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_STOP):
			r->will_notify_on_stop = f.u64 != 0;
			break;
		case KEY_VARINT(PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_START):
			r->will_notify_on_start = f.u64 != 0;
			break;
		case KEY_VARINT(PB_DATA_SOURCE_DESCRIPTOR_HANDLES_INCREMENTAL_STATE_CLEAR):
			r->handles_incremental_state_clear = f.u64 != 0;
			break;
		case KEY_VARINT(PB_DATA_SOURCE_DESCRIPTOR_NO_FLUSH):
			r->no_flush = f.u64 != 0;
			break;
		}
	if (e == -ENOMEM)
		return e;
	if (e < 0)
		return -EINVAL;
	return pb_dec_ok(&d) ? 0 : -EBADMSG;
}

/* Returns true for names of data sources of the kernel and of the system. Only trusted producers
 * may use them. */
static bool is_system_name(const char *name)
{
	static const char *const prefixes[] = {"linux.", "android."};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static int check_descriptor_decodes(const uint8_t *descriptor, size_t len)
{
	ProtobufCMessage *m;
	size_t bytes;
	int r = unpack_limited(&pb__data_source_descriptor__descriptor, descriptor, len,
			       MAX_CONFIG_BYTES, &m, &bytes);

	if (r == 0)
		protobuf_c_message_free_unpacked(m, NULL);
	return r;
}

/* Creates a source, in no list yet. Returns 0, or -errno and sets e, except for -E2BIG and
 * -ENOMEM. */
static int source_new(struct source_offer *o, bool trusted, const uint8_t *descriptor, size_t len,
		      struct err_text *e, struct registered_source **ret)
{
	_cleanup_(source_freep) struct registered_source *r = NULL;
	int error;

	if (len > MAX_DESCRIPTOR_BYTES) {
		o->account->quota->refused[REFUSED_DESCRIPTORS_OF_PRODUCER]++;
		return err_set(e, -ENOBUFS, "a descriptor has %zu bytes; the limit is %u", len,
			       MAX_DESCRIPTOR_BYTES);
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->producer = o->producer;
	r->offer = o;
	error = decode_descriptor(descriptor, len, r);
	if (error == -EINVAL)
		return err_set(e, error, "a data source name has more than %u bytes, or a NUL",
			       MAX_NAME_BYTES);
	if (error == 0)
		error = check_descriptor_decodes(descriptor, len);
	if (error == -EBADMSG)
		return err_set(e, error, "a descriptor of %zu bytes is malformed", len);
	if (error < 0)
		return error;
	if (!r->name || !r->name[0])
		return err_set(e, -EINVAL, "a data source has no name");
	r->descriptor = malloc(len); /* len > 0: it has a name */
	if (!r->descriptor)
		return -ENOMEM;
	memcpy(r->descriptor, descriptor, len);
	r->descriptor_len = len;
	r->left_out = is_system_name(r->name) && !trusted;
	r->cost = sizeof(*r) + 2 * (strlen(r->name) + 1) + len + ENTRY_COST + 3 * ALLOC_COST;
	*ret = TAKE_PTR(r);
	return 0;
}

/* ---- the lists ---- */

/* Charges n bytes of descriptors to the producer. Returns 0, or -errno and sets e. */
static int registry_charge(struct source_offer *o, size_t n, struct err_text *e)
{
	if (o->account->held[QUOTA_DESCRIPTOR_BYTES] + n > MAX_DESCRIPTOR_BYTES_PER_PRODUCER) {
		o->account->quota->refused[REFUSED_DESCRIPTORS_OF_PRODUCER]++;
		return err_set(e, -ENOBUFS, "the producer's descriptors exceed %u bytes",
			       MAX_DESCRIPTOR_BYTES_PER_PRODUCER);
	}
	return quota_charge(o->account, QUOTA_DESCRIPTOR_BYTES, n, e);
}

static struct registered_source *find_source_by_id(const struct source_offer *o, uint64_t id)
{
	struct registered_source *r;

	TAILQ_FOREACH (r, &o->sources, of_producer)
		if (r->id == id)
			return r;
	return NULL;
}

int registry_add(struct registry *reg, struct source_offer *o, bool trusted,
		 const uint8_t *descriptor, size_t len, struct err_text *e,
		 struct registered_source **ret_source)
{
	_cleanup_(source_freep) struct registered_source *r = NULL;
	int error = source_new(o, trusted, descriptor, len, e, &r);

	if (error < 0)
		return error;
	if (r->id && find_source_by_id(o, r->id))
		return err_set(e, -EEXIST, "a data source with id %llu is already registered",
			       (unsigned long long)r->id);
	if (o->n >= MAX_SOURCES_PER_PRODUCER) {
		o->account->quota->refused[REFUSED_SOURCES_OF_PRODUCER]++;
		return err_set(e, -ENOBUFS, "a producer may register at most %u data sources",
			       MAX_SOURCES_PER_PRODUCER);
	}
	error = registry_charge(o, r->cost, e);
	if (error < 0)
		return error;
	r->named = find_or_add_name(reg, r->name);
	if (!r->named) {
		quota_release(o->account, QUOTA_DESCRIPTOR_BYTES, r->cost);
		return -ENOMEM;
	}
	r->serial = ++reg->last_serial;
	o->n++;
	reg->n++;
	TAILQ_INSERT_TAIL(&reg->sources, r, link);
	TAILQ_INSERT_TAIL(&o->sources, r, of_producer);
	TAILQ_INSERT_TAIL(&r->named->sources, r, of_name);
	*ret_source = TAKE_PTR(r);
	return 0;
}

static void unlink_and_free(struct registry *reg, struct registered_source *r)
{
	TAILQ_REMOVE(&reg->sources, r, link);
	TAILQ_REMOVE(&r->offer->sources, r, of_producer);
	TAILQ_REMOVE(&r->named->sources, r, of_name);
	free_name_if_unused(reg, r->named);
	quota_release(r->offer->account, QUOTA_DESCRIPTOR_BYTES, r->cost);
	source_free(r);
}

int registry_update(struct registry *reg, struct source_offer *o, bool trusted,
		    const uint8_t *descriptor, size_t len, struct err_text *e)
{
	_cleanup_(source_freep) struct registered_source *r = NULL;
	struct registered_source *old;
	int error = source_new(o, trusted, descriptor, len, e, &r);

	if (error < 0)
		return error;
	old = r->id ? find_source_by_id(o, r->id) : NULL;
	if (!old || strcmp(old->name, r->name))
		return err_set(e, -ENOENT, "no data source with this id and name is registered");
	error = registry_charge(o, r->cost, e);
	if (error < 0)
		return error;
	r->serial = old->serial;
	r->named = old->named;
	TAILQ_INSERT_BEFORE(old, r, link);
	TAILQ_INSERT_BEFORE(old, r, of_producer);
	TAILQ_INSERT_BEFORE(old, r, of_name);
	unlink_and_free(reg, old);
	r = NULL;
	return 0;
}

static void remove_source(struct registry *reg, struct registered_source *r)
{
	r->offer->n--;
	reg->n--;
	unlink_and_free(reg, r);
}

bool registry_remove(struct registry *reg, struct source_offer *o, const char *name)
{
	struct registered_source *r;

	TAILQ_FOREACH (r, &o->sources, of_producer)
		if (!strcmp(r->name, name)) {
			remove_source(reg, r);
			return true;
		}
	return false;
}

void registry_remove_all(struct registry *reg, struct source_offer *o)
{
	struct registered_source *r;

	while ((r = TAILQ_FIRST(&o->sources)))
		remove_source(reg, r);
}

void producers_init(struct producers *ps, struct quota *quota, const struct producer_events *events,
		    void *ctx)
{
	*ps = (struct producers){.quota = quota, .events = events, .ctx = ctx, .uid = geteuid()};
	TAILQ_INIT(&ps->list);
	registry_init(&ps->registry);
}

/* ---- ids ---- */

static bool producer_id_is_used(const struct producers *ps, uint16_t id)
{
	return ps->ids[id / 64] >> id % 64 & 1;
}

static uint16_t next_free_id(struct producers *ps)
{
	for (unsigned tries = 0; tries <= UINT16_MAX; tries++) {
		ps->last_id++;
		if (ps->last_id != 0 && !producer_id_is_used(ps, ps->last_id))
			return ps->last_id;
	}
	return 0;
}

uint16_t producers_new_id(struct producers *ps)
{
	uint16_t id = next_free_id(ps);

	ps->ids[id / 64] |= 1ull << id % 64; /* id 0 may be marked: it is never assigned */
	return id;
}

void producers_free_id(struct producers *ps, uint16_t id)
{
	ps->ids[id / 64] &= ~(1ull << id % 64);
}

/* ---- rights of producers ---- */

void producers_set_lockdown(struct producers *ps, int operation)
{
	switch (operation) {
	case PB__TRACE_CONFIG__LOCKDOWN_MODE_OPERATION__LOCKDOWN_SET:
		ps->lockdown = true;
		break;
	case PB__TRACE_CONFIG__LOCKDOWN_MODE_OPERATION__LOCKDOWN_CLEAR:
		ps->lockdown = false;
		break;
	}
}

bool producers_is_admitted(const struct producers *ps, const struct ipc_peer *peer)
{
	return !ps->lockdown || (!peer->is_remote && (peer->uid == 0 || peer->uid == ps->uid));
}

bool producers_is_trusted(const struct producers *ps, const struct ipc_peer *peer)
{
	if (peer->is_remote)
		return true; /* the address was allowed; the data sources are that machine's */
	for (size_t i = 0; i < ps->n_system_users; i++)
		if (ps->system_users[i] == peer->uid)
			return true;
	return peer->uid == 0 || peer->uid == ps->uid;
}
