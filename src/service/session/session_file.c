/* SPDX-License-Identifier: Apache-2.0 */
/* write_into_file: the callbacks of a file writer to its session. */
#include <errno.h>

#include "config/limits.h"
#include "service/session/session_internal.h"
#include "service/session/source_instances.h"

static void session_file_on_flushed(void *ctx, const struct ipc_call *number, bool success)
{
	struct session *s = ctx;

	(void)success; /* the data of producers that have answered is written in any case */
	if (s->file)
		file_writer_flushed(s->file, (uint32_t)number->request_id);
}

static int flush(void *ctx, uint32_t file_number)
{
	struct flush_request request = {.flags = FLUSH_REASON_PERIODIC | FLUSH_BY_SERVICE,
					.done = session_file_on_flushed,
					.ctx = ctx,
					.call = {.request_id = file_number}};
	struct session *s = ctx;

	if (file_number && s->state != SESSION_STARTED)
		return -EINVAL;
	if (file_number)
		source_instances_clear_incremental_state(s);
	return session_flush(s, &request);
}

static void on_failed(void *ctx, const char *text)
{
	struct session *s = ctx;

	quota_log(s->account.quota, s->account.user, LOG_LEVEL_ERROR, "session %llu ends: %s",
		  (unsigned long long)s->id, text);
	session_set_error(s, text);
}

static void on_stop(void *ctx)
{
	/* No effect after an error: the first reason counts. */
	session_set_end(ctx, "max_file_size_bytes is reached");
	session_disable(ctx, false);
}

static void on_closed(void *ctx)
{
	session_ended(ctx);
}

struct file_owner session_file_owner(struct session *s)
{
	static const struct file_writer_ops ops = {
		.flush = flush, .failed = on_failed, .stop = on_stop, .closed = on_closed};

	return (struct file_owner){.ops = &ops,
				   .ctx = s,
				   .loop = s->sessions->loop,
				   .trace = s->trace,
				   .config = s->config,
				   .account = &s->account,
				   .uid = s->uid,
				   .boost = s->boost};
}

void session_take_file(struct session *s, struct file_writer *file)
{
	struct file_owner owner = session_file_owner(s);

	file_writer_set_owner(file, &owner);
	s->file = file;
}
