/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs data sources (data_source.h) for one service: service_producer.c has the connection, and
 * instance_table.c the instances. The table exists while there is a connection.
 */
#include "client/producer/producer.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "client/loop/event_base_loop.h"
#include "client/producer/instance_table.h"
#include "client/producer/relay_client.h"
#include "client/producer/service_producer.h"
#include "config/limits.h"
#include "config/unpack.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

/* The service's socket may belong to another user and be closed to others. */
#define CONNECT_CAPABILITIES (1ull << CAP_DAC_OVERRIDE)

struct producer {
	struct producer_options o; /* env has the arbiter of the connection */
	struct io_loop *loop; /* owned; inside o.env.loop */
	struct service_producer *service; /* owned */
	struct service_link *link; /* borrowed; of the connection, as the following */
	struct instance_table *instances; /* owned */
	struct relay_client *relay; /* owned; NULL: the service is on this machine */
};

static void __attribute__((format(printf, 2, 3)))
producer_report(struct producer *p, const char *fmt, ...)
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

/* ---- what the instances report ---- */

static void report_instance_started(void *ctx, uint64_t id)
{
	const struct producer *p = ctx;

	service_link_report_started(p->link, id);
}

static void report_instance_stopped(void *ctx, uint64_t id)
{
	const struct producer *p = ctx;

	service_link_report_stopped(p->link, id);
}

static void flush_answered(void *ctx, uint64_t flush_id)
{
	const struct producer *p = ctx;

	service_link_report_flushed(p->link, flush_id);
}

struct reason {
	char text[128];
};

static struct reason producer_explain_error(int error)
{
	struct reason r;

	if (error == -EDQUOT)
		snprintf(r.text, sizeof(r.text),
			 "too many instances are recording: the limit is %u for each non-root "
			 "user, and %u for all of them together",
			 DS_INSTANCES_OF_USER, DS_INSTANCES_OF_OTHERS);
	else if (error == -E2BIG)
		snprintf(r.text, sizeof(r.text), "too many data sources are recording");
	else
		snprintf(r.text, sizeof(r.text), "%s", strerror(-error));
	return r;
}

static void report_instance_failed(void *ctx, const char *name, int error)
{
	if (error == -ENOENT)
		producer_report(ctx,
				"the service requested a data source that this program does not "
				"provide: %s",
				name);
	else
		producer_report(ctx, "data source %s records nothing: %s", name,
				producer_explain_error(error).text);
}

/* Writes the refusal into the trace. Only this packet reports it to the consumer, so the packet
 * waits for room. */
static void write_instance_records_nothing(void *ctx, uint16_t target_buffer, const char *name,
					   int error)
{
	struct producer *p = ctx;
	struct writer *w = writer_new(p->o.env.arbiter, target_buffer, WRITER_STALL);
	struct pb_enc *e = w ? writer_begin(w) : NULL;

	if (!e)
		return;
	pb_enc_open(e, PB_TRACE_PACKET_SOURCE_REFUSAL);
	pb_enc_str(e, PB_SOURCE_REFUSAL_NAME, name);
	pb_enc_str(e, PB_SOURCE_REFUSAL_REASON, producer_explain_error(error).text);
	pb_enc_close(e);
	writer_end(w);
	writer_free(w);
}

static void handle_boost_change(void *ctx, struct priority_boost strongest)
{
	struct producer *p = ctx;

	if (p->o.on_boost)
		p->o.on_boost(p->o.ctx, strongest);
	else if (strongest.policy != PRIORITY_BOOST_NONE)
		producer_report(p, "priority_boost is not supported by %s; recording without it",
				p->o.name);
}

static void report_bad_boost(void *ctx, const char *name, const char *why)
{
	producer_report(ctx, "data source %s: priority_boost %s; recording without it", name, why);
}

static void handle_capability_change(void *ctx, uint64_t mask)
{
	struct producer *p = ctx;

	if (p->o.on_capabilities)
		p->o.on_capabilities(p->o.ctx, mask);
}

int producer_activate_triggers(struct producer *p, const char *const *names, size_t n)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	for (size_t i = 0; r == 0 && i < n; i++)
		pb_enc_str(&m.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, names[i]);
	if (r < 0 || m.failed)
		return -ENOMEM;
	return service_producer_activate_triggers(p->service, m.buf, pb_mem_len(&m));
}

static void handle_fired_triggers(void *ctx, const char *const *names, size_t n)
{
	int r = producer_activate_triggers(ctx, names, n);

	if (r < 0)
		producer_report(ctx, "the trigger %s%s could not be activated: %s", names[0],
				n > 1 ? ", and others," : "", strerror(-r));
}

static const struct instance_table_ops instance_ops = {
	.started = report_instance_started,
	.stopped = report_instance_stopped,
	.flushed = flush_answered,
	.failed = report_instance_failed,
	.records_nothing = write_instance_records_nothing,
	.boosted = handle_boost_change,
	.capabilities = handle_capability_change,
	.triggered = handle_fired_triggers,
	.bad_boost = report_bad_boost,
};

/* ---- what the service commands ---- */

static int producer_describe(void *ctx, unsigned index, uint32_t *ret_version, void **ret,
			     size_t *ret_len)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	const struct producer *p = ctx;
	const struct data_source *const *s = p->o.sources;

	for (unsigned i = 0; *s && i < index; i++)
		s++;
	if (!*s)
		return -ENOENT;
	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	pb_enc_str(&m.enc, PB_DATA_SOURCE_DESCRIPTOR_NAME, (*s)->name);
	pb_enc_bool(&m.enc, PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_STOP, true);
	pb_enc_bool(&m.enc, PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_START, true);
	if ((*s)->handles_incremental_state_clear)
		pb_enc_bool(&m.enc, PB_DATA_SOURCE_DESCRIPTOR_HANDLES_INCREMENTAL_STATE_CLEAR,
			    true);
	if ((*s)->describe)
		(*s)->describe(&m.enc);
	if (m.failed)
		return -ENOMEM;
	*ret_version = 1;
	*ret_len = pb_mem_len(&m);
	*ret = TAKE_PTR(m.buf);
	return 0;
}

