/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands to a producer whose data source a session uses, in this order:
 *
 *	setup_tracing		the shared memory, once a connection
 *	setup_data_source	the config; from now on the producer may write to the buffer
 *	start_data_source	the config again, when the session starts
 *	stop_data_source	when the session ends
 */
#include "service/session/source_instances.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "config/limits.h"
#include "gen/fields.h"
#include "service/ipc/limits.h"
#include "service/producer/producer_port.h"
#include "service/producer/producers.h"
#include "service/session/session_config.h"
#include "service/session/session_state.h"
#include "wire/pb_enc.h"

/* ---- the config for the producer ---- */

/* Packs the data source's config with the fields that the service sets. Returns 0 or -ENOMEM; m is
 * to be freed in both cases. */
static int pack_config(const struct session *s, const struct source_instance *i, struct pb_mem *m)
{
	const struct source_settings set = {
		.target_buffer = i->buffer_id,
		/* A session with triggers has no duration: a trigger ends it. */
		.trace_duration_ms = session_config_trigger_mode(s->config) == TRIGGER_NONE
					     ? s->config->duration_ms
					     : 0,
		.tracing_session_id = s->id,
		.enable_extra_guardrails = s->config->enable_extra_guardrails,
		.stop_timeout_ms = session_stop_timeout_ms(s),
		.prefer_suspend_clock_for_duration = s->config->prefer_suspend_clock_for_duration,
		.sets_consumer_uid = i->producer->reads_consumer_uid,
		.consumer_uid = s->uid,
	};

	if (pb_mem_init(m) < 0)
		return -ENOMEM;
	source_configs_put(&s->source_configs, i->config_index, &set, &m->enc);
	return m->failed ? -ENOMEM : 0;
}

/* ---- one instance ---- */

static void notify_owner_of_change(const struct session *s, const struct source_instance *i)
{
	if (!session_is_detached(s))
		s->owner.ops->instance_changed(s->owner.ctx, i);
}

static void start_instance(struct session *s, struct source_instance *i)
{
	_cleanup_(pb_mem_deinit) struct pb_mem config = {0};

	if (pack_config(s, i, &config) < 0) {
		quota_log(s->account.quota, s->account.user, LOG_LEVEL_ERROR,
			  "out of memory: %s of %s is not started", i->config->config->name,
			  i->producer->name);
		return;
	}
	i->state = i->will_notify_on_start ? INSTANCE_STARTING : INSTANCE_STARTED;
	session_end_departure(s, i);
	producer_port_send_start(i->producer, i->id, config.buf, pb_mem_len(&config));
	notify_owner_of_change(s, i);
}

static void stop_instance(struct session *s, struct source_instance *i, bool at_once,
			  bool send_stop)
{
	i->state = i->will_notify_on_stop && !at_once ? INSTANCE_STOPPING : INSTANCE_STOPPED;
	if (send_stop)
		producer_port_send_stop(i->producer, i->id);
	notify_owner_of_change(s, i);
}

static void free_instance(struct session *s, struct source_instance *i)
{
	TAILQ_REMOVE(&s->instances, i, link);
	TAILQ_REMOVE(&i->producer->instances, i, of_producer);
	s->n_instances--;
	free(i);
}

/* Creates an instance, in no list yet. Returns NULL if memory runs out. */
static struct source_instance *new_instance(struct session *s, size_t config_index,
					    const struct registered_source *source)
{
	const Pb__TraceConfig__DataSource *config = s->config->data_sources[config_index];
	struct source_instance *i = calloc(1, sizeof(*i));
	uint32_t index;

	if (!i)
		return NULL;
	/* The config was checked when the session began. */
	session_config_target_buffer(s->config, config->config, &index, NULL);
	*i = (struct source_instance){
		.session = s,
		.id = ++s->sessions->last_instance_id,
		.state = INSTANCE_CONFIGURED,
		.producer = source->producer,
		.config = config,
		.config_index = config_index,
		.source_serial = source->serial,
		.buffer_id = trace_get_buffer_id(s->trace, index),
		.will_notify_on_start = source->will_notify_on_start,
		.will_notify_on_stop = source->will_notify_on_stop,
		.handles_incremental_state_clear = source->handles_incremental_state_clear,
		.no_flush = source->no_flush,
	};
	return i;
}

