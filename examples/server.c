/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A single-threaded server with many concurrent requests: each request has its own track, with its
 * phases as slices. The UI draws overlapping requests side by side.
 *
 *	cc -o server server.c $(pkg-config --cflags --libs sonda)
 *	sonda record --app 'http' -- ./server
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(http, "http", "Requests");

#define REQUESTS 20
#define STEP_NS 1000000

enum phase { WAITS, PARSES, REPLIES, DONE };

struct request {
	uint64_t id;
	enum phase phase;
	struct sonda_track track;
};

static void start_request(struct request *r, uint64_t id, const struct sonda_track *requests)
{
	r->id = id;
	r->phase = PARSES;
	r->track = sonda_track_named("request", id, requests);
	SONDA_BEGIN(http, "request", SONDA_TRACK(&r->track), SONDA_UINT("id", id),
		    SONDA_DICT("peer", SONDA_STRING("host", "192.0.2.7"),
			       SONDA_UINT("port", 40000 + id)));
	SONDA_BEGIN(http, "parse", SONDA_TRACK(&r->track));
}

static void advance(struct request *r)
{
	switch (r->phase) {
	case PARSES:
		SONDA_END(http, SONDA_TRACK(&r->track));
		SONDA_BEGIN(http, "reply", SONDA_TRACK(&r->track));
		r->phase = REPLIES;
		break;
	case REPLIES:
		SONDA_END(http, SONDA_TRACK(&r->track));
		/* Arguments of the end are added to those of the begin. */
		SONDA_END(http, SONDA_TRACK(&r->track), SONDA_INT("status", 200));
		r->phase = DONE;
		break;
	default:
		break;
	}
}

int main(void)
{
	static struct request requests[REQUESTS];
	const struct timespec step = {0, STEP_NS};
	struct sonda_track track = sonda_track_named("requests", 0, NULL);
	unsigned started = 0, done = 0;

	sonda_init(NULL);
	sonda_wait_connected(1000);
	while (done < REQUESTS) {
		SONDA_SCOPE(http, "turn");
		if (started < REQUESTS) {
			start_request(&requests[started], started + 1, &track);
			started++;
		}
		for (unsigned i = 0; i < started; i++)
			if (requests[i].phase != DONE && rand() % 3 == 0) {
				advance(&requests[i]);
				done += requests[i].phase == DONE;
			}
		nanosleep(&step, NULL);
	}
	return 0;
}
