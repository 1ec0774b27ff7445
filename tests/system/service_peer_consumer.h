/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "config/text.h"
#include "config/trace_config.pb-c.h"
#include "gen/fields.h"
#include "service_peer.h"

/* A raw peer as a consumer: sessions from config text, and packets out of ReadBuffers. */

/* Methods by their place in ConsumerPort. */
enum {
	C_ENABLE = 1,
	C_DISABLE,
	C_READ,
	C_FREE,
	C_FLUSH,
	C_START,
	C_CHANGE_CONFIG,
	C_DETACH,
	C_ATTACH,
	C_STATS,
	C_OBSERVE,
	C_QUERY_STATE,
	C_QUERY_CAPABILITIES,
	C_SAVE,
	C_CLONE,
};

/* A config from its text; to be freed with pb__trace_config__free_unpacked. */
static inline Pb__TraceConfig *peer_parse_config(const char *text)
{
	struct strbuf errors = {0};
	ProtobufCMessage *m = NULL;

	if (text_parse(&pb__trace_config__descriptor, "test", text, strlen(text), &errors, &m) < 0)
		fprintf(stderr, "%s\n", errors.s);
	strbuf_deinit(&errors);
	assert(m);
	return (Pb__TraceConfig *)m;
}

/* fd: a file for write_into_file, borrowed; -1 for none. */
static inline uint64_t peer_enable_into(struct peer *p, const char *config_text, int fd)
{
	Pb__TraceConfig *c = peer_parse_config(config_text);
	size_t len = pb__trace_config__get_packed_size(c);
	uint8_t *packed = malloc(len + 1);
	struct pb_mem m;

	assert(packed && pb_mem_init(&m) == 0);
	pb__trace_config__pack(c, packed);
	pb_enc_bytes(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, packed, len);
	pb__trace_config__free_unpacked(c, NULL);
	free(packed);
	peer_call_as(p, 1, C_ENABLE, false, m.buf, pb_mem_len(&m), fd);
	pb_mem_deinit(&m);
	return p->last_id;
}

static inline uint64_t peer_enable(struct peer *p, const char *config_text)
{
	return peer_enable_into(p, config_text, -1);
}

/* The next frame is the end of EnableTracing; error is what it must contain, NULL for none. */
static inline bool peer_tracing_ended(struct peer *p, uint64_t id, const char *error)
{
	struct pb_field f;
	bool has;

	if (!peer_accepted(p, id) || !peer_field(p, PB_ENABLE_TRACING_RESPONSE_DISABLED, &f) ||
	    !f.u64)
		return false;
	has = peer_field(p, PB_ENABLE_TRACING_RESPONSE_ERROR, &f);
	if (!error || !has)
		return !error == !has;
	if (memmem(f.data, f.len, error, strlen(error)))
		return true;
	fprintf(stderr, "the error is: %.*s\n", (int)f.len, (const char *)f.data);
	return false;
}

static inline uint64_t peer_detach(struct peer *p, const char *key)
{
	return peer_call_text(p, C_DETACH, PB_DETACH_REQUEST_KEY, key);
}

static inline uint64_t peer_attach(struct peer *p, const char *key)
{
	return peer_call_text(p, C_ATTACH, PB_ATTACH_REQUEST_KEY, key);
}

/* Waits for the end of the session that was attached to. */
static inline uint64_t peer_await_end(struct peer *p)
{
	return peer_call_number(p, C_ENABLE, PB_ENABLE_TRACING_REQUEST_ATTACH_NOTIFICATION_ONLY, 1);
}

/* A number of GetTraceStats; of what occurs more than once, the last. ~0: no answer. */
static inline uint64_t peer_stat(struct peer *p, uint32_t field)
{
	struct pb_field stats, f;

	if (!peer_accepted(p, peer_call(p, C_STATS, NULL, 0)) ||
	    !peer_field(p, PB_GET_TRACE_STATS_RESPONSE_TRACE_STATS, &stats))
		return UINT64_MAX;
	return peer_subfield(&stats, field, &f) ? f.u64 : 0;
}

