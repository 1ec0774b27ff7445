/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of the service, and requests to it, during a connection:
 *
 *	SetupTracing -----------> arbiter_attach, arbiter_attach_private
 *	Setup, Start, Stop -----> sources_* -------> NotifyDataSourceStarted, -Stopped
 *	Flush ------------------> sources_flush ---> CommitData with flush_request_id
 *	                          writers of threads ---> CommitData, RegisterTraceWriter, ...
 */
#include <errno.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "lib/producer/producer_internal.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/* Chunks are collected for this time, so that there are at most 200 commits a second. */
#define COMMIT_MS 5
/* If more bytes are queued for the socket, chunks that it would carry stay in the memory. */
#define CHOKED_BYTES (1u << 20)
#define MAX_IDS 256 /* data sources of one flush or clear */

/* ---- requests ---- */

struct request {
	uint8_t bytes[64];
	size_t len;
};

static void service_commands_put(struct request *q, uint32_t field, uint64_t value)
{
	uint8_t *p = q->bytes + q->len;

	p = pb_put_varint(pb_put_varint(p, pb_tag(field, PB_WIRE_VARINT)), value);
	q->len = (size_t)(p - q->bytes);
}

static struct service_producer *service_commands_producer_of(struct source_host *h)
{
	return container_of(h, struct service_producer, host);
}

static int on_commit(void *ctx, const void *request, size_t len)
{
	struct service_producer *p = ctx;

	return channel_send(p->channel, "CommitData", request, len);
}

static bool service_commands_is_choked(void *ctx)
{
	struct service_producer *p = ctx;

	return channel_queued(p->channel) > CHOKED_BYTES;
}

static int on_drain(void *ctx, int timeout_ms)
{
	struct service_producer *p = ctx;

	return channel_drain(p->channel, timeout_ms);
}

static void on_writer_added(void *ctx, uint16_t writer_id, uint16_t target_buffer)
{
	struct service_producer *p = ctx;
	struct request q = {0};

	service_commands_put(&q, PB_REGISTER_TRACE_WRITER_REQUEST_TRACE_WRITER_ID, writer_id);
	service_commands_put(&q, PB_REGISTER_TRACE_WRITER_REQUEST_TARGET_BUFFER, target_buffer);
	channel_send(p->channel, "RegisterTraceWriter", q.bytes, q.len);
}

static void on_writer_removed(void *ctx, uint16_t writer_id)
{
	struct service_producer *p = ctx;
	struct request q = {0};

	service_commands_put(&q, PB_UNREGISTER_TRACE_WRITER_REQUEST_TRACE_WRITER_ID, writer_id);
	channel_send(p->channel, "UnregisterTraceWriter", q.bytes, q.len);
}

/* Any thread. */
static void on_schedule(void *ctx, bool urgent)
{
	struct service_producer *p = ctx;

	loop_post(urgent ? &p->must_commit : &p->want_commit);
}

const struct arbiter_ops service_arbiter_ops = {
	.schedule = on_schedule,
	.commit = on_commit,
	.is_choked = service_commands_is_choked,
	.drain = on_drain,
	.writer_added = on_writer_added,
	.writer_removed = on_writer_removed,
};

static void service_commit_now(struct service_producer *p)
{
	if (!p->arbiter)
		return;
	loop_disarm(&p->commit);
	if (!arbiter_commit_due(p->arbiter))
		loop_arm(&p->commit, COMMIT_MS);
}

static void on_commit_timer(struct loop_timer *t)
{
	service_commit_now(container_of(t, struct service_producer, commit));
}

static void on_must_commit(struct loop_task *t)
{
	service_commit_now(container_of(t, struct service_producer, must_commit));
}

static void on_want_commit(struct loop_task *t)
{
	struct service_producer *p = container_of(t, struct service_producer, want_commit);

	if (p->arbiter && !p->commit.armed)
		loop_arm(&p->commit, COMMIT_MS);
}

/* ---- answers of data sources ---- */

static void started(struct source_host *h, uint64_t id)
{
	struct request q = {0};

	service_commands_put(&q, PB_NOTIFY_DATA_SOURCE_STARTED_REQUEST_DATA_SOURCE_ID, id);
	channel_send(service_commands_producer_of(h)->channel, "NotifyDataSourceStarted", q.bytes,
		     q.len);
}

