/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The config of the recorder's session: what sonda record makes from the same words, but written
 * into parts.
 */
#include "cli/recorder/recorder_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/record/record_config.h"
#include "cli/record/record_options.h"
#include "cli/recorder/recorder_kernel.h"
#include "cli/report/missing_events.h"
#include "cli/terminal/kernel_events.h"
#include "cli/terminal/presets.h"

/* If the recorder is killed, what was recorded since the last write is lost. */
#define WRITE_PERIOD_MS 2500
#define FLUSH_PERIOD_MS 5000

/* Parses the words as sonda record does. argv, which this fills, is borrowed until the deinit of
 * ret. Returns 0, or -errno and sets e. */
static int parse_words(const struct recorder_options *o, char **argv, struct record_options *ret,
		       struct err_text *e)
{
	int n = 0, r;

	argv[n++] = (char *)"recorder";
	if (!o->n_words)
		argv[n++] = (char *)recorder_options_default_word(o);
	for (size_t i = 0; i < o->n_words; i++)
		argv[n++] = o->words[i];
	argv[n] = NULL;
	r = record_options_parse(n, argv, ret, e);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

static int refuse_if_nothing_exists(const Pb__TraceConfig *config,
				    const struct tracefs_events *events, struct err_text *e)
{
	struct strbuf lines = {0};
	int r = 0;

	if (events->n && missing_events_write_if_all_missing(config, events, &lines))
		r = err_set(e, -EINVAL, "%.*s", (int)strcspn(lines.s ? lines.s : "", "\n"),
			    lines.s ? lines.s : "none of the named events exists");
	strbuf_deinit(&lines);
	return r;
}

/* Makes the service write the trace into parts, each of which names all processes. */
static int recorder_config_set_parts(const struct recorder_options *o, Pb__TraceConfig *c)
{
	Pb__TraceConfig__Rotate *rotate = malloc(sizeof(*rotate));

	if (!rotate)
		return -ENOMEM;
	pb__trace_config__rotate__init(rotate);
	c->rotate = rotate;
	rotate->has_max_file_size_bytes = rotate->has_period_ms = rotate->has_keep = true;
	rotate->keep = recorder_options_parts(o);
	rotate->max_file_size_bytes = recorder_options_part_bytes(o);
	rotate->period_ms = o->part_ms;
	record_config_enable_streaming(c, 0);
	c->file_write_period_ms = MIN(WRITE_PERIOD_MS, o->part_ms / 2);
	c->has_flush_period_ms = true;
	c->flush_period_ms = FLUSH_PERIOD_MS;
	free(c->unique_session_name);
	c->unique_session_name = strdup(RECORDER_SESSION_NAME);
	for (size_t i = 0; i < c->n_data_sources; i++) {
		Pb__DataSourceConfig *source = c->data_sources[i]->config;
		Pb__ProcessStatsConfig *p = source ? source->process_stats_config : NULL;

		if (p && p->scan_all_processes_on_start)
			p->has_scan_after_clear = p->scan_after_clear = true;
	}
	return c->unique_session_name ? 0 : -ENOMEM;
}

static int build_from_words(const struct recorder_options *o, const struct record_options *words,
			    Pb__TraceConfig **config, struct err_text *e)
{
	const char *root = tracefs_events_root(tracefs_roots);
	struct presets *presets = presets_new(NULL);
	struct tracefs_events events = {0};
	struct event_requests idle = {0};
	int r;

	if (!presets)
		return err_set(e, -ENOMEM, "out of memory");
	if (root)
		tracefs_events_load(root, &events);
	r = record_config_build(words, events.n ? &events : NULL, presets, e, &idle, config);
	if (r == 0)
		r = refuse_if_nothing_exists(*config, &events, e);
	if (r == 0)
		r = recorder_triggers_put(&o->triggers, *config, e);
	if (r == 0)
		r = recorder_config_set_parts(o, *config);
	if (r == 0 && o->in_kernel)
		r = recorder_kernel_set_config(o, *config, e);
	event_requests_deinit(&idle);
	tracefs_events_deinit(&events);
	presets_free(presets);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

int recorder_config_build(const struct recorder_options *o, Pb__TraceConfig **ret,
			  struct err_text *e)
{
	char **argv = calloc(o->n_words + 3, sizeof(*argv));
	struct record_options words;
	Pb__TraceConfig *config = NULL;
	int r = argv ? parse_words(o, argv, &words, e) : err_set(e, -ENOMEM, "out of memory");

	if (r == 0) {
		r = build_from_words(o, &words, &config, e);
		record_options_deinit(&words);
	}
	free(argv);
	if (r < 0 && config)
		pb__trace_config__free_unpacked(config, NULL);
	if (r == 0)
		*ret = config;
	return r;
}
