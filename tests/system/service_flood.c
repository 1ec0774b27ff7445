/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: service_flood packets|requests SOURCE
 *
 * A producer that offers a data source, waits for a session that records it, and then sends as fast
 * as the service takes it: packets of 64 MB, of small fields and of larger ones in turn; or requests
 * that commit nothing. Writes a line when it has begun. It ends with its connection, with its parent,
 * or by a signal.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "service_peer_producer.h"

static struct peer p; /* large */
static struct peer_session s;

static void introduce(const char *source)
{
	uint64_t stream, id;
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	pb_enc_str(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME, "flood");
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_SIZE_HINT_BYTES, 2 << 20);
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_PAGE_SIZE_HINT_BYTES,
		   32 << 10);
	peer_connect(&p, sock_default_producer());
	id = peer_call_mem(&p, P_INITIALIZE, &m);
	if (!peer_accepted(&p, id))
		exit(1);
	stream = peer_call(&p, P_GET_ASYNC, NULL, 0);
	id = peer_register(&p, source, 0);
	if (!peer_accepted(&p, id) || !peer_await_session(&p, stream, true, &s))
		exit(1);
	printf("begins\n");
	fflush(stdout);
}

static void flood_of_packets(void)
{
	static char large_field[(PEER_LARGE_CHUNK - 4) / 3] = "\xa2\x38\xa0\x55"; /* 900, bytes */
	const uint32_t n = (64u << 20) / PEER_LARGE_CHUNK;
	uint32_t chunk_id = 0;

	while (peer_write_large(&p, &s, &chunk_id, n, "\x08\x01", 2) &&
	       peer_write_large(&p, &s, &chunk_id, n, large_field, sizeof(large_field)))
		;
}

/* Moves of chunks that are not there: as many as a frame takes. */
static void flood_of_requests(void)
{
	enum { MOVES = 10000 };
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	for (uint32_t i = 0; i < MOVES; i++)
		peer_put_move(&m.enc, i % 64, 0, s.buffer);
	/* Without replies, so that the service always has a next one. */
	while (!p.eof)
		peer_call_as(&p, 1, P_COMMIT, true, m.buf, pb_mem_len(&m), -1);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	introduce(argv[2]);
	if (!strcmp(argv[1], "packets"))
		flood_of_packets();
	else
		flood_of_requests();
	return 1;
}
