// SPDX-License-Identifier: Apache-2.0
#include "cli/report/verb_summary.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/system/log.h"
#include "cli/report/config_sources.h"
#include "cli/report/data_losses.h"
#include "cli/report/summary.h"
#include "cli/report/trace_contents.h"
#include "cli/terminal/console.h"
#include "cli/terminal/verb.h"

void verb_summary_deinit(struct verb_summary *s)
{
	if (s->config)
		pb__trace_config__free_unpacked(s->config, NULL);
	contents_deinit(&s->contents);
	trace_scan_deinit(&s->scan);
	recording_sources_deinit(&s->sources);
	*s = (struct verb_summary){0};
}

/* Returns the config. A clone has its config in the trace only, or nowhere
 * (disable_trace_config). */
static const Pb__TraceConfig *verb_summary_config_of(struct verb_summary *s)
{
	static const Pb__TraceConfig none = PB__TRACE_CONFIG__INIT;
	const struct strbuf *c = &s->scan.config;

	if (!s->config && c->len)
		s->config = pb__trace_config__unpack(NULL, c->len, (const uint8_t *)c->s);
	return s->config ? s->config : &none;
}

/* Moves linux.ftrace, of which the trace has events, from the missing sources to the producers that
 * disconnected. */
static void move_gone(struct verb_summary *s)
{
	static const char name[] = "the producer of linux.ftrace";
	struct name_list *missing = &s->sources.missing;
	size_t kept = 0;

	for (size_t i = 0; i < missing->n; i++) {
		if (strcmp(missing->names[i], "linux.ftrace") != 0) {
			missing->names[kept++] = missing->names[i];
			continue;
		}
		free(missing->names[i]);
		name_list_add(&s->sources.gone, (const uint8_t *)name, strlen(name));
	}
	missing->n = kept;
}

void verb_summary_sources(struct verb_summary *s, const Pb__TracingServiceState *state)
{
	missing_sources(verb_summary_config_of(s), state, &s->sources.missing,
			&s->sources.left_out);
}

/* Returns an exit code. */
static int print_text(const struct verb_summary_form *form, const struct strbuf *text)
{
	struct console c;

	if (form->json || form->to_stdout)
		return verb_print(text);
	console_init(&c, form->quiet);
	if (text->s)
		console_block(&c, text->s);
	else
		log_error("no memory for the summary");
	return EXIT_GOOD;
}

int verb_summary_print(struct verb_summary *s, const struct verb_summary_form *form)
{
	struct record_facts f = {
		.config = verb_summary_config_of(s),
		.scan = &s->scan,
		.contents = s->scan.contents,
		.stats = s->has_stats ? &s->stats : NULL,
		.sources = &s->sources.missing,
		.left_out = &s->sources.left_out,
		.gone = &s->sources.gone,
		.origin_unknown = true,
		.flush_failed = s->flush_failed,
		.file_is_cut = s->file_is_cut,
		.unread = s->unread,
		.goes_on = s->goes_on,
		.output = s->output,
		.first_file = s->first_file,
		.file_bytes = s->file_bytes,
		.elapsed_ms = s->elapsed_ms,
	};
	const struct service_stats *stats;
	struct record_verdict verdict;
	struct strbuf text = {0};
	int code;

	if (s->scan.ftrace.counts.total)
		move_gone(s);
	stats = record_stats(&f);
	f.end = s->end.text[0]		      ? s->end.text
		: stats && *stats->end_reason ? stats->end_reason
					      : NULL;
	if (form->json)
		record_summary_json(&f, &text, &verdict);
	else if (form->to_stdout)
		record_summary_write(&f, &text, &verdict);
	else
		record_summary_with_next_step(&f, &text, &verdict);
	if (f.contents && !form->json)
		trace_contents_write(f.contents, &f, &text);
	code = print_text(form, &text);
	strbuf_deinit(&text);
	if (code != EXIT_GOOD)
		return code;
	return form->strict && (verdict.lost || verdict.missing) ? EXIT_LOSSY : EXIT_GOOD;
}