static int producer_begin(void *ctx, struct service_link *link)
{
	struct producer *p = ctx;

	p->link = link;
	p->o.env.arbiter = link->arbiter;
	p->instances = instance_table_new(p->o.sources, &p->o.env, &instance_ops, p);
	return p->instances ? 0 : -ENOMEM;
}

static void producer_end(void *ctx)
{
	struct producer *p = ctx;

	instance_table_free(TAKE_PTR(p->instances));
	relay_client_free(TAKE_PTR(p->relay));
	p->o.env.arbiter = NULL;
}

/* Calls fn with the config of a command, unless it is malformed. Returns 0 or -ENOMEM. */
static int unpack_config_and_call(struct producer *p, uint64_t id, const void *config, size_t len,
				  void (*fn)(struct instance_table *s, uint64_t id,
					     const Pb__DataSourceConfig *config))
{
	ProtobufCMessage *m;
	int r = unpack_untrusted(&pb__data_source_config__descriptor, config, len, &m);

	if (r == -ENOMEM)
		return r;
	if (r == 0) {
		fn(p->instances, id, (const Pb__DataSourceConfig *)m);
		protobuf_c_message_free_unpacked(m, NULL);
	}
	return 0;
}

static int producer_setup(void *ctx, uint64_t id, const void *config, size_t len)
{
	return unpack_config_and_call(ctx, id, config, len, instance_table_setup);
}

static int producer_start(void *ctx, uint64_t id, const void *config, size_t len)
{
	return unpack_config_and_call(ctx, id, config, len, instance_table_start);
}

static void producer_stop(void *ctx, uint64_t id)
{
	const struct producer *p = ctx;

	instance_table_stop(p->instances, id);
}

static void producer_flush(void *ctx, const uint64_t *ids, size_t n, uint64_t request,
			   uint64_t flags)
{
	const struct producer *p = ctx;

	instance_table_flush(p->instances, ids, n, request, flags);
}

static void producer_clear(void *ctx, const uint64_t *ids, size_t n)
{
	const struct producer *p = ctx;

	instance_table_clear(p->instances, ids, n);
}

static const struct service_sources service_sources = {
	.max = SERVICE_SOURCES_MAX,
	.describe = producer_describe,
	.begin = producer_begin,
	.end = producer_end,
	.setup = producer_setup,
	.start = producer_start,
	.stop = producer_stop,
	.flush = producer_flush,
	.clear = producer_clear,
};

/* ---- the connection ---- */

static void producer_on_waiting(void *ctx, const char *address)
{
	struct producer *p = ctx;

	if (p->o.on_waiting)
		p->o.on_waiting(p->o.ctx, address);
}

static void producer_on_connecting(void *ctx, bool begins)
{
	handle_capability_change(ctx, begins ? CONNECT_CAPABILITIES : 0);
}

static void producer_on_accepted(void *ctx, bool knows_consumers, int32_t service_pid)
{
	struct producer *p = ctx;
	/* The loss of the relay connection needs no report, because the producer's own connection
	 * to the service ends, too. */
	static const struct relay_client_ops relay_ops = {.on_lost = NULL};
	const char *address = service_producer_target(p->service);

	p->o.env.knows_consumers = knows_consumers;
	p->o.env.service_pid = service_pid;
	/* Best effort: without the relay client the service takes our time stamps as its own. If a
	 * relay of this machine is between us and the service, the relay does this instead. */
	if (sock_is_remote(address) && !p->relay)
		(void)relay_client_new(p->loop, address, &relay_ops, p, &p->relay);
}

static void producer_on_connected(void *ctx, bool connected)
{
	struct producer *p = ctx;
	void (*fn)(void *) = connected ? p->o.on_connected : p->o.on_disconnected;

	if (fn)
		fn(p->o.ctx);
}

static void producer_on_trouble(void *ctx, const char *sentence)
{
	producer_report(ctx, "%s", sentence);
}

int producer_new(const struct producer_options *options, struct producer **ret)
{
	struct service_producer_options o = {
		.target = {.address = options->socket, .of_program = true},
		.name = options->name,
		.shm_size = options->shm_size ? options->shm_size : PROBES_SMB_BYTES,
		.shm_page_size = options->page_size ? options->page_size : PROBES_SMB_PAGE_BYTES,
		.no_scraping = !options->scraping,
		.one_thread = true,
		.sources = &service_sources,
		.on_waiting = producer_on_waiting,
		.on_connecting = producer_on_connecting,
		.on_accepted = producer_on_accepted,
		.on_connected = producer_on_connected,
		.on_trouble = producer_on_trouble,
	};
	struct producer *p = calloc(1, sizeof(*p));
	int r = -ENOMEM;

	if (!p)
		return r;
	p->o = *options;
	p->loop = event_base_loop_new(options->env.loop);
	o.loop = p->loop;
	o.ctx = o.sources_ctx = p;
	if (p->loop)
		r = service_producer_new(&o, &p->service);
	if (r < 0) {
		producer_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void producer_free(struct producer *p)
{
	if (!p)
		return;
	service_producer_free(p->service);
	event_base_loop_free(p->loop);
	free(p);
}