/* ---- new instances ---- */

/* The cost, in steps, of examining a registered data source, of examining an instance of its
 * producer, and of sending a config. Every BYTES_PER_STEP bytes of the config cost one step
 * more. */
#define LOOK_STEPS 16u
#define INSTANCE_STEPS 4u
#define CONFIG_STEPS 900u
#define BYTES_PER_STEP 8u

static void subtract_steps(uint64_t *steps, uint64_t n)
{
	*steps -= MIN(*steps, n);
}

/* Reports that data sources were skipped because the steps are used up. */
static void count_and_log_skipped_sources(const struct session *s)
{
	s->account.quota->refused[REFUSED_INSTANCES]++;
	quota_log(s->account.quota, s->account.user, LOG_LEVEL_WARN,
		  "session %llu: matching its data sources with producers takes too long; some are "
		  "skipped",
		  (unsigned long long)s->id);
}

/* Gives the producer its shared memory, the grant of the buffer, and the config. Returns 0 or
 * -errno. */
static int source_instance_send_setup(struct session *s, struct source_instance *i, uint64_t *steps)
{
	int index = trace_find_buffer(s->trace, i->buffer_id), r;
	_cleanup_(pb_mem_deinit) struct pb_mem config = {0};
	struct producer_port *p = i->producer;

	r = producer_memory_ensure(p, s->config, s->uid);
	if (r == 0)
		r = pack_config(s, i, &config);
	subtract_steps(steps,
		       CONFIG_STEPS + s->source_configs.list[i->config_index].len / BYTES_PER_STEP);
	if (r == 0)
		r = producer_buffers_grant(p, i->buffer_id,
					   trace_get_buffer(s->trace, (size_t)index));
	if (r < 0)
		return r;
	producer_port_send_setup_tracing(p);
	producer_port_send_setup_instance(p, i->id, config.buf, pb_mem_len(&config));
	return 0;
}

/* Sets up an instance of the data source, and starts it if the session is started. Subtracts the
 * cost from *steps. Logs a failure. */
static void add_instance(struct session *s, size_t config_index,
			 const struct registered_source *source, uint64_t *steps)
{
	struct source_instance *i;
	int r;

	if (s->n_instances >= MAX_INSTANCES) {
		subtract_steps(steps, CONFIG_STEPS);
		s->account.quota->refused[REFUSED_INSTANCES]++;
		quota_log(s->account.quota, s->account.user, LOG_LEVEL_WARN,
			  "session %llu: %s of %s is skipped: the limit is %u data sources",
			  (unsigned long long)s->id, source->name, source->producer->name,
			  MAX_INSTANCES);
		return;
	}
	i = new_instance(s, config_index, source);
	r = i ? source_instance_send_setup(s, i, steps) : -ENOMEM;
	if (r < 0) {
		quota_log(s->account.quota, s->account.user, LOG_LEVEL_ERROR,
			  "session %llu: cannot set up %s of %s: %s", (unsigned long long)s->id,
			  source->name, source->producer->name, strerror(-r));
		free(i);
		return;
	}
	TAILQ_INSERT_TAIL(&s->instances, i, link);
	TAILQ_INSERT_TAIL(&i->producer->instances, i, of_producer);
	s->n_instances++;
	notify_owner_of_change(s, i);
	if (s->state == SESSION_STARTED)
		start_instance(s, i);
}

/* ---- all of a session ---- */

/* Returns true if the session records this data source. Subtracts the cost from *steps, and logs if
 * only the machine does not match. */
static bool source_instances_match(const struct session *s,
				   const Pb__TraceConfig__DataSource *config,
				   const struct registered_source *source, uint64_t *steps)
{
	const struct producer_port *p = source->producer;
	bool is_remote = p->peer->machine_id != 0;
	const struct source_of of = {
		.producer = p->name,
		.machine = is_remote ? p->peer->machine_name : s->sessions->machine_name,
		.is_remote = is_remote,
	};

	subtract_steps(steps, LOOK_STEPS);
	if (!config->config || !config->config->name || source->left_out ||
	    strcmp(config->config->name, source->name) ||
	    !producers_is_admitted(s->sessions->producers, p->peer))
		return false;
	if (session_config_filter_matches(s->config, config, &of, steps))
		return true;
	if (is_remote && config->n_machine_name_filter == 0 && !s->config->trace_all_machines)
		quota_log(s->account.quota, s->account.user, LOG_LEVEL_WARN,
			  "session %llu: %s of %s is skipped, because it runs on another machine; "
			  "set "
			  "trace_all_machines or machine_name_filter",
			  (unsigned long long)s->id, source->name, p->name);
	return false;
}

