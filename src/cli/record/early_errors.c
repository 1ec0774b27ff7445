// SPDX-License-Identifier: Apache-2.0
#include "cli/record/early_errors.h"

#include "base/event_loop/event_free.h"
#include "cli/report/config_sources.h"
#include "cli/report/missing_events.h"
#include "cli/terminal/console.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_readback.h"

#define WAIT_MS 50
#define WAITS 40
#define LOOKS 30 /* a busy machine takes long to begin */
#define LOOK_BYTES (16u << 20) /* sonda-probes writes the statistics before the first events */

void early_warnings_say(const struct recording_sources *s, const struct recording_setup *setup)
{
	struct strbuf lines = {0};

	recording_sources_warn(s, setup->config, setup->events, setup->command, &lines);
	if (lines.s)
		console_say_lines(setup->console, lines.s);
	strbuf_deinit(&lines);
}

static bool has_start(const struct ftrace_scan *f)
{
	for (size_t i = 0; i < f->n_rings; i++)
		if (f->rings[i].has_start)
			return true;
	return false;
}

/* Returns true if the kernel may refuse what the config says of events that exist. */
static bool may_be_refused(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__FtraceConfig *f = requested_ftrace(config->data_sources[i]);

		if (f && (f->n_event_filters || f->n_event_triggers || f->n_kprobe_events ||
			  f->n_uprobe_events || f->enable_function_graph))
			return true;
	}
	return false;
}

/*
 * Returns true if the first statistics of the producer were read, which is the end of the search.
 */
static bool report(const struct recording_setup *setup, const struct trace_scan *scan)
{
	struct ftrace_scan f = scan->ftrace; /* borrows its lists */
	struct strbuf lines = {0};
	bool any;

	if (setup->events) /* unknown names were reported before the start */
		f.unknown = (struct name_list){0};
	any = f.unknown.n || f.failed.n || f.problems.n;
	if (any)
		missing_events(setup->config, &f, NULL, &lines);
	if (lines.s)
		console_say_lines(setup->console, lines.s);
	strbuf_deinit(&lines);
	return any || has_start(&scan->ftrace);
}

void early_errors_report(struct early_errors *e, const struct recording_setup *setup,
			 const struct trace_scan *read)
{
	struct trace_scan begin = {0};

	if (e->done || !asks_for_ftrace(setup->config) ||
	    (setup->events && !may_be_refused(setup->config)))
		return;
	if (setup->passes_file) {
		trace_readback_peek(trace_file_fd(setup->file), LOOK_BYTES, &begin);
		read = &begin;
	}
	/* On a busy machine the first packets arrive late. */
	e->looks += !e->timer && read->packets != 0;
	e->done = report(setup, read) || e->looks >= LOOKS;
	if (setup->from_words)
		e->refused = refused_options(setup->config, &read->ftrace);
	trace_scan_deinit(&begin);
}

static void early_errors_on_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct early_errors *e = ctx;

	(void)fd, (void)what;
	early_errors_report(e, e->setup, e->read);
	if (!e->done && ++e->waits < WAITS)
		return;
	event_freep(&e->timer);
	e->on_end(e->ctx);
}

bool early_errors_await(struct early_errors *e, struct event_base *loop,
			const struct recording_setup *setup, const struct trace_scan *read,
			void (*on_end)(void *ctx), void *ctx)
{
	static const struct timeval period = {0, WAIT_MS * 1000};

	if (e->done || !setup->from_words || !setup->streams || setup->detach ||
	    !may_be_refused(setup->config))
		return false;
	e->setup = setup;
	e->read = read;
	e->on_end = on_end;
	e->ctx = ctx;
	e->timer = event_new(loop, -1, EV_PERSIST, early_errors_on_timer, e);
	return e->timer && event_add(e->timer, &period) == 0;
}

void early_errors_deinit(struct early_errors *e)
{
	event_freep(&e->timer);
}
