/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A producer of track events that is written with nothing but the protocol: frames, chunks in
 * shared memory, and protobuf; no library of ours or of others does anything for it.
 *
 *	track_events N    each session gets N slices "work 1" ... on a track "line", each with a field
 *	                  9900 that the protocol does not know: "extra 1" ...
 *
 * The last packet of each chunk goes on in the next one.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/text/str.h"
#include "unit/../system/service_peer_producer.h"

#define WRITER 7
#define TRACK 4711
#define EXTENSION_FIELD 9900 /* of TrackEvent */
#define CLOCK_ID_BOOTTIME 6
#define TYPE_SLICE_BEGIN 1
#define TYPE_SLICE_END 2
#define STATE_CLEARED 1
#define NEEDS_STATE 2
#define NAME_IID 1

struct track {
	struct peer *peer;
	struct peer_session session;
	uint32_t chunk_id;
	uint8_t payload[4096];
	size_t used;
	struct smb_chunk_header header; /* of the chunk that is being filled */
};

/* ---- chunks ---- */

static void send_chunk(struct track *t)
{
	uint32_t page = t->chunk_id % (uint32_t)(t->session.smb_size / 4096);

	t->header.writer_id = WRITER;
	t->header.chunk_id = t->chunk_id++;
	peer_write_raw(&t->session.smb, page, &t->header, t->payload, t->used);
	if (!peer_accepted(t->peer, peer_commit(t->peer, page, 0, t->session.buffer, 0)))
		abort();
	t->header = (struct smb_chunk_header){0};
	t->used = 0;
}

static void put_fragment(struct track *t, const uint8_t *data, size_t len)
{
	pb_put_varint4(t->payload + t->used, (uint32_t)len);
	memcpy(t->payload + t->used + 4, data, len);
	t->used += 4 + len;
	t->header.count++;
}

/* What does not fit goes on in the next chunk. */
static void put_packet(struct track *t, struct pb_mem *m)
{
	size_t len = pb_mem_len(m), room = 4088 - 8 - 4 - t->used, first = MIN(len, room);

	put_fragment(t, m->buf, first);
	if (len > first) {
		t->header.flags |= SMB_CONTINUES_ON_NEXT;
		send_chunk(t);
		t->header.flags |= SMB_CONTINUES_FROM_PREV;
		put_fragment(t, m->buf + first, len - first);
	} else if (room - first < 16) {
		send_chunk(t);
	}
	pb_mem_deinit(m);
}

/* ---- packets ---- */

static struct pb_mem begin_packet(uint32_t flags)
{
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		abort();
	pb_enc_u64(&m.enc, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_u64(&m.enc, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_BOOTTIME);
	pb_enc_u64(&m.enc, PB_TRACE_PACKET_SEQUENCE_FLAGS, flags);
	return m;
}

static void put_head(struct track *t)
{
	struct pb_mem m = begin_packet(STATE_CLEARED | NEEDS_STATE);
	struct pb_enc *e = &m.enc;

	pb_enc_bool(e, PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, true);
	pb_enc_open(e, PB_TRACE_PACKET_INTERNED_DATA);
	pb_enc_open(e, PB_INTERNED_DATA_EVENT_NAMES);
	pb_enc_u64(e, PB_EVENT_NAME_IID, NAME_IID);
	pb_enc_str(e, PB_EVENT_NAME_NAME, "inner");
	pb_enc_close(e);
	pb_enc_close(e);
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_UUID, TRACK);
	pb_enc_str(e, PB_TRACK_DESCRIPTOR_NAME, "line");
	pb_enc_close(e);
	put_packet(t, &m);
}

static void put_event(struct track *t, uint32_t type, const char *name, uint32_t name_iid,
		      const char *extra)
{
	struct pb_mem m = begin_packet(NEEDS_STATE);
	struct pb_enc *e = &m.enc;

	pb_enc_open(e, PB_TRACE_PACKET_TRACK_EVENT);
	pb_enc_u64(e, PB_TRACK_EVENT_TYPE, type);
	pb_enc_u64(e, PB_TRACK_EVENT_TRACK_UUID, TRACK);
	if (name)
		pb_enc_str(e, PB_TRACK_EVENT_NAME, name);
	if (name_iid)
		pb_enc_u64(e, PB_TRACK_EVENT_NAME_IID, name_iid);
	if (extra)
		pb_enc_str(e, EXTENSION_FIELD, extra);
	pb_enc_close(e);
	put_packet(t, &m);
}

static void put_slices(struct track *t, uint32_t n)
{
	put_head(t);
	for (uint32_t i = 1; i <= n; i++) {
		char name[32], extra[32];

		snprintf(name, sizeof(name), "work %" PRIu32, i);
		snprintf(extra, sizeof(extra), "extra %" PRIu32, i);
		put_event(t, TYPE_SLICE_BEGIN, name, 0, extra);
		put_event(t, TYPE_SLICE_BEGIN, NULL, NAME_IID, NULL);
		put_event(t, TYPE_SLICE_END, NULL, 0, NULL);
		put_event(t, TYPE_SLICE_END, NULL, 0, NULL);
	}
	if (t->used > 0)
		send_chunk(t);
}

/* ---- sessions ---- */

/* Until it is stopped. */
static bool obey(struct track *t)
{
	struct pb_field f;

	while (peer_next_in(t->peer, 60000)) {
		if (!t->peer->f.has_more)
			continue; /* the answer to a commit */
		if (peer_field(t->peer, CMD(FLUSH), &f))
			peer_ack_flush(t->peer, peer_number(&f, CMD(FLUSH_REQUEST_ID)));
		if (peer_field(t->peer, CMD(STOP_DATA_SOURCE), &f))
			return true;
	}
	return false;
}

static void tell_ready(void)
{
	const char *fd = getenv("TRACED_PROBES_NOTIFY_FD");

	if (fd && write(atoi(fd), "1", 1) != 1)
		perror("TRACED_PROBES_NOTIFY_FD");
}

int main(int argc, char **argv)
{
	struct track t = {.peer = calloc(1, sizeof(*t.peer))};
	uint64_t stream;
	uint32_t n;

	if (argc != 2 || str_to_u32(argv[1], &n) < 0 || !t.peer)
		return 2;
	peer_connect(t.peer, sock_default_producer());
	peer_bind(t.peer, "ProducerPort");
	if (!peer_next(t.peer))
		return 1;
	stream = peer_become_producer(t.peer, "tests.track_events", "track_event", 0, false);
	tell_ready();
	for (;;) {
		peer_wait(t.peer, POLLIN, 60000);
		if (!peer_await_session(t.peer, stream, true, &t.session))
			return 1;
		peer_register_writer(t.peer, WRITER, t.session.buffer);
		if (!peer_next(t.peer))
			return 1;
		put_slices(&t, n);
		if (!obey(&t))
			return 0;
	}
}
