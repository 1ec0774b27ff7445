/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/events/ftrace_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "config/limits.h"

#define LINE_MAX_BYTES 512 /* longer texts are cut */

void setup_errors_deinit(struct setup_errors *r)
{
	tracefs_list_free(r->unknown);
	tracefs_list_free(r->failed);
	free(r->fatal);
	free(r->notice);
	*r = (struct setup_errors){0};
}

static void ftrace_config_add(char ***list, uint64_t *more, const char *line)
{
	char **longer =
		tracefs_list_size(*list) < SETUP_ERRORS_MAX ? tracefs_list_add(*list, line) : NULL;

	if (longer)
		*list = longer;
	else
		++*more;
}

void setup_error_add_unknown_event(struct setup_errors *r, const char *event)
{
	ftrace_config_add(&r->unknown, &r->unknown_more, event);
}

void setup_error_add(struct setup_errors *r, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	ftrace_config_add(&r->failed, &r->failed_more, line);
}

void setup_error_add_once(struct setup_errors *r, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (char **at = r->failed; at && *at; at++)
		if (!strcmp(*at, line))
			return;
	ftrace_config_add(&r->failed, &r->failed_more, line);
}

void setup_error_add_unlisted(struct setup_errors *r, uint64_t n)
{
	r->failed_more += n;
}

void setup_error_set_fatal(struct setup_errors *r, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	if (r->fatal)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	r->fatal = strdup(line);
}

void setup_error_set_notice(struct setup_errors *r, const char *text)
{
	if (!r->notice)
		r->notice = strdup(text);
}

/*
 * The setup steps read the fields of FtraceConfig that ftrace_settings_read() does not use.
 * initialize_ksyms_synchronously_for_testing is ignored: it does not change what is recorded.
 */

#define LEAST_RING_KB 1024u
#define USUAL_RING_KB 8192u /* about 200,000 events */
#define FREQUENT_RING_KB 16384u

/* Returns true if an event of the request can occur a million times per second on each CPU. */
static bool is_frequent_group(const char *event)
{
	static const char *const groups[] = {"exceptions", "irq_vectors", "kmem",    "lock",
					     "page_pool",  "preemptirq",  "rcu",     "raw_syscalls",
					     "sys_enter",  "sys_exit",	  "syscalls"};
	char group[32];
	size_t len = strcspn(event, "/:");

	/* A name without a group may be a group: "kmem". */
	if (len >= sizeof(group))
		return false;
	memcpy(group, event, len);
	group[len] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (str_glob(group, groups[i]))
			return true;
	return false;
}

static bool is_frequent(const Pb__FtraceConfig *c)
{
	bool frequent = c->enable_function_graph;

	for (size_t i = 0; i < c->n_ftrace_events && !frequent; i++)
		frequent = is_frequent_group(c->ftrace_events[i]);
	return frequent;
}

/* Returns the size of a ring if the config sets none: USUAL_RING_KB or, for frequent events,
 * FREQUENT_RING_KB. It is halved, to no less than LEAST_RING_KB, until all rings fit into their
 * part of the memory. A ring must hold the records until sonda-probes gets a CPU. */
static uint32_t default_ring_kb(const Pb__FtraceConfig *c, const struct ftrace_machine *m)
{
	uint64_t most = m->ram_bytes / 1024 / RINGS_PRESET_RAM_SHARE / MAX(m->cpus, 1u);
	uint32_t kb = is_frequent(c) ? FREQUENT_RING_KB : USUAL_RING_KB;

	while (kb > most && kb > LEAST_RING_KB)
		kb /= 2;
	return kb;
}

static uint32_t buffer_size_kb(const Pb__FtraceConfig *c, const struct ftrace_machine *m)
{
	uint32_t preset = default_ring_kb(c, m);

	if (!c->buffer_size_kb)
		return preset;
	return c->buffer_size_lower_bound ? MAX(c->buffer_size_kb, preset) : c->buffer_size_kb;
}

void ftrace_settings_read(const Pb__FtraceConfig *config, const struct ftrace_machine *machine,
			  struct ftrace_settings *ret, struct setup_errors *errors)
{
	const Pb__FtraceConfig none = PB__FTRACE_CONFIG__INIT;
	const Pb__FtraceConfig *c = config ? config : &none;
	bool period_is_set = c->drain_period_ms >= MIN_DRAIN_PERIOD_MS &&
			     c->drain_period_ms <= LIMIT_DRAIN_PERIOD_MS;

	*ret = (struct ftrace_settings){
		.drain_period_ms = period_is_set ? c->drain_period_ms : DEFAULT_DRAIN_PERIOD_MS,
		.period_is_set = period_is_set,
		.buffer_size_kb = buffer_size_kb(c, machine),
		.subbuf_size_kb = c->subbuf_size_kb,
		.watermark = c->drain_buffer_percent,
		.mono_raw_clock = c->use_monotonic_raw_clock,
		.keep_broken_pages = c->debug_ftrace_abi,
		.preserve = c->preserve_ftrace_buffer,
		.on_flush_only = c->read_on_flush_only,
		.events =
			{
				.compact = !c->compact_sched || c->compact_sched->enabled
						   ? COMPACT_ALL
						   : COMPACT_NONE,
				.no_generic = c->disable_generic_events,
				.legacy_generic = c->has_denser_generic_event_encoding &&
						  !c->denser_generic_event_encoding,
				.symbols = c->symbolize_ksyms,
			},
	};
	if (c->drain_period_ms && !period_is_set)
		setup_error_add(errors,
				"option:drain_period_ms (%u is ignored: the range is %u to %u)",
				c->drain_period_ms, MIN_DRAIN_PERIOD_MS, LIMIT_DRAIN_PERIOD_MS);
	/* Report the fields that a newer client has set. */
	for (unsigned i = 0; i < c->base.n_unknown_fields; i++)
		setup_error_add(errors, "option:field %u (unknown to this version)",
				c->base.unknown_fields[i].tag);
}
