/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/verb_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/report/config_sources.h"
#include "cli/report/record_facts.h"
#include "cli/report/summary.h"
#include "cli/terminal/console.h"
#include "cli/terminal/verb.h"

/* ---- contents ---- */

#define MAX_ROWS 40 /* of the table */

static void write_machines(const struct contents *c, struct strbuf *out)
{
	for (size_t i = 0; i < c->n_machines; i++) {
		const struct content_machine *m = &c->machines[i];
		/* Without a name of its own a machine has that of its kernel. */
		bool has_name = m->name[0] && strcmp(m->name, m->system) != 0;

		strbuf_puts(out, "  machine  ");
		if (m->id)
			strbuf_printf(out, "%" PRIu32, m->id);
		if (has_name)
			strbuf_printf(out, m->id ? " (%s)" : "%s", m->name);
		if (m->id || has_name)
			strbuf_puts(out, ": ");
		if (m->release[0])
			strbuf_printf(out, "%s %s %s", m->system, m->release, m->arch);
		else
			strbuf_puts(out, "unknown system");
		if (m->cpus)
			strbuf_printf(out, ", %" PRIu64 " CPU%s", m->cpus, m->cpus == 1 ? "" : "s");
		strbuf_putc(out, '\n');
	}
}

static void write_import(const struct content_import *c, struct strbuf *out)
{
	if (!c->format[0])
		return;
	strbuf_printf(out, "  imported from a %s", c->format);
	if (c->recorder[0])
		strbuf_printf(out, " by %s", c->recorder);
	if (c->clock[0])
		strbuf_printf(out, ", clock %s", c->clock);
	strbuf_putc(out, '\n');
	for (size_t i = 0; i < c->n_notes; i++)
		strbuf_printf(out, "           %s\n", c->notes[i]);
}

static void write_config(const Pb__TraceConfig *c, struct strbuf *out)
{
	char size[32];

	if (!c->n_data_sources && !c->n_buffers)
		return;
	strbuf_puts(out, "  config   ");
	if (c->duration_ms)
		strbuf_printf(out, "%.10g s, ", c->duration_ms / 1e3);
	for (size_t i = 0; i < c->n_buffers; i++)
		strbuf_printf(out, "%sbuffer %zu of %s%s", i ? ", " : "", i,
			      str_bytes((uint64_t)c->buffers[i]->size_kb << 10, size),
			      c->buffers[i]->fill_policy ==
					      PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD
				      ? " (DISCARD)"
				      : "");
	if (c->write_into_file)
		strbuf_puts(out, ", written to the file while recording");
	strbuf_puts(out, "\n  sources  ");
	for (size_t i = 0; i < c->n_data_sources; i++) {
		const Pb__DataSourceConfig *source = c->data_sources[i]->config;
		char name[80];

		snprintf(name, sizeof(name), "%s", source && source->name ? source->name : "?");
		str_make_plain(name, strlen(name), "");
		strbuf_printf(out, "%s%s", i ? ", " : "", name);
	}
	strbuf_putc(out, '\n');
}

static void write_buffers(const struct service_stats *s, struct strbuf *out)
{
	char count[STR_COUNT_SIZE];
	char size[32], written[32], lost[32];

	for (size_t i = 0; s && i < s->n_buffers; i++) {
		const struct buffer_stats *b = &s->buffers[i];

		strbuf_printf(out, "  buffer   %zu: %s written, size %s", i,
			      str_bytes(b->bytes_written, written), str_bytes(b->size, size));
		if (b->bytes_overwritten)
			strbuf_printf(out, "; %s were overwritten before they were read",
				      str_bytes(b->bytes_overwritten, lost));
		if (b->chunks_discarded)
			strbuf_printf(out, "; discarded %s",
				      str_count(b->chunks_discarded, "chunk", count));
		strbuf_putc(out, '\n');
	}
}

static void write_table_of_contents(const struct contents *c, struct strbuf *out)
{
	struct content_row *rows;
	size_t n;

	if (contents_list_rows(c, &rows, &n) < 0) {
		out->failed = true;
		return;
	}
	strbuf_printf(out, "\n%-34s %12s %10s %7s\n", "content", "number", "bytes", "share");
	for (size_t i = 0; i < n && i < MAX_ROWS; i++) {
		char count[32], bytes[32];

		strbuf_printf(out, "%-34s %12s %10s %6.1f%%\n", rows[i].name,
			      str_thousands(rows[i].count, count), str_bytes(rows[i].bytes, bytes),
			      c->bytes ? 100.0 * (double)rows[i].bytes / (double)c->bytes : 0.0);
	}
	if (n > MAX_ROWS)
		strbuf_printf(out, "and %zu more, which --json lists\n", n - MAX_ROWS);
	free(rows);
}

/* Appends what a trace consists of, as lines for a person: machines, config, data sources, buffers,
 * and a table of what its bytes are spent on. */
static void trace_contents_write(const struct contents *c, const struct record_facts *f,
				 struct strbuf *out)
{
	write_machines(c, out);
	write_import(&c->imported, out);
	write_config(f->config, out);
	if (!record_is_end_missing(f)) /* otherwise the counters are those of an earlier time */
		write_buffers(record_find_stats(f), out);
	write_table_of_contents(c, out);
}

/* ---- the summary ---- */

void verb_summary_deinit(struct verb_summary *s)
{
	if (s->config)
		pb__trace_config__free_unpacked(s->config, NULL);
	contents_deinit(&s->contents);
	trace_scan_deinit(&s->scan);
	recording_sources_deinit(&s->sources);
	*s = (struct verb_summary){0};
}

/* Returns the config, and unpacks it from the trace if it is not known. A clone has its config in
 * the trace only, or nowhere (disable_trace_config): then the config is empty. */
static const Pb__TraceConfig *verb_summary_read_config(struct verb_summary *s)
{
	static const Pb__TraceConfig none = PB__TRACE_CONFIG__INIT;
	const struct strbuf *c = &s->scan.config;

	if (!s->config && c->len)
		s->config = pb__trace_config__unpack(NULL, c->len, (const uint8_t *)c->s);
	return s->config ? s->config : &none;
}

/* Moves linux.ftrace from the missing sources to the producers that disconnected, because the trace
 * has events of it. */
static void move_ftrace_to_disconnected(struct verb_summary *s)
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

void verb_summary_add_sources(struct verb_summary *s, const Pb__TracingServiceState *state)
{
	config_sources_list_missing(verb_summary_read_config(s), state, &s->sources.missing,
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
		console_print_block(&c, text->s);
	else
		log_error("no memory for the summary");
	return EXIT_GOOD;
}

int verb_summary_print(struct verb_summary *s, const struct verb_summary_form *form)
{
	struct record_facts f = {
		.config = verb_summary_read_config(s),
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
		move_ftrace_to_disconnected(s);
	stats = record_find_stats(&f);
	f.end = s->end.text[0]		      ? s->end.text
		: stats && *stats->end_reason ? stats->end_reason
					      : NULL;
	if (form->json)
		record_summary_write_json(&f, &text, &verdict);
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