static void stopped(struct source_host *h, uint64_t id)
{
	struct service_producer *p = service_commands_producer_of(h);
	struct request q = {0};

	arbiter_commit(p->arbiter);
	service_commands_put(&q, PB_NOTIFY_DATA_SOURCE_STOPPED_REQUEST_DATA_SOURCE_ID, id);
	channel_send(p->channel, "NotifyDataSourceStopped", q.bytes, q.len);
}

static void flushed(struct source_host *h, uint64_t request)
{
	arbiter_ack_flush(service_commands_producer_of(h)->arbiter, request);
}

static int commit_inline(const struct source_host *h, const void *request, size_t len)
{
	return on_commit(container_of(h, struct service_producer, host), request, len);
}

void service_host_init(struct service_producer *p,
		       void (*trouble)(struct source_host *h, const char *sentence))
{
	p->host = (struct source_host){.started = started,
				       .stopped = stopped,
				       .flushed = flushed,
				       .commit = commit_inline,
				       .trouble = trouble};
	p->want_commit.fn = on_want_commit;
	p->must_commit.fn = on_must_commit;
	p->commit.fn = on_commit_timer;
}

/* ---- commands ---- */

/* The fields of all commands. The same number has the same meaning in each, except in
 * SetupTracing. */
struct command {
	uint64_t first; /* field 1 as a number: an instance, or the page size in KiB */
	uint64_t ids[MAX_IDS]; /* field 1 repeated */
	size_t n_ids;
	uint64_t request; /* field 2 as a number */
	uint64_t flags; /* field 3 */
	const uint8_t *config; /* field 2 as bytes */
	size_t config_len;
};

static void add_ids(struct command *c, const struct pb_field *f)
{
	uint64_t v;

	for (struct pb_packed p = pb_packed_of(f); pb_packed_next(&p, &v);) {
		c->first = v;
		if (c->n_ids < MAX_IDS)
			c->ids[c->n_ids++] = v;
	}
}

static bool read_command(const struct pb_field *message, struct command *c)
{
	struct pb_field f;
	struct pb_dec d;

	*c = (struct command){.config = (const uint8_t *)""};
	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == 1) {
			add_ids(c, &f);
		} else if (f.id == 2 && f.data) {
			c->config = f.data;
			c->config_len = f.len;
		} else if (f.id == 2) {
			c->request = f.u64;
		} else if (f.id == 3) {
			c->flags = f.u64;
		}
	}
	return pb_dec_ok(&d);
}

/* Returns 0, or -errno if the memory cannot be used. */
static int set_up_tracing(struct service_producer *p, uint64_t page_kb)
{
	_cleanup_(closep) int fd = channel_take_fd(p->channel);
	int r;

	if (p->has_own_memory)
		return 0;
	if (page_kb > SMB_MAX_PAGE / 1024)
		r = -EINVAL;
	else if (p->emulated)
		r = arbiter_attach_private(p->arbiter, (uint32_t)page_kb * 1024);
	else
		r = fd < 0 ? -EBADF : arbiter_attach(p->arbiter, fd, (uint32_t)page_kb * 1024);
	return r == -EALREADY ? 0 : r;
}

int service_execute(struct service_producer *p, const void *response, size_t len)
{
	struct source_host *h = &p->host;
	struct pb_field message;
	struct command c;
	struct pb_dec d;

	/* The response is a oneof, so it has one field. */
	pb_dec_init(&d, response, len);
	if (!pb_dec_next(&d, &message) || !message.data || !read_command(&message, &c))
		return 0;
	switch (message.id) {
	case PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_TRACING:
		return set_up_tracing(p, c.first);
	case PB_GET_ASYNC_COMMAND_RESPONSE_SETUP_DATA_SOURCE:
		sources_setup(h, c.first, c.config, c.config_len);
		break;
	case PB_GET_ASYNC_COMMAND_RESPONSE_START_DATA_SOURCE:
		sources_start(h, c.first, c.config, c.config_len);
		break;
	case PB_GET_ASYNC_COMMAND_RESPONSE_STOP_DATA_SOURCE:
		sources_stop(h, c.first);
		break;
	case PB_GET_ASYNC_COMMAND_RESPONSE_FLUSH:
		sources_flush(h, c.ids, c.n_ids, c.request, c.flags);
		break;
	case PB_GET_ASYNC_COMMAND_RESPONSE_CLEAR_INCREMENTAL_STATE:
		sources_clear(h, c.ids, c.n_ids);
		break;
	default: /* of a later version */
		break;
	}
	return 0;
}