void source_instances_offer(struct session *s, const struct registered_source *source)
{
	uint64_t steps = MAX_OFFER_STEPS;

	for (size_t i = 0; i < s->config->n_data_sources && steps > 0; i++)
		if (source_instances_match(s, s->config->data_sources[i], source, &steps))
			add_instance(s, i, source, &steps);
	if (steps == 0)
		count_and_log_skipped_sources(s);
}

static const struct registered_source *first_source_of_name(
	const struct session *s, const Pb__TraceConfig__DataSource *config)
{
	return config->config && config->config->name
		       ? registry_find_first(&s->sessions->producers->registry,
					     config->config->name)
		       : NULL;
}

void source_instances_setup_all(struct session *s)
{
	uint64_t steps = MAX_SETUP_STEPS;
	const struct registered_source *r;

	for (size_t i = 0; i < s->config->n_data_sources; i++)
		for (r = first_source_of_name(s, s->config->data_sources[i]); r && steps > 0;
		     r = TAILQ_NEXT(r, of_name))
			if (source_instances_match(s, s->config->data_sources[i], r, &steps))
				add_instance(s, i, r, &steps);
	if (steps == 0)
		count_and_log_skipped_sources(s);
}

static bool source_has_instance(const struct session *s, const Pb__TraceConfig__DataSource *config,
				const struct registered_source *r, uint64_t *steps)
{
	const struct source_instance *i;

	TAILQ_FOREACH (i, &r->producer->instances, of_producer) {
		subtract_steps(steps, INSTANCE_STEPS);
		if (i->config == config && i->session == s && i->source_serial == r->serial)
			return true;
	}
	return false;
}

void source_instances_setup_new(struct session *s, size_t config_index, uint64_t *steps)
{
	const Pb__TraceConfig__DataSource *config = s->config->data_sources[config_index];
	bool any_left = *steps > 0;
	const struct registered_source *r;

	for (r = first_source_of_name(s, config); r && *steps > 0; r = TAILQ_NEXT(r, of_name))
		if (source_instances_match(s, config, r, steps) &&
		    !source_has_instance(s, config, r, steps))
			add_instance(s, config_index, r, steps);
	if (any_left && *steps == 0)
		count_and_log_skipped_sources(s);
}

void source_instances_start_all(struct session *s)
{
	struct source_instance *i;

	TAILQ_FOREACH (i, &s->instances, link)
		start_instance(s, i);
}

void source_instances_stop_all(struct session *s, bool at_once)
{
	struct source_instance *i;

	TAILQ_FOREACH (i, &s->instances, link)
		if (i->state != INSTANCE_STOPPED)
			stop_instance(s, i, at_once, i->state != INSTANCE_STOPPING);
}

void source_instances_deinit(struct session *s)
{
	struct source_instance *i;

	while ((i = TAILQ_FIRST(&s->instances)))
		free_instance(s, i);
}

bool source_instances_are_all_in(const struct session *s, enum instance_state state)
{
	const struct source_instance *i;

	TAILQ_FOREACH (i, &s->instances, link)
		if (i->state != state)
			return false;
	return true;
}

/* Writes one entry of TracingServiceEvent.DataSources. */
static void put_slow_source(const struct source_instance *i, struct pb_enc *e)
{
	pb_enc_open(e, PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE);
	pb_enc_str(e, PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE_PRODUCER_NAME,
		   i->producer->name);
	pb_enc_str(e, PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE_DATA_SOURCE_NAME,
		   i->config->config->name);
	pb_enc_close(e);
}

