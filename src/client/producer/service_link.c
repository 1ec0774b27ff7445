/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of the service, and requests to it, during a connection:
 *
 *	SetupTracing -----------> arbiter_attach, arbiter_attach_private
 *	Setup, Start, Stop -----> service_sources -> NotifyDataSourceStarted, -Stopped
 *	Flush ------------------> service_sources -> CommitData with flush_request_id
 *	                          writers ---------> CommitData, RegisterTraceWriter, ...
 *
 * No request expects a reply: the channel reports its own loss.
 */
#include "client/producer/service_link.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "client/transport/arbiter.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/* Chunks are collected for this time, so that there are at most 200 commits a second. */
#define COMMIT_MS 5
/* If more bytes than this are queued for the socket, chunks that it would carry stay in the memory.
 * The queued bytes, these chunks and the requests that cannot wait together stay well below
 * CHANNEL_SEND_LIMIT. */
#define CHOKED_BYTES (1u << 20)
_Static_assert(CHOKED_BYTES + 2 * ARBITER_PRIVATE_BYTES < CHANNEL_SEND_LIMIT,
	       "room for all chunks");

/* ---- requests ---- */

struct request {
	uint8_t bytes[64];
	size_t len;
};

static void request_put_varint(struct request *q, uint32_t field, uint64_t value)
{
	uint8_t *p = q->bytes + q->len;

	p = pb_put_varint(pb_put_varint(p, pb_tag(field, PB_WIRE_VARINT)), value);
	q->len = (size_t)(p - q->bytes);
}

static int on_commit(void *ctx, const void *request, size_t len)
{
	struct service_link *l = ctx;

	return channel_send(l->channel, "CommitData", request, len);
}

static bool socket_queue_is_full(void *ctx)
{
	struct service_link *l = ctx;

	return channel_queued(l->channel) > CHOKED_BYTES;
}

static int on_drain(void *ctx, int timeout_ms)
{
	struct service_link *l = ctx;

	return channel_drain(l->channel, timeout_ms);
}

static void on_writer_added(void *ctx, uint16_t writer_id, uint16_t target_buffer)
{
	struct service_link *l = ctx;
	struct request q = {0};

	request_put_varint(&q, PB_REGISTER_TRACE_WRITER_REQUEST_TRACE_WRITER_ID, writer_id);
	request_put_varint(&q, PB_REGISTER_TRACE_WRITER_REQUEST_TARGET_BUFFER, target_buffer);
	channel_send(l->channel, "RegisterTraceWriter", q.bytes, q.len);
}

static void on_writer_removed(void *ctx, uint16_t writer_id)
{
	struct service_link *l = ctx;
	struct request q = {0};

	request_put_varint(&q, PB_UNREGISTER_TRACE_WRITER_REQUEST_TRACE_WRITER_ID, writer_id);
	channel_send(l->channel, "UnregisterTraceWriter", q.bytes, q.len);
}

static void commit_now(struct service_link *l)
{
	if (!l->arbiter)
		return;
	io_timer_disarm(l->loop, &l->commit);
	if (!arbiter_commit_due(l->arbiter))
		io_timer_arm(l->loop, &l->commit, COMMIT_MS);
}

/* Called on the thread of any writer. With one_thread, that is the thread of the loop. */
static void on_schedule(void *ctx, bool urgent)
{
	struct service_link *l = ctx;

	if (urgent && l->one_thread)
		commit_now(l);
	else
		io_post(l->loop, urgent ? &l->must_commit : &l->want_commit);
}

static const struct arbiter_ops arbiter_ops = {
	.schedule = on_schedule,
	.commit = on_commit,
	.is_choked = socket_queue_is_full,
	.drain = on_drain,
	.writer_added = on_writer_added,
	.writer_removed = on_writer_removed,
};

static void on_commit_timer(struct io_timer *t)
{
	commit_now(container_of(t, struct service_link, commit));
}

static void on_commit_required(struct io_task *t)
{
	commit_now(container_of(t, struct service_link, must_commit));
}

static void on_commit_requested(struct io_task *t)
{
	struct service_link *l = container_of(t, struct service_link, want_commit);

	if (!l->arbiter || l->commit.armed)
		return;
	if (l->one_thread)
		commit_now(l);
	else
		io_timer_arm(l->loop, &l->commit, COMMIT_MS);
}

void service_link_report(struct service_link *l, const char *fmt, ...)
{
	char sentence[512];
	va_list args;

	if (!l->on_trouble)
		return;
	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	l->on_trouble(l->ctx, sentence);
}

int service_link_begin(struct service_link *l)
{
	const struct arbiter_options o = {.ops = &arbiter_ops, .ctx = l};

	return arbiter_new(&o, &l->arbiter);
}

void service_link_end(struct service_link *l)
{
	io_timer_disarm(l->loop, &l->commit);
	io_remove_posted(l->loop, &l->want_commit);
	io_remove_posted(l->loop, &l->must_commit);
	arbiter_free(TAKE_PTR(l->arbiter));
	channel_close(TAKE_PTR(l->channel));
	l->emulated = l->has_own_memory = false;
}

void service_link_init(struct service_link *l)
{
	l->want_commit.fn = on_commit_requested;
	l->must_commit.fn = on_commit_required;
	l->commit.fn = on_commit_timer;
}

