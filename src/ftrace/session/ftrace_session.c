/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the setup. Each step needs the previous ones, and a session that fails half-way
 * must not have recorded anything:
 *
 *	instance, off  ->  clock, ring size  ->  options, CPUs, pid filter
 *	  ->  probes  ->  select events  ->  their filters  ->  tracer  ->  compile  ->  enable
 *	  ->  prepare triggers  ->  open rings  ->  page encoder  ->  the same for the top level
 *
 * Events are enabled after everything that restricts them. Setup and teardown can take long; in a
 * coroutine they run in time slices (base/event_loop/coroutine.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "ftrace/options/event_enable.h"
#include "ftrace/options/instance_options.h"
#include "ftrace/options/pid_filter.h"
#include "ftrace/options/probes.h"
#include "ftrace/options/setup.h"
#include "ftrace/options/subject_filter.h"
#include "ftrace/options/synthetic_events.h"
#include "ftrace/ring/ring_config.h"
#include "ftrace/session/ftrace_session.h"
#include "ftrace/session/metadata_publisher.h"
#include "ftrace/session/session_instance.h"

/* ---- events ---- */

static int set_print_filter(struct ftrace_session *s, const Pb__FtraceConfig *c)
{
	int r = print_filter_new(c, pid_filter_follows_children(c), &s->table.prints);

	if (r == -E2BIG)
		setup_error_set_fatal(&s->errors,
				      "nothing is recorded: print_filter has more than %u rules",
				      PRINT_FILTER_MAX_RULES);
	if (c->print_filter && !event_selection_has(&s->events, "ftrace", "print"))
		setup_error_add(&s->errors, "option:print_filter (ftrace/print is not recorded)");
	return r;
}

/* Reports markers that are recorded for all threads. The kernel writes them to the top level, so it
 * does not filter them; and only the kernel knows the children and the names of running threads. */
static void report_markers_of_all(struct ftrace_session *s, const Pb__FtraceConfig *c)
{
	bool all = pid_filter_follows_children(c) || subject_has_programs(s->setup.subject);
	const char *option = s->setup.subject	  ? "subject_config"
			     : c->n_pids_to_trace ? "pids_to_trace"
						  : "tids_to_trace";
	const char *reason = s->setup.subject || c->n_pids_to_trace ? "it" : "follow_children";

	for (size_t i = 0; all && i < s->events.n; i++) {
		const struct event_name *e = &s->events.events[i];

		if (event_is_marker(e) || event_is_printk(e))
			setup_error_add(&s->errors,
					"option:%s (does not apply to %s/%s: with %s, markers from "
					"all threads are recorded)",
					option, event_name_group(e), event_name_name(e), reason);
	}
}

/* Selects all events that the config requests or implies. */
static int select_events(struct ftrace_session *s, const struct setup *setup)
{
	int r = probes_make(setup, &s->made);

	if (!r)
		r = dynevents_select(&s->made, &s->events);
	if (!r)
		r = event_enable_select(&s->events, setup);
	if (!r)
		r = synthetic_events_make(&s->events, setup, &s->made);
	if (!r)
		r = function_graph_select(&s->events, setup);
	if (!r && setup->config->without_task_events)
		metadata_publisher_drop_events(&s->events);
	return r;
}

/* Moves the events that the kernel writes to the top level only to s->top. If the function graph
 * events stay, sets their tracer in the session's instance. */
static int split_events(struct ftrace_session *s, struct setup *setup)
{
	int r = top_level_move_events(&s->top, &s->events, setup);

	if (r || !setup->config->enable_function_graph)
		return r;
	if (event_selection_has(&s->events, "ftrace", "funcgraph_entry"))
		setup->functions = !function_graph_set(&s->graph, setup);
	if (!setup->functions)
		function_graph_deselect(&s->events);
	return 0;
}

/* Restricts, compiles and enables the events. */
static int enable_selected_events(struct ftrace_session *s, struct setup *setup)
{
	int r = instance_options_restrict_events(&s->events, setup);

	if (!r)
		r = set_print_filter(s, setup->config);
	report_markers_of_all(s, setup->config);
	if (!r)
		r = split_events(s, setup);
	if (!r)
		r = event_enable_compile(&s->events, setup, &s->settings.events, &s->table);
	if (!r)
		r = event_enable_all(&s->events, setup, &s->table);
	if (!r && instance_is_own(setup->instance))
		r = compat_syscalls_new(setup->proc_root, &s->settings.events, &s->table,
					&s->compat);
	if (r)
		return r;
	return event_triggers_prepare(&s->events, setup, &s->triggers);
}

static int set_up_events(struct ftrace_session *s, const struct ds_env *env, struct setup *setup)
{
	int r;

	event_watch_begin(&s->watch, setup->root, env->sys_root);
	r = select_events(s, setup);
	setup->events = &s->events;
	if (!r)
		r = printk_formats_read(&s->table.strings, setup->root);
	return r ? r : enable_selected_events(s, setup);
}

/* ---- setting up and closing a session ---- */

static int listen_to_ring(struct ftrace_session *s, const struct ds_env *env, struct writer *writer)
{
	struct err_text e;
	int r;

	s->ring.runs_last = !s->setup.for_root;
	r = ring_open(&s->ring, env->loop, env->sys_root, &s->instance, &e);
	if (r) {
		setup_error_set_fatal(&s->errors, "%s", e.text);
		return r;
	}
	if (s->settings.on_flush_only) {
		s->ring.period_ms = RING_PERIOD_NEVER;
	} else {
		s->ring.period_ms = s->settings.drain_period_ms;
		ring_config_set_watermark(&s->instance, &s->settings, &s->ring, &s->errors);
	}
	s->listeners[s->n_listeners++] = &s->ring;
	r = page_encoder_new(&s->table, ring_layout(s->ring.ring), writer, &s->encoder);
	if (!r)
		s->encoder->calls = s->compat;
	s->ring.encoder = s->encoder;
	if (!r && s->settings.keep_broken_pages)
		s->encoder->broken_left = BROKEN_PAGES_KEPT;
	if (!r && pid_filter_is_requested(s->setup.config))
		pid_filter_add_listed(&s->instance, &s->encoder->threads.members);
	return r;
}

static int open_top_level(struct ftrace_session *s, const struct ds_env *env,
			  const struct setup *setup, struct writer *writer)
{
	const struct top_level_options options = {
		.setup = setup,
		.settings = &s->settings,
		.env = env,
		.writer = writer,
		.graph = &s->graph,
	};
	int r = top_level_open(&s->top, &options);

	if (!r && top_level_is_open(&s->top))
		s->listeners[s->n_listeners++] = &s->top.ring;
	return r;
}

static int set_up_session(struct ftrace_session *s, const struct ds_env *env, struct setup *setup,
			  struct writer *writer)
{
	int r;

	/* Starts loading the symbols, which takes a while. */
	r = session_symbols_join(&s->symbols, env->loop, env->proc_root, setup->config);
	if (!r)
		r = session_instance_open(setup, &s->settings, &s->instance, &s->buffer_kb);
	if (!r)
		r = subject_filter_resolve(setup, (Pb__FtraceConfig *)setup->config, &s->groups);
	if (r)
		return r;
	setup->groups = &s->groups;
	r = instance_options_set(setup, env->proc_root);
	if (r)
		return r;
	r = set_up_events(s, env, setup);
	session_instance_report_conflicts(setup);
	if (!r)
		r = listen_to_ring(s, env, writer);
	/* Read now: while the session records, the open of the file would delay the loop. */
	s->ring_kb = instance_ring_kb(&s->instance);
	return r ? r : open_top_level(s, env, setup, writer);
}

/* Removes the session from tracefs. The kernel cannot remove the instance while files are open, nor
 * dynamic events while they are enabled. */
static void remove_from_tracefs(struct ftrace_session *s)
{
	char count[STR_COUNT_SIZE];
	bool is_attached = !instance_is_own(&s->instance);
	size_t stay;
	int r;

	s->n_listeners = 0;
	foreign_changes_end(&s->foreign);
	ring_close(&s->ring);
	r = top_level_close(&s->top);
	if (instance_is_made(&s->instance) && !is_attached && !s->instance.stays) {
		synthetic_events_release(s->instance.path);
		event_disable_all(&s->events, &s->instance);
	}
	if (!s->instance.stays)
		ring_size_shrink(&s->instance);
	if (instance_remove(&s->instance)) {
		if (is_attached)
			r = -EBUSY;
		else
			log_warn("linux.ftrace: cannot remove the tracefs instance, because "
				 "another process has one of its files open; sonda-probes "
				 "will remove it the next time it starts");
	}
	ring_share_release(&s->share);
	function_graph_end(&s->graph);
	if (r)
		log_warn("linux.ftrace: cannot restore all tracefs settings, because another "
			 "process is reading the rings; sonda-probes will restore them the next "
			 "time it starts");
	event_selection_deinit(&s->events); /* borrows from the dynamic events */
	stay = dynevents_destroy(&s->made);
	if (stay)
		log_warn("linux.ftrace: cannot remove %s from tracefs: another tracer has enabled "
			 "them; sonda-probes will remove them the next time it starts",
			 str_count(stay, "probe", count));
}

/* Stores a copy of the message in *ret, which is a pointer to a message of that type; the caller
 * frees the copy. Returns 0 or -ENOMEM. */
static int copy_message(const ProtobufCMessage *from, const void *ret)
{
	size_t len = protobuf_c_message_get_packed_size(from);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);
	ProtobufCMessage *copy;

	if (!bytes)
		return -ENOMEM;
	protobuf_c_message_pack(from, bytes);
	copy = protobuf_c_message_unpack(from->descriptor, NULL, len, bytes);
	memcpy((void *)ret, &copy, sizeof(copy));
	return copy ? 0 : -ENOMEM;
}

