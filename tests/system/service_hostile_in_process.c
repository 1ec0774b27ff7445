/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: service_hostile_in_process FD FD FD FD
 *
 * A hostile producer of a service that runs in another program (libsonda-service), on producer
 * connections that this program has handed over: frames of noise, a frame that is too long,
 * unrequested descriptors, and shared memory that changes while its chunks are committed,
 * for the program's buffers too. Fails if the service does not behave as sondad does.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "service_peer_producer.h"
#include "service_tap.h"
#include "unit/../unit/rng.h"

enum { FRAMES = 2000, COMMITS = 1000, MOVES = 20 };

static struct peer p; /* large */

static void frames_of_noise(int fd)
{
	uint8_t frame[300];
	uint64_t r = 1;

	peer_init(&p, fd);
	for (int i = 0; i < FRAMES; i++) {
		size_t len = rng_below(&r, sizeof(frame));

		rng_bytes(&r, frame, len);
		if (!peer_send_frame(&p, frame, len, -1))
			break;
		while (peer_next_in(&p, 0))
			;
	}
	peer_close(&p);
}

static bool frame_that_is_too_long(int fd)
{
	const uint32_t len = 0x7fffffff;

	peer_init(&p, fd);
	peer_send_raw(&p, &len, sizeof(len), -1);
	CHECK(peer_is_hung_up(&p));
	peer_close(&p);
	return true;
}

static bool descriptors(int fd)
{
	peer_init(&p, fd);
	for (int i = 0; i < 100; i++)
		if (peer_call_with_fd(&p, P_SYNC, STDIN_FILENO))
			CHECK(peer_next(&p));
	peer_close(&p);
	return true;
}

static void scribble(const struct smb *m)
{
	uint32_t *words = (uint32_t *)(void *)m->base, n = m->page_size * m->n_pages / 4;
	uint64_t r = 2;

	for (;;) {
		words[rng_below(&r, n)] = (uint32_t)rng_next(&r);
		/* page headers with plausible states more often than not */
		words[rng_below(&r, m->n_pages) * (m->page_size / 4)] =
			rng_below(&r, 8) << 28 | ((uint32_t)rng_next(&r) & 0x0fffffff);
	}
}

static bool memory_that_changes(int fd)
{
	struct peer_session s = {0};
	uint64_t r = 3, stream;
	pid_t child;

	peer_init(&p, fd);
	stream = peer_become_producer(&p, "hostile", "hostile.src", 0, true);
	CHECK(peer_await_session(&p, stream, true, &s));
	child = fork();
	if (child == 0)
		scribble(&s.smb);
	for (int i = 0; i < COMMITS; i++) {
		struct pb_mem m;

		CHECK(pb_mem_init(&m) == 0);
		for (int k = 0; k < MOVES; k++)
			peer_put_move(&m.enc, rng_below(&r, s.smb.n_pages + 1), rng_below(&r, 15),
				      rng_below(&r, 4));
		peer_call_mem(&p, P_COMMIT, &m);
		while (peer_next_in(&p, 0))
			;
		CHECK(!p.eof);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	peer_unmap(&s);
	peer_close(&p);
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	frames_of_noise(atoi(argv[1]));
	return frame_that_is_too_long(atoi(argv[2])) && descriptors(atoi(argv[3])) &&
			       memory_that_changes(atoi(argv[4]))
		       ? 0
		       : 1;
}