/* The same of its BufferStats: of the last buffer. */
static inline uint64_t peer_buffer_stat(struct peer *p, uint32_t field)
{
	struct pb_field stats, buffer, f;

	if (!peer_accepted(p, peer_call(p, C_STATS, NULL, 0)) ||
	    !peer_field(p, PB_GET_TRACE_STATS_RESPONSE_TRACE_STATS, &stats) ||
	    !peer_subfield(&stats, PB_TRACE_STATS_BUFFER_STATS, &buffer))
		return UINT64_MAX;
	return peer_subfield(&buffer, field, &f) ? f.u64 : 0;
}

/* Packets of a trace, as they came out of ReadBuffers. */
struct peer_packets {
	struct {
		uint8_t *data;
		size_t len;
	} * list;
	size_t n;
	size_t n_replies;
};

static inline void peer_packets_free(struct peer_packets *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->list[i].data);
	free(t->list);
	memset(t, 0, sizeof(*t));
}

static inline void peer_add_slice(struct peer_packets *t, const struct pb_field *slice, bool *open)
{
	struct pb_field data = {0}, last = {0};

	if (!*open) {
		t->list = realloc(t->list, (t->n + 1) * sizeof(*t->list));
		assert(t->list);
		memset(&t->list[t->n++], 0, sizeof(*t->list));
	}
	peer_subfield(slice, PB_READ_BUFFERS_RESPONSE_SLICE_DATA, &data);
	t->list[t->n - 1].data =
		realloc(t->list[t->n - 1].data, t->list[t->n - 1].len + data.len + 1);
	assert(t->list[t->n - 1].data);
	if (data.len)
		memcpy(t->list[t->n - 1].data + t->list[t->n - 1].len, data.data, data.len);
	t->list[t->n - 1].len += data.len;
	*open = !(
		peer_subfield(slice, PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET, &last) &&
		last.u64);
}

/* Reads the replies to a ReadBuffers up to its end. False: it was rejected, or something else
 * came. */
static inline bool peer_read_replies(struct peer *p, uint64_t id, struct peer_packets *t)
{
	bool open = false;
	struct pb_field f;
	struct pb_dec d;

	memset(t, 0, sizeof(*t));
	do {
		if (!peer_reply(p, id) || !p->f.success)
			return false;
		t->n_replies++;
		pb_dec_init(&d, p->f.payload, p->f.payload_len);
		while (pb_dec_next(&d, &f))
			if (f.id == PB_READ_BUFFERS_RESPONSE_SLICES)
				peer_add_slice(t, &f, &open);
		assert(pb_dec_ok(&d));
	} while (p->f.has_more);
	return !open;
}

static inline bool peer_read(struct peer *p, struct peer_packets *t)
{
	return peer_read_replies(p, peer_call(p, C_READ, NULL, 0), t);
}

/* A top-level field of packet i; the last one of its number. */
static inline bool peer_packet_field(const struct peer_packets *t, size_t i, uint32_t id,
				     struct pb_field *ret)
{
	struct pb_field packet = {.data = t->list[i].data, .len = t->list[i].len};

	return peer_subfield(&packet, id, ret);
}

/* ... as a number, 0 where it is not there. */
static inline uint64_t peer_packet_number(const struct peer_packets *t, size_t i, uint32_t id)
{
	struct pb_field f;

	return peer_packet_field(t, i, id, &f) ? f.u64 : 0;
}

/* The index of the first packet from i on that has the field, or -1. */
static inline int peer_find_packet(const struct peer_packets *t, size_t i, uint32_t id)
{
	struct pb_field f;

	for (; i < t->n; i++)
		if (peer_packet_field(t, i, id, &f))
			return (int)i;
	return -1;
}

/* How many packets carry this text in PEER_FIELD. */
static inline unsigned peer_count_text(const struct peer_packets *t, const char *text)
{
	struct pb_field f;
	unsigned n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += peer_packet_field(t, i, PEER_FIELD, &f) && f.len == strlen(text) &&
		     !memcmp(f.data, text, f.len);
	return n;
}
