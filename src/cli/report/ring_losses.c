/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/ring_losses.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"

#define CPUS_NAMED 8 /* in a line, those with most losses; the others are summed */
#define PROBES_NAMED 4 /* in a line, those with most misses */

static uint64_t ring_bytes(const struct ftrace_scan *s)
{
	return (uint64_t)s->pages_per_cpu * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Returns, in MiB, the next power of two from four times the bytes on, at most 1024. */
static unsigned suggested_buffer_mb(uint64_t bytes)
{
	unsigned mb = 1;

	while (((uint64_t)mb << 20) < bytes * 4 && mb < 1024)
		mb *= 2;
	return mb;
}

void ring_losses_advise(const struct record_facts *f, uint64_t bytes, struct strbuf *b)
{
	unsigned mb = suggested_buffer_mb(bytes);

	if (f->from_words)
		strbuf_printf(b, "try -B %umb or fewer events", mb);
	else if (f->origin_unknown)
		strbuf_printf(b, "try -B %umb (buffer_size_kb: %u) or fewer events", mb, mb * 1024);
	else
		strbuf_printf(b, "try buffer_size_kb: %u in ftrace_config, or fewer events",
			      mb * 1024);
}

static int worst_first(const void *a, const void *b)
{
	const struct cpu_loss *x = a, *y = b;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static void put_cpus(struct cpu_loss *l, size_t n, struct strbuf *b)
{
	char number[32];
	uint64_t rest = 0;
	size_t i;

	qsort(l, n, sizeof(*l), worst_first);
	for (i = 0; i < n && i < CPUS_NAMED; i++)
		strbuf_printf(b, "%scpu%u %s", i ? ", " : "", l[i].cpu,
			      str_thousands(l[i].events, number));
	for (; i < n; i++)
		rest += l[i].events;
	if (rest)
		strbuf_printf(b, ", %zu other CPUs %s", n - CPUS_NAMED,
			      str_thousands(rest, number));
}

static void add_exact_ring_losses(const struct record_facts *f, struct losses *ret)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	_cleanup_(freep) struct cpu_loss *losses = NULL;
	struct loss *loss;
	char number[32];
	uint64_t sum = 0;
	size_t n;

	if (ftrace_scan_losses(s, &losses, &n) || !n)
		return;
	for (size_t i = 0; i < n; i++)
		sum += losses[i].events;
	loss = losses_add(ret, "kernel rings", sum, "events");
	strbuf_printf(&loss->text, "%s events (", str_thousands(sum, number));
	put_cpus(losses, n, &loss->text);
	if (s->pages_per_cpu)
		strbuf_printf(&loss->text, "; ring %s a CPU", str_bytes(ring_bytes(s), number));
	strbuf_putc(&loss->text, ')');
	ring_losses_advise(f, ring_bytes(s), &loss->advice);
}

/* Reports what the rings lost, by their final counters. If the trace lacks these, the bundles tell
 * the least that was lost: earlier counters lack later losses, and include those of earlier files
 * of a rotation. */
static void add_ring_losses(const struct record_facts *f, struct losses *ret)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	uint64_t least = MAX(MAX(s->counted_losses, s->holes.counted), s->bundles_after_loss);
	struct loss *loss;
	char number[32];

	if (ftrace_scan_has_rings(s) && !record_lacks_end(f)) {
		add_exact_ring_losses(f, ret);
		return;
	}
	if (!s->bundles_after_loss)
		return;
	loss = losses_add(ret, "kernel rings", least, "events");
	strbuf_printf(&loss->text, "at least %s events, in %llu places",
		      str_thousands(least, number), (unsigned long long)s->bundles_after_loss);
	ring_losses_advise(f, ring_bytes(s), &loss->advice);
}

/* Appends the reasons for which sub-buffers could not be parsed, with their numbers if known. */
static void put_statuses(const struct ftrace_scan *s, struct strbuf *b)
{
	const char *separator = ": ";
	char number[32];

	for (unsigned i = 0; i <= FTRACE_STATUSES; i++) {
		if (i == FTRACE_STATUS_OK || (!s->statuses[i] && !(s->reported_statuses & 1u << i)))
			continue;
		strbuf_printf(b, "%s%s", separator, ftrace_status_words(i));
		if (s->statuses[i])
			strbuf_printf(b, " (%s)", str_thousands(s->statuses[i], number));
		separator = ", ";
	}
}

static void add_bad_pages(const struct record_facts *f, struct losses *ret)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	struct loss *loss;
	char number[32];

	if (!s->bad_pages && !(s->reported_statuses & ~(1u << FTRACE_STATUS_OK)))
		return;
	loss = losses_add(ret, "kernel rings", s->bad_pages, "pages");
	if (s->bad_pages)
		strbuf_printf(&loss->text, "%s ", str_thousands(s->bad_pages, number));
	strbuf_puts(&loss->text, "sub-buffers that could not be parsed completely");
	put_statuses(s, &loss->text);
}

static int more_misses_first(const void *a, const void *b)
{
	const struct probe_loss *x = a, *y = b;

	if (x->misses != y->misses)
		return x->misses < y->misses ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void put_probes(const struct ftrace_scan *s, struct strbuf *b)
{
	_cleanup_(freep) struct probe_loss *l = malloc((s->n_probes + 1) * sizeof(*l));
	char number[32];

	if (!l || !s->n_probes)
		return;
	memcpy(l, s->probes, s->n_probes * sizeof(*l));
	qsort(l, s->n_probes, sizeof(*l), more_misses_first);
	for (size_t i = 0; i < s->n_probes && i < PROBES_NAMED; i++)
		strbuf_printf(b, "%s%s %s", i ? ", " : " (", l[i].name,
			      str_thousands(l[i].misses, number));
	if (s->n_probes > PROBES_NAMED)
		strbuf_printf(b, ", and %zu other%s", s->n_probes - PROBES_NAMED,
			      s->n_probes == PROBES_NAMED + 1 ? "" : "s");
	strbuf_putc(b, ')');
}

static void add_probe_misses(const struct record_facts *f, struct losses *ret)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	struct loss *loss;
	uint64_t sum = 0;
	char number[32];

	for (size_t i = 0; i < s->n_probes; i++)
		sum += s->probes[i].misses;
	sum = MAX(sum, s->kprobe_misses);
	if (!sum)
		return;
	loss = losses_add(ret, "probes", sum, "hits");
	strbuf_printf(&loss->text, "hit %s times without recording an event",
		      str_thousands(sum, number));
	put_probes(s, &loss->text);
	strbuf_puts(&loss->text, ": the kernel disables probes in some contexts");
}

/* Adds a loss for each change that another process made. The number of events is unknown. */
static void add_foreign_changes(const struct record_facts *f, struct losses *ret)
{
	const struct name_list *l = &f->scan->ftrace.foreign;

	for (size_t i = 0; i < l->n; i++)
		strbuf_printf(&losses_add(ret, "kernel rings", 0, NULL)->text,
			      "another process changed the recording (%s): events are missing",
			      l->names[i]);
}

void ring_losses_collect(const struct record_facts *f, struct losses *ret)
{
	add_ring_losses(f, ret);
	add_bad_pages(f, ret);
	add_probe_misses(f, ret);
	add_foreign_changes(f, ret);
}
