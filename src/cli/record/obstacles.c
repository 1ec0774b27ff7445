/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	what the recording lacks            check of sonda doctor
 *	an option of ftrace, an event   ->  options, symbols
 *	all events of ftrace            ->  rights
 *	eBPF counters                   ->  bpf, btf
 *	samples of call stacks          ->  stacks
 *	a file of /proc                 ->  options, files
 *	a data source of the config     ->  journal, files, container
 *	what was refused                ->  selinux, apparmor
 *	memory for rings and buffers    ->  memory
 *
 * The sentence is printed if the check finds something wrong now.
 */

#include "cli/record/obstacles.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/doctor/doctor.h"
#include "cli/report/config_sources.h"
#include "cli/report/summary.h"

struct evidence {
	const struct record_facts *facts;
	const char *lines; /* record_missing() */
};

static bool has_line(const struct evidence *e, const char *part)
{
	return strstr(e->lines, part);
}

static bool lacks_anything(const struct evidence *e)
{
	return *e->lines;
}

static bool lacks_tracefs(const struct evidence *e)
{
	return has_line(e, "no tracefs");
}

static bool lacks_symbols(const struct evidence *e)
{
	return has_line(e, "symbolize_ksyms");
}

static bool lacks_samples(const struct evidence *e)
{
	return has_line(e, "linux.perf: perf_event_open");
}

static bool may_not_use_bpf(const struct evidence *e)
{
	return e->facts->scan->sources.uncounted.n &&
	       (has_line(e, "no permission") || has_line(e, "bpf(2)"));
}

static bool lacks_types(const struct evidence *e)
{
	return e->facts->scan->sources.uncounted.n && has_line(e, "no BTF");
}

static bool is_refused(const struct evidence *e)
{
	return has_line(e, "Permission denied") || has_line(e, "not permitted");
}

static bool is_of_memory(const char *text)
{
	return strstr(text, "Cannot allocate memory") || strstr(text, "out of memory") ||
	       strstr(text, "bytes of buffers");
}

static bool lacks_memory(const struct evidence *e)
{
	return is_of_memory(e->lines) || has_line(e, "buffer_size_kb");
}

static bool asks_for_journal(const struct evidence *e)
{
	return asks_for_source(e->facts->config, "linux.systemd_journald");
}

static bool asks_for_events(const struct evidence *e)
{
	return asks_for_ftrace(e->facts->config);
}

static const struct {
	const char *check;
	bool (*concerns)(const struct evidence *e);
} obstacles[] = {
	{"rights", lacks_tracefs},     {"options", lacks_anything},    {"bpf", may_not_use_bpf},
	{"btf", lacks_types},	       {"symbols", lacks_symbols},     {"files", is_refused},
	{"journal", asks_for_journal}, {"container", asks_for_events}, {"stacks", lacks_samples},
	{"selinux", is_refused},       {"apparmor", is_refused},       {"memory", lacks_memory},
};

void obstacles_print(const struct record_facts *f, bool own_daemons, const char *socket,
		     struct console *console)
{
	struct strbuf lines = {0};
	struct evidence e = {.facts = f};
	struct err_text why;

	record_missing(f, &lines);
	e.lines = lines.s ? lines.s : "";
	for (size_t i = 0; i < ARRAY_SIZE(obstacles); i++)
		if (obstacles[i].concerns(&e) &&
		    doctor_explain(obstacles[i].check, own_daemons, socket, e.lines, &why))
			console_error(console, "%s", why.text);
	strbuf_deinit(&lines);
}

void obstacles_explain_failure(const char *why, bool own_daemons, const char *socket,
			       struct console *console)
{
	struct err_text sentence;

	if (is_of_memory(why) && doctor_explain("memory", own_daemons, socket, NULL, &sentence))
		console_error(console, "%s", sentence.text);
}