/* ---- answers of data sources ---- */

void service_link_report_started(struct service_link *l, uint64_t id)
{
	struct request q = {0};

	request_put_varint(&q, PB_NOTIFY_DATA_SOURCE_STARTED_REQUEST_DATA_SOURCE_ID, id);
	channel_send(l->channel, "NotifyDataSourceStarted", q.bytes, q.len);
}

void service_link_report_stopped(struct service_link *l, uint64_t id)
{
	struct request q = {0};

	arbiter_commit(l->arbiter);
	request_put_varint(&q, PB_NOTIFY_DATA_SOURCE_STOPPED_REQUEST_DATA_SOURCE_ID, id);
	channel_send(l->channel, "NotifyDataSourceStopped", q.bytes, q.len);
}

void service_link_report_flushed(struct service_link *l, uint64_t request)
{
	arbiter_ack_flush(l->arbiter, request);
}

int service_link_commit(struct service_link *l, const void *request, size_t len)
{
	return on_commit(l, request, len);
}

/* ---- commands ---- */

/* The fields of all commands. The same number has the same meaning in each, except in
 * SetupTracing. */
struct command {
	uint64_t first; /* field 1 as a number: an instance, or the page size in KiB */
	uint64_t *ids; /* owned: field 1 repeated */
	size_t n_ids, cap_ids;
	uint64_t request; /* field 2 as a number */
	uint64_t flags; /* field 3 */
	const uint8_t *config; /* field 2 as bytes */
	size_t config_len;
};

/* Reads the fields of a command into c. The caller frees c->ids, also after an error. Returns 0,
 * -EBADMSG or -ENOMEM. */
static int read_command(const struct pb_field *message, struct command *c)
{
	struct pb_field f;
	struct pb_dec d;
	uint64_t v;

	*c = (struct command){.config = (const uint8_t *)""};
	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == 1) {
			for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &v);) {
				if (array_reserve(&c->ids, &c->cap_ids, c->n_ids + 1, sizeof(v)))
					return -ENOMEM;
				c->ids[c->n_ids++] = c->first = v;
			}
		} else if (f.id == 2 && f.data) {
			c->config = f.data;
			c->config_len = f.len;
		} else if (f.id == 2) {
			c->request = f.u64;
		} else if (f.id == 3) {
			c->flags = f.u64;
		}
	}
	return pb_dec_ok(&d) ? 0 : -EBADMSG;
}

/* Attaches the memory whose descriptor came with SetupTracing, or private memory. Does nothing if
 * the service uses the memory that the producer passed. Returns 0, or -errno, which was
 * reported. */
static int set_up_tracing(struct service_link *l, uint64_t page_kb)
{
	_cleanup_(closep) int fd = channel_take_fd(l->channel);
	int r;

	if (l->has_own_memory)
		return 0;
	if (page_kb > SMB_MAX_PAGE / 1024)
		r = -EINVAL;
	else if (l->emulated)
		r = arbiter_attach_private(l->arbiter, (uint32_t)page_kb * 1024);
	else
		r = fd < 0 ? -EBADF : arbiter_attach(l->arbiter, fd, (uint32_t)page_kb * 1024);
	if (r == 0 || r == -EALREADY)
		return 0;
	service_link_report(l, "cannot use the service's shared memory: %s", strerror(-r));
	return r;
}

/* Returns 0, or -ENOMEM: the command is lost. */
static int execute_command(struct service_link *l, uint32_t kind, const struct command *c)
{
	const struct service_sources *s = l->sources;

	switch (kind) {
	case PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_DATA_SOURCE:
		return s->setup(l->sources_ctx, c->first, c->config, c->config_len);
	case PB_GET_ASYNC_COMMAND_RESPONSE_START_DATA_SOURCE:
		return s->start(l->sources_ctx, c->first, c->config, c->config_len);
	case PB_GET_ASYNC_COMMAND_RESPONSE_STOP_DATA_SOURCE:
		s->stop(l->sources_ctx, c->first);
		break;
	case PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH:
		s->flush(l->sources_ctx, c->ids, c->n_ids, c->request, c->flags);
		break;
	case PB_GET_ASYNC_COMMAND_RESPONSE_CLEAR_INCREMENTAL_STATE:
		s->clear(l->sources_ctx, c->ids, c->n_ids);
		break;
	default: /* a command of a later version */
		break;
	}
	return 0;
}

int service_link_execute(struct service_link *l, const void *response, size_t len)
{
	struct pb_field message;
	struct command c;
	struct pb_dec d;
	int r;

	/* The response is a oneof, so it has one field. */
	pb_dec_init(&d, response, len);
	if (!pb_dec_next(&d, &message) || !message.data)
		return 0;
	r = read_command(&message, &c);
	if (r == 0 && message.id == PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_TRACING) {
		free(c.ids);
		return set_up_tracing(l, c.first);
	}
	if (r == 0)
		r = execute_command(l, message.id, &c);
	free(c.ids);
	if (r != -ENOMEM)
		return 0; /* malformed commands are ignored */
	/* If it is a stop, its data source would record until the connection ends. */
	service_link_report(l, "a command from the service was lost: %s", strerror(-r));
	return r;
}
