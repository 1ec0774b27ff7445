/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/trace_contents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define MAX_ROWS 40 /* of the table */

static void write_machines(const struct contents *c, struct strbuf *out)
{
	for (size_t i = 0; i < c->n_machines; i++) {
		const struct content_machine *m = &c->machines[i];

		strbuf_puts(out, "  machine  ");
		if (m->id)
			strbuf_printf(out, "%" PRIu32 ": ", m->id);
		if (m->release[0])
			strbuf_printf(out, "%s %s %s", m->system, m->release, m->arch);
		else
			strbuf_puts(out, "of an unknown system");
		if (m->cpus)
			strbuf_printf(out, ", %" PRIu64 " CPU%s", m->cpus, m->cpus == 1 ? "" : "s");
		strbuf_putc(out, '\n');
	}
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
		strbuf_puts(out, ", written while it was recorded");
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
	char size[32], written[32], lost[32];

	for (size_t i = 0; s && i < s->n_buffers; i++) {
		const struct buffer_stats *b = &s->buffers[i];

		strbuf_printf(out, "  buffer   %zu: %s went through %s", i,
			      str_bytes(b->bytes_written, written), str_bytes(b->size, size));
		if (b->bytes_overwritten)
			strbuf_printf(out, "; %s were overwritten before they were read",
				      str_bytes(b->bytes_overwritten, lost));
		if (b->chunks_discarded)
			strbuf_printf(out, "; %" PRIu64 " chunks found it full",
				      b->chunks_discarded);
		strbuf_putc(out, '\n');
	}
}

static void write_table(const struct contents *c, struct strbuf *out)
{
	struct content_row *rows;
	size_t n;

	if (contents_rows(c, &rows, &n) < 0) {
		out->failed = true;
		return;
	}
	strbuf_printf(out, "\n%-34s %12s %10s %7s\n", "what the bytes are", "number", "bytes",
		      "share");
	for (size_t i = 0; i < n && i < MAX_ROWS; i++) {
		char count[32], bytes[32];

		strbuf_printf(out, "%-34s %12s %10s %6.1f%%\n", rows[i].name,
			      str_thousands(rows[i].count, count), str_bytes(rows[i].bytes, bytes),
			      c->bytes ? 100.0 * (double)rows[i].bytes / (double)c->bytes : 0.0);
	}
	if (n > MAX_ROWS)
		strbuf_printf(out, "and %zu more, which --json has\n", n - MAX_ROWS);
	free(rows);
}

void trace_contents_write(const struct contents *c, const struct record_facts *f,
			  struct strbuf *out)
{
	write_machines(c, out);
	write_config(f->config, out);
	if (!record_lacks_end(f)) /* else the counters are those of some moment */
		write_buffers(record_stats(f), out);
	write_table(c, out);
}
