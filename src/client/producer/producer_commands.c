/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of the service, and requests to the service, while a connection runs:
 *
 *	SetupTracing -----------> arbiter_attach, arbiter_attach_private
 *	Setup, Start, Stop -----> instance_table_* ----> NotifyDataSourceStarted, -Stopped
 *	Flush ------------------> instance_table_flush -> CommitData with flush_request_id
 *	                          writers -----------> CommitData, RegisterTraceWriter, ...
 *
 * No request expects a reply: the connection reports its own loss.
 */
#include "client/producer/producer_commands.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/unpack.h"
#include "gen/fields.h"
#include "ipc/producer_port.pb-c.h"

/* Backpressure: above this many queued bytes, chunks are held back. Together with the held chunks
 * and with requests that cannot wait, the sum stays well below CONNECTION_SEND_LIMIT. */
#define CHOKED_BYTES (1u << 20)
_Static_assert(CHOKED_BYTES + 2 * ARBITER_PRIVATE_BYTES < CONNECTION_SEND_LIMIT,
	       "room for all chunks");

#define CHOKED_MS 5 /* until commits that wait for the socket are retried */

void producer_report(struct producer *p, const char *fmt, ...)
{
	char sentence[512];
	va_list args;

	if (!p->o.on_error)
		return;
	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	p->o.on_error(p->o.ctx, sentence);
}

/* ---- requests ---- */

static void commit_after(struct producer *p, long ms)
{
	const struct timeval wait = {.tv_usec = ms * 1000};

	if (!evtimer_pending(p->commit, NULL))
		evtimer_add(p->commit, &wait);
}

void producer_on_commit_due(evutil_socket_t fd, short what, void *ctx)
{
	struct producer *p = ctx;

	(void)fd, (void)what;
	if (!arbiter_commit_due(p->arbiter))
		commit_after(p, CHOKED_MS);
}

/* Requests that are not urgent wait for the next iteration of the loop, so that the data of
 * one iteration is one frame. */
static void schedule_commit(void *ctx, bool urgent)
{
	struct producer *p = ctx;

	if (urgent)
		producer_on_commit_due(-1, 0, p);
	else
		commit_after(p, 0);
}

static int send_commit(void *ctx, const void *request, size_t len)
{
	struct producer *p = ctx;

	return connection_call(p->conn, "CommitData", request, len, -1, NULL, NULL);
}

static bool producer_commands_is_choked(void *ctx)
{
	struct producer *p = ctx;

	return connection_queued(p->conn) > CHOKED_BYTES;
}

static int drain(void *ctx, int timeout_ms)
{
	struct producer *p = ctx;

	return connection_drain(p->conn, timeout_ms);
}

static void writer_added(void *ctx, uint16_t writer_id, uint16_t target_buffer)
{
	Pb__RegisterTraceWriterRequest m = PB__REGISTER_TRACE_WRITER_REQUEST__INIT;
	struct producer *p = ctx;

	m.has_trace_writer_id = m.has_target_buffer = true;
	m.trace_writer_id = writer_id;
	m.target_buffer = target_buffer;
	connection_call_msg(p->conn, "RegisterTraceWriter", &m.base, NULL, NULL);
}

static void writer_removed(void *ctx, uint16_t writer_id)
{
	Pb__UnregisterTraceWriterRequest m = PB__UNREGISTER_TRACE_WRITER_REQUEST__INIT;
	struct producer *p = ctx;

	m.has_trace_writer_id = true;
	m.trace_writer_id = writer_id;
	connection_call_msg(p->conn, "UnregisterTraceWriter", &m.base, NULL, NULL);
}

const struct arbiter_ops producer_arbiter_ops = {
	.schedule = schedule_commit,
	.commit = send_commit,
	.is_choked = producer_commands_is_choked,
	.drain = drain,
	.writer_added = writer_added,
	.writer_removed = writer_removed,
};