void source_instances_record_slow(const struct session *s, enum service_event_kind kind,
				  bool (*is_slow)(const struct source_instance *i, const void *ctx),
				  const void *ctx)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	const struct source_instance *i;
	unsigned n = 0;

	if (pb_mem_init(&m) < 0)
		return;
	TAILQ_FOREACH (i, &s->instances, link)
		if (is_slow(i, ctx) && n++ < MAX_SLOW_SOURCES)
			put_slow_source(i, &m.enc);
	if (n > 0 && !m.failed)
		trace_record_slow_sources(s->trace, kind, m.buf, pb_mem_len(&m));
}

/* Returns how many bytes the instance's buffer has received so far, and sets *ret_size to its size.
 * Both are 0 without a buffer. */
static uint64_t get_bytes_written_to_buffer(const struct source_instance *i, size_t *ret_size)
{
	const struct trace *t = i->session->trace;
	int index = trace_find_buffer(t, i->buffer_id);
	const struct trace_buffer *b = index < 0 ? NULL : trace_get_buffer(t, (size_t)index);

	*ret_size = b ? trace_buffer_size(b) : 0;
	return b ? trace_buffer_stats(b)->bytes_written : 0;
}

static bool is_overwritten_soon(const struct source_instance *i)
{
	size_t size;
	uint64_t written = get_bytes_written_to_buffer(i, &size);

	return size && written - i->cleared_at >= size / 2;
}

/* Sends ClearIncrementalState for the instances that support it and are due (is_due NULL: all). */
static void send_clear_incremental_state(struct session *s,
					 bool (*is_due)(const struct source_instance *i))
{
	_cleanup_(freep) uint64_t *ids = calloc(s->n_instances + 1, sizeof(*ids));
	struct source_instance *i;
	struct producer_port *p;
	size_t size;

	if (!ids)
		return;
	TAILQ_FOREACH (p, &s->sessions->producers->list, link) {
		size_t n = 0;

		TAILQ_FOREACH (i, &p->instances, of_producer) {
			if (i->session != s || !i->handles_incremental_state_clear)
				continue;
			/* A buffer that was replaced begins with 0 again. */
			i->cleared_at = MIN(i->cleared_at, get_bytes_written_to_buffer(i, &size));
			if (is_due && !is_due(i))
				continue;
			i->cleared_at = get_bytes_written_to_buffer(i, &size);
			ids[n++] = i->id;
		}
		if (n > 0)
			producer_port_send_clear_incremental_state(p, ids, n);
	}
}

void source_instances_clear_incremental_state(struct session *s)
{
	send_clear_incremental_state(s, NULL);
}

void source_instances_clear_state_before_overwrite(struct session *s)
{
	send_clear_incremental_state(s, is_overwritten_soon);
}

/* ---- notifications of producers ---- */

/* Returns the instance of this producer with this id, or NULL. */
static struct source_instance *find_instance(const struct producer_port *p, uint64_t id)
{
	struct source_instance *i;

	TAILQ_FOREACH (i, &p->instances, of_producer)
		if (i->id == id)
			return i;
	return NULL;
}

struct session *source_instances_handle_started(const struct producer_port *p, uint64_t id)
{
	struct source_instance *i = find_instance(p, id);

	if (!i || i->session->state != SESSION_STARTED || i->state != INSTANCE_STARTING)
		return NULL;
	i->state = INSTANCE_STARTED;
	notify_owner_of_change(i->session, i);
	return i->session;
}

struct session *source_instances_handle_stopped(const struct producer_port *p, uint64_t id)
{
	struct source_instance *i = find_instance(p, id);

	if (!i || i->state != INSTANCE_STOPPING)
		return NULL;
	i->state = INSTANCE_STOPPED;
	notify_owner_of_change(i->session, i);
	return i->session;
}

bool source_instances_withdraw(struct session *s, const struct producer_port *p, const char *name,
			       bool send_stop)
{
	struct source_instance *i, *next;
	bool any = false;

	for (i = TAILQ_FIRST(&p->instances); i; i = next) {
		next = TAILQ_NEXT(i, of_producer);
		if (i->session != s || (name && strcmp(i->config->config->name, name)))
			continue;
		session_record_departure(s, i);
		if (i->state != INSTANCE_STOPPED)
			stop_instance(s, i, true, send_stop && i->state != INSTANCE_STOPPING);
		free_instance(s, i);
		any = true;
	}
	return any;
}
