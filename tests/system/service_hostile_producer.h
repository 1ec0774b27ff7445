/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "service_good_pair.h"

/*
 * A hostile producer and a consumer who records it. After each of its tests others must be able to
 * record as well.
 */

#define ONE_BUFFER "buffers { size_kb: 64 } data_sources { config { name: 'hostile.src' } } "
#define BUFFER_STAT(name) peer_buffer_stat(&c, PB_TRACE_STATS_BUFFER_STATS_##name)
#define STAT(name) peer_stat(&c, PB_TRACE_STATS_##name)

static struct peer p, c; /* large */
static uint64_t stream;
static struct peer_session mine;

static inline void enable(const char *config)
{
	/* of a test that failed */
	peer_close(&p);
	peer_close(&c);
	memset(&mine, 0, sizeof(mine));
	peer_connect(&p, sock_default_producer());
	peer_connect(&c, sock_default_consumer());
	stream = peer_become_producer(&p, "hostile", "hostile.src", 0, true);
	peer_enable(&c, config);
}

static inline bool begin(const char *config)
{
	enable(config);
	return peer_await_session(&p, stream, true, &mine);
}

static inline bool end(void)
{
	peer_unmap(&mine);
	peer_close(&p);
	peer_close(&c);
	return good_pair_records();
}

static inline bool commit_page(uint32_t page, uint32_t buffer)
{
	return peer_accepted(&p, peer_commit(&p, page, 0, buffer, 0));
}

static inline bool commit_raw(const struct smb_chunk_header *h, const void *payload, size_t len)
{
	peer_write_raw(&mine.smb, 0, h, payload, len);
	return commit_page(0, mine.buffer);
}

static inline bool commit_text(uint16_t writer, uint32_t chunk_id, const char *text)
{
	peer_write_chunk(&mine.smb, 0, writer, chunk_id, &text, 1, true);
	return commit_page(0, mine.buffer);
}

/* How many packets of the text come out now, and are signed by the service. */
static inline unsigned count_read(const char *text)
{
	struct peer_packets t;
	unsigned n = 0;

	if (!peer_read(&c, &t))
		return ~0u;
	n = peer_count_text(&t, text);
	for (size_t i = 0; i < t.n; i++)
		if (peer_packet_number(&t, i, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID) == 0)
			n = ~0u;
	peer_packets_free(&t);
	return n;
}