static int copy_config(struct setup *s, const Pb__DataSourceConfig *config)
{
	const Pb__FtraceConfig none = PB__FTRACE_CONFIG__INIT;
	const Pb__FtraceConfig *c = config->ftrace_config ? config->ftrace_config : &none;
	int r = copy_message(&c->base, &s->config);

	return r || !config->subject_config
		       ? r
		       : copy_message(&config->subject_config->base, &s->subject);
}

int ftrace_session_init(struct ftrace_session *s, const struct ds_env *env, uint64_t session_id,
			uint32_t consumer_uid, const Pb__DataSourceConfig *config)
{
	const struct ftrace_machine machine = {
		.ram_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
		.cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
	};
	int r;

	*s = (struct ftrace_session){
		.setup =
			{
				.root = env->tracefs_root,
				.proc_root = env->proc_root,
				.sys_root = env->sys_root,
				.state_root = env->state_root,
				.session_id = session_id,
				.for_root = consumer_uid == 0,
				.instance = &s->instance,
				.errors = &s->errors,
			},
	};
	r = copy_config(&s->setup, config);
	if (r)
		return r;
	ftrace_settings_read(s->setup.config, &machine, &s->settings, &s->errors);
	s->extra.overwrites = s->settings.on_flush_only;
	if (!s->settings.preserve)
		ring_share_reserve(&s->share, consumer_uid, &machine, &s->settings.buffer_size_kb,
				   &s->errors);
	return 0;
}