static void instance_started(void *ctx, uint64_t id)
{
	Pb__NotifyDataSourceStartedRequest m = PB__NOTIFY_DATA_SOURCE_STARTED_REQUEST__INIT;
	struct producer *p = ctx;

	m.has_data_source_id = true;
	m.data_source_id = id;
	connection_call_msg(p->conn, "NotifyDataSourceStarted", &m.base, NULL, NULL);
}

static void instance_stopped(void *ctx, uint64_t id)
{
	Pb__NotifyDataSourceStoppedRequest m = PB__NOTIFY_DATA_SOURCE_STOPPED_REQUEST__INIT;
	struct producer *p = ctx;

	arbiter_commit(p->arbiter);
	m.has_data_source_id = true;
	m.data_source_id = id;
	connection_call_msg(p->conn, "NotifyDataSourceStopped", &m.base, NULL, NULL);
}

static void flush_answered(void *ctx, uint64_t flush_id)
{
	struct producer *p = ctx;

	arbiter_ack_flush(p->arbiter, flush_id);
}

struct reason {
	char text[128];
};

static struct reason producer_commands_reason_of(int error)
{
	struct reason r;

	if (error == -EDQUOT)
		snprintf(r.text, sizeof(r.text),
			 "a user other than root may have %u of them, and all of these users %u",
			 DS_INSTANCES_OF_USER, DS_INSTANCES_OF_OTHERS);
	else if (error == -E2BIG)
		snprintf(r.text, sizeof(r.text), "too many data sources are recording");
	else
		snprintf(r.text, sizeof(r.text), "%s", strerror(-error));
	return r;
}

static void instance_failed(void *ctx, const char *name, int error)
{
	struct producer *p = ctx;

	if (error == -ENOENT)
		producer_report(p, "the service asks for a data source that is not ours: %s", name);
	else
		producer_report(p, "data source %s records nothing: %s", name,
				producer_commands_reason_of(error).text);
}

/* Writes it into the trace, for the consumer, who learns of the refusal by this packet alone: it waits
 * for room. */
static void instance_records_nothing(void *ctx, uint16_t target_buffer, const char *name, int error)
{
	struct producer *p = ctx;
	struct writer *w = writer_new(p->arbiter, target_buffer, WRITER_STALL);
	struct pb_enc *e = w ? writer_begin(w) : NULL;

	if (!e)
		return;
	pb_enc_open(e, PB_TRACE_PACKET_SOURCE_REFUSAL);
	pb_enc_str(e, PB_SOURCE_REFUSAL_NAME, name);
	pb_enc_str(e, PB_SOURCE_REFUSAL_REASON, producer_commands_reason_of(error).text);
	pb_enc_close(e);
	writer_end(w);
	writer_free(w);
}

static void boost_changed(void *ctx, struct priority_boost strongest)
{
	struct producer *p = ctx;

	if (p->o.on_boost)
		p->o.on_boost(p->o.ctx, strongest);
	else if (strongest.policy != PRIORITY_BOOST_NONE)
		producer_report(p, "priority_boost is not supported by %s; recording without it",
				p->o.name);
}

static void capabilities_changed(void *ctx, uint64_t mask)
{
	struct producer *p = ctx;

	if (p->o.on_capabilities)
		p->o.on_capabilities(p->o.ctx, mask);
}

int producer_send_triggers(struct producer *p, const char *const *names, size_t n)
{
	Pb__ActivateTriggersRequest m = PB__ACTIVATE_TRIGGERS_REQUEST__INIT;

	if (!p->connected)
		return -ENOTCONN;
	m.n_trigger_names = n;
	m.trigger_names = (char **)names;
	return connection_call_msg(p->conn, "ActivateTriggers", &m.base, NULL, NULL);
}

static void triggers_fired(void *ctx, const char *const *names, size_t n)
{
	int r = producer_send_triggers(ctx, names, n);

	if (r < 0)
		producer_report(ctx, "the trigger %s%s could not be activated: %s", names[0],
				n > 1 ? ", and others," : "", strerror(-r));
}

