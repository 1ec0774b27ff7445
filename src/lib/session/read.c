/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/session/session_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "lib/public.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/* The channel stops reading when the program has not taken this number of bytes. */
#define PAUSE_BYTES (4u << 20)

/* ---- on the loop's thread ---- */

/* Appends a slice to the packet. A complete packet is moved to the output, after its preamble.
 * Returns 0 or -errno. */
static int read_add_slice(struct sonda_session *s, const struct consumer_slice *slice)
{
	uint8_t preamble[16] = {PB_WIRE_BYTES | 1 << 3}, *end;
	int r = slice->data ? session_append(&s->packet, slice->data, slice->len) : 0;

	if (r < 0 || !slice->ends)
		return r;
	end = pb_put_varint(preamble + 1, s->packet.len);
	r = session_append(&s->out, preamble, (size_t)(end - preamble));
	if (r == 0)
		r = session_append(&s->out, s->packet.data, s->packet.len);
	s->packet.len = 0;
	return r;
}

static void read_on_slices(void *ctx, int error, const void *slices, size_t len, bool last)
{
	struct sonda_session *s = ctx;
	struct consumer_slice slice;
	struct pb_dec d;
	int r = error;

	if (error == -EPIPE)
		return;
	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, slices, len);
	while (r == 0 && (r = consumer_next_slice(&d, &slice)) > 0)
		r = read_add_slice(s, &slice);
	if (r < 0 || last)
		session_finish_call(s, r);
	if (s->out.len > PAUSE_BYTES && !s->paused && s->consumer) {
		s->paused = true;
		consumer_pause(s->consumer, true);
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static int send_read(struct sonda_session *s, const struct session_args *a)
{
	(void)a;
	return consumer_read(s->consumer, read_on_slices, s);
}

/* ---- on the caller's thread ---- */

/* Waits for a part of the trace. Returns 0 and sets *ret, whose len is 0 at the end; or -errno. */
static int wait_for_part(struct sonda_session *s, int timeout_ms, struct session_bytes *ret)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	struct session_bytes empty = {.data = ret->data, .cap = ret->cap};
	bool was_paused;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (r == 0 && s->out.len == 0 && !s->reply_done && !s->lost)
		r = session_sleep(s, &d);
	if (s->out.len > 0 && s->reply_error == 0)
		r = 0;
	else if (s->reply_done)
		r = s->reply_error;
	else if (s->lost)
		r = s->lost;
	*ret = s->out;
	s->out = empty;
	was_paused = s->paused;
	s->paused = false;
	pthread_mutex_unlock(&s->lock);
	if (was_paused)
		io_post(&library_loop, &s->resume);
	return r;
}

SONDA_PUBLIC int sonda_session_read(struct sonda_session *s,
				    int (*fn)(void *ctx, const void *data, size_t len), void *ctx,
				    int timeout_ms)
{
	NO_CANCEL();
	struct session_bytes part = {0};
	int r;

	if (s->state != SESSION_TRACING && s->state != SESSION_COPY)
		return -EINVAL;
	session_reset(s);
	r = session_post(s, send_read, NULL);
	if (r < 0)
		return r;
	do {
		r = wait_for_part(s, timeout_ms, &part);
		if (r == 0 && part.len > 0)
			r = fn(ctx, part.data, part.len);
	} while (r == 0 && part.len > 0);
	free(part.data);
	return r == 0 ? 0 : session_give_up(s, r);
}

struct output {
	int fd; /* borrowed */
	int timeout_ms;
};

static int read_write_all(void *ctx, const void *data, size_t len)
{
	const struct output *o = ctx;
	struct pollfd p = {.fd = o->fd, .events = POLLOUT};
	const uint8_t *at = data;

	while (len > 0) {
		ssize_t n = write(o->fd, at, len);

		if (n >= 0) {
			at += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (poll(&p, 1, o->timeout_ms) == 0)
				return -ETIMEDOUT;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

SONDA_PUBLIC int sonda_session_read_fd(struct sonda_session *s, int fd, int timeout_ms)
{
	struct output o = {.fd = fd, .timeout_ms = timeout_ms};

	return sonda_session_read(s, read_write_all, &o, timeout_ms);
}