void ftrace_session_set_up(struct ftrace_session *s, const struct ds_env *env,
			   struct writer *writer)
{
	int r = set_up_session(s, env, &s->setup, writer);

	if (!r)
		return;
	/* The session continues without recording, and reports why. */
	if (r == -ECANCELED)
		setup_error_set_fatal(&s->errors,
				      "nothing is recorded: the session ended while it was "
				      "being set up");
	setup_error_set_fatal(&s->errors, "cannot set up tracing: %s", strerror(-r));
	remove_from_tracefs(s);
}

void ftrace_session_close(struct ftrace_session *s)
{
	remove_from_tracefs(s);
	s->encoder = page_encoder_free(s->encoder);
	s->compat = compat_syscalls_free(s->compat);
	session_symbols_leave(&s->symbols);
	event_table_deinit(&s->table);
	event_selection_deinit(&s->events);
	event_triggers_deinit(&s->triggers);
	pb__ftrace_config__free_unpacked((Pb__FtraceConfig *)s->setup.config, NULL);
	s->setup.config = NULL;
	pb__subject_config__free_unpacked((Pb__SubjectConfig *)s->setup.subject, NULL);
	s->setup.subject = NULL;
	subject_deinit(&s->groups);
	foreign_changes_deinit(&s->foreign);
	setup_errors_deinit(&s->errors);
}