static void boost_is_bad(void *ctx, const char *name, const char *why)
{
	producer_report(ctx, "data source %s: priority_boost %s; recording without it", name, why);
}

const struct instance_table_ops producer_ds_ops = {
	.started = instance_started,
	.stopped = instance_stopped,
	.flushed = flush_answered,
	.failed = instance_failed,
	.records_nothing = instance_records_nothing,
	.boosted = boost_changed,
	.capabilities = capabilities_changed,
	.triggered = triggers_fired,
	.bad_boost = boost_is_bad,
};

/* ---- commands of the service ---- */

/* Returns false if the connection cannot be used. */
static bool set_up_tracing(struct producer *p, const Pb__GetAsyncCommandResponse__SetupTracing *m)
{
	_cleanup_(closep) int fd = connection_take_fd(p->conn);
	int r;

	if (m->shared_buffer_page_size_kb > SMB_MAX_PAGE / 1024)
		r = -EINVAL;
	else if (p->emulated)
		r = arbiter_attach_private(p->arbiter, m->shared_buffer_page_size_kb * 1024);
	else if (fd < 0)
		r = -EBADF;
	else
		r = arbiter_attach(p->arbiter, fd, m->shared_buffer_page_size_kb * 1024);
	if (r == 0 || r == -EALREADY)
		return true;
	producer_report(p, "the service's shared memory cannot be used: %s", strerror(-r));
	return false;
}

static bool dispatch(struct producer *p, const Pb__GetAsyncCommandResponse *m)
{
	struct instance_table *s = p->instances;

	switch (m->cmd_case) {
	case PB__GET_ASYNC_COMMAND_RESPONSE__CMD_SETUP_TRACING:
		return set_up_tracing(p, m->setup_tracing);
	case PB__GET_ASYNC_COMMAND_RESPONSE__CMD_SETUP_DATA_SOURCE:
		instance_table_setup(s, m->setup_data_source->new_instance_id,
				     m->setup_data_source->config);
		break;
	case PB__GET_ASYNC_COMMAND_RESPONSE__CMD_START_DATA_SOURCE:
		instance_table_start(s, m->start_data_source->new_instance_id,
				     m->start_data_source->config);
		break;
	case PB__GET_ASYNC_COMMAND_RESPONSE__CMD_STOP_DATA_SOURCE:
		instance_table_stop(s, m->stop_data_source->instance_id);
		break;
	case PB__GET_ASYNC_COMMAND_RESPONSE__CMD_FLUSH:
		instance_table_flush(s, m->flush->data_source_ids, m->flush->n_data_source_ids,
				     m->flush->request_id, m->flush->flags);
		break;
	case PB__GET_ASYNC_COMMAND_RESPONSE__CMD_CLEAR_INCREMENTAL_STATE:
		instance_table_clear(s, m->clear_incremental_state->data_source_ids,
				     m->clear_incremental_state->n_data_source_ids);
		break;
	default: /* a command of a later version: ignored */
		break;
	}
	return true;
}

bool producer_run_command(struct producer *p, const struct connection_reply *reply)
{
	ProtobufCMessage *m;
	bool usable;
	int r;

	if (reply->error == -EPIPE)
		return true; /* on_lost follows */
	if (!reply->has_more) {
		producer_report(p, "the service ended its commands");
		return false;
	}
	r = unpack_untrusted(&pb__get_async_command_response__descriptor, reply->data, reply->len,
			     &m);
	if (r == -ENOMEM) {
		/* If it is a stop, its data source would record until the connection ends. */
		producer_report(p, "a command of the service is lost: %s", strerror(-r));
		return false;
	}
	if (r < 0)
		return true; /* malformed: ignored */
	usable = dispatch(p, (Pb__GetAsyncCommandResponse *)m);
	protobuf_c_message_free_unpacked(m, NULL);
	return usable;
}
