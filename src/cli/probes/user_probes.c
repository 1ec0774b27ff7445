/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/probes/user_probes.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"
#include "base/text/span.h"
#include "base/text/str.h"
#include "cli/probes/probe_args.h"
#include "cli/probes/probe_lines.h"
#include "cli/probes/probe_text.h"
#include "cli/probes/program_place.h"
#include "cli/probes/static_probes.h"
#include "symbols/program_reader.h"

#define CANDIDATES_MAX 4 /* functions of one name that a message lists */

static const char *const kind_options[] = {"--uprobe", "--uretprobe", "--uprobe-span", "--usdt"};

/* ---- names of events ---- */

/* Returns true if a line has the event "GROUP/NAME". */
static bool has_event(const struct user_probes *u, const char *event)
{
	size_t len = strlen(event);

	for (size_t i = 0; i < u->n; i++) {
		const char *colon = strchr(u->lines[i], ':');

		if (colon && !strncmp(colon + 1, event, len) && colon[1 + len] == ' ')
			return true;
	}
	return false;
}

/* Appends "_2", "_3" ... to the event's name if a line has this event already. */
static void make_event_name_unique(const struct user_probes *u, struct strbuf *event)
{
	size_t len = event->len;

	for (unsigned n = 2; event->s && has_event(u, event->s) && n < 1000; n++) {
		event->len = len;
		strbuf_printf(event, "_%u", n);
	}
}

/* ---- functions ---- */

struct function_search {
	struct program_item first; /* without texts */
	size_t n; /* functions that have the name */
	size_t n_suggestions;
	struct strbuf names; /* of the functions, or the suggestions: "a, b" */
};

static int add_found_function(void *ctx, const struct program_item *item)
{
	const char *name = item->texts[1][0] ? item->texts[1] : item->texts[0];
	struct function_search *s = ctx;
	bool is_function = item->kind == PROGRAM_FUNCTION;
	size_t n = is_function ? s->n++ : s->n_suggestions++;

	if (is_function && n == 0)
		s->first = *item;
	if (n >= CANDIDATES_MAX)
		return 0;
	strbuf_puts(&s->names, n ? ", " : "");
	strbuf_put_plain(&s->names, name);
	if (is_function)
		strbuf_printf(&s->names, " at 0x%" PRIx64, item->offset);
	return 0;
}

/* Reports that no function has the name, or several have it. Returns -ENOENT or -EINVAL, and sets
 * e. */
static int refuse_function(const struct function_search *s, const struct program_reader *reader,
			   const char *path, const char *name, struct err_text *e)
{
	const char *names = s->names.s ?: "";

	if (s->n > 1)
		return err_set(e, -EINVAL,
			       "%zu functions have this name: %.240s%s; choose one by offset: "
			       "%.120s:0x%" PRIx64,
			       s->n, names, s->n > CANDIDATES_MAX ? ", ..." : "", path,
			       s->first.offset);
	if (s->n_suggestions)
		return err_set(e, -ENOENT, "%.120s has no function '%.80s'; did you mean %.240s?",
			       path, name, names);
	return err_set(e, -ENOENT, "%.160s has no function '%.80s'%s", path, name,
		       reader->is_stripped ? ": it is stripped, and its debug file is not installed"
					   : "; see sonda list functions PROGRAM:");
}

/* Selects an overload by its argument types, for example "ns::over(char)", among functions of the
 * same name. Leaves s unchanged unless exactly one matches. Returns 0, -ENOMEM, or -errno and sets
 * e. */
static int find_function_by_types(struct program_reader *reader, const struct probe_text *t,
				  struct function_search *s, struct err_text *e)
{
	struct function_search one = {.n = 0};
	_cleanup_(freep) char *whole = NULL;
	int r;

	if (asprintf(&whole, "%s(%.*s)", t->function, (int)t->args.len, t->args.p) < 0)
		return -ENOMEM;
	r = program_reader_find_function(reader, whole, add_found_function, &one, e);
	if (r == 0 && one.n == 1)
		s->n = 1, s->first = one.first;
	strbuf_deinit(&one.names);
	return r;
}

/* Finds the offset of the function in the file. Returns 0, -ENOMEM, or -errno and sets e. */
static int find_function_offset(struct program_reader *reader, const char *path,
				const struct probe_text *t, uint64_t *ret, struct err_text *e)
{
	struct function_search s = {.n = 0};
	const char *name = t->function;
	int r = program_reader_find_function(reader, name, add_found_function, &s, e);

	if (r == 0 && s.n > 1 && t->has_args)
		r = find_function_by_types(reader, t, &s, e);
	if (r == 0 && s.first.is_chosen_at_load)
		r = err_set(e, -EINVAL,
			    "'%.80s' is an IFUNC, resolved when a program starts; probe an "
			    "implementation: sonda list functions 'PROGRAM:*%.80s*'",
			    name, name);
	else if (r == 0 && s.n != 1)
		r = refuse_function(&s, reader, path, name, e);
	else if (r == 0 && s.first.has_no_code)
		r = err_set(e, -EINVAL, "'%.80s' is not in an executable part of %.160s", name,
			    path);
	else if (r == 0)
		*ret = s.first.offset;
	strbuf_deinit(&s.names);
	return r;
}

/* ---- probes of functions ---- */

/* Appends a probe's group and name. path: the program's; NULL if the function is in the kernel. */
static void put_event(const struct user_probes *u, enum user_probe_kind kind,
		      const struct probe_text *t, const char *path, struct strbuf *b)
{
	const char *base = path ? strrchr(path, '/') + 1 : NULL;
	struct strbuf event = {0};

	if (!t->event.p || !memchr(t->event.p, '/', t->event.len)) {
		strbuf_puts(&event, base ? "probe_" : "kprobes");
		if (base)
			probe_lines_put_identifier(&event, base, strcspn(base, "."),
						   PROBE_EVENT_NAME_MAX - 8);
		strbuf_putc(&event, '/');
	}
	if (t->event.p) {
		strbuf_add(&event, t->event.p, t->event.len);
	} else {
		probe_lines_put_identifier(&event, t->function, strlen(t->function),
					   PROBE_EVENT_NAME_MAX - 16);
		strbuf_puts(&event, kind == USER_PROBE_RETURN ? "__return" : "");
		make_event_name_unique(u, &event);
	}
	strbuf_printf(b, "%c:%s ", "prs"[kind], event.s ?: "");
	b->failed |= event.failed;
	strbuf_deinit(&event);
}

/* Appends the arguments of the call, or of the return, and for a span also the result. */
static int put_args(enum user_probe_kind kind, const struct probe_text *t, uint32_t machine,
		    struct strbuf *b, struct err_text *e)
{
	struct probe_arg args[PROBE_ARGS_MAX];
	size_t n;
	int r = probe_args_parse(t->args, machine, args, &n, e);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		if (!args[i].kernel.p && t->offset)
			return err_set(e, -EINVAL,
				       "arguments have known locations only at the start of a "
				       "function; name the registers: 'fd=%%di:s32'");
	r = kind == USER_PROBE_RETURN ? probe_args_put_result(b, args, n, e)
				      : probe_args_put_call(b, args, n, machine, e);
	if (r || !t->result.len)
		return r;
	r = probe_args_parse(t->result, machine, args, &n, e);
	strbuf_puts(b, " ->");
	return r ? r : probe_args_put_result(b, args, n, e);
}

static int add_function(struct user_probes *u, enum user_probe_kind kind,
			const struct probe_text *t, struct program_reader *reader, const char *path,
			struct err_text *e)
{
	struct strbuf b = {0};
	uint64_t offset = 0;
	const char *end = t->function;
	int r = 0;

	if (isdigit((unsigned char)t->function[0])) {
		(void)str_read_u64(&end, 0, &offset);
		if (*end)
			r = err_set(e, -EINVAL, "'%.80s' is neither a number nor a function",
				    t->function);
	} else {
		r = find_function_offset(reader, path, t, &offset, e);
	}
	if (r)
		return r;
	put_event(u, kind, t, path, &b);
	strbuf_printf(&b, "%s:0x%" PRIx64, path, offset + t->offset);
	r = put_args(kind, t, reader->machine, &b, e);
	if (!r)
		r = probe_lines_add(u, &b);
	strbuf_deinit(&b);
	return r;
}

/* ---- texts ---- */

static int add_named_probe(struct user_probes *u, enum user_probe_kind kind, const char *text,
			   struct err_text *e)
{
	struct program_reader reader = {.is_stripped = false};
	char path[PATH_MAX];
	struct probe_text t;
	int r = probe_text_parse(text, &kind, &t, e);

	if (!r)
		r = program_place_find(t.program, path, e);
	if (!r)
		r = program_reader_start(path, &reader, e);
	if (!r)
		r = kind == USER_PROBE_STATIC ? static_probes_add(u, &t, &reader, path, e)
					      : add_function(u, kind, &t, &reader, path, e);
	program_reader_stop(&reader);
	return r;
}

int user_probes_add_kernel(struct user_probes *u, enum user_probe_kind kind, const char *text,
			   struct err_text *e)
{
	struct err_text why = {""};
	struct strbuf b = {0};
	struct probe_text t;
	int r = probe_text_parse_kernel(text, &kind, &t, &why);

	if (!r) {
		put_event(u, kind, &t, NULL, &b);
		strbuf_puts(&b, t.function);
		r = put_args(kind, &t, PROBE_MACHINE_KERNEL, &b, &why);
	}
	if (!r)
		r = probe_lines_add(u, &b);
	strbuf_deinit(&b);
	return r && r != -ENOMEM ? err_set(e, r, "%.200s: %s", text, why.text) : r;
}

/* Adds a probe in the form "p:NAME FILE:FUNCTION[+OFFSET] ARGS", with the offset in place of the
 * function. */
static int add_line(struct user_probes *u, const char *text, struct err_text *e)
{
	size_t len;
	const char *at = probe_lines_find_place(text, &len);
	_cleanup_(freep) char *place = strndup(at, len);
	struct user_probes found = {0};
	struct strbuf b = {0};
	int r = place ? 0 : -ENOMEM;

	if (!r && !len)
		r = err_set(e, -EINVAL, "expected 'p:NAME FILE:OFFSET', or PROGRAM:FUNCTION");
	if (!r && probe_lines_names_function(text)) {
		r = add_named_probe(&found, USER_PROBE_CALL, place, e);
		if (!r)
			strbuf_printf(&b, "%.*s%s%s", (int)(at - text), text,
				      strchr(found.lines[0], ' ') + 1, at + len);
	} else {
		strbuf_puts(&b, text);
	}
	if (!r)
		r = probe_lines_add(u, &b);
	strbuf_deinit(&b);
	user_probes_deinit(&found);
	return r;
}

int user_probes_add(struct user_probes *u, enum user_probe_kind kind, const char *text,
		    struct err_text *e)
{
	struct err_text why = {""};
	int r = kind == USER_PROBE_CALL && probe_lines_is_line(text)
			? add_line(u, text, &why)
			: add_named_probe(u, kind, text, &why);

	return r && r != -ENOMEM
		       ? err_set(e, -EINVAL, "%s %.200s: %s", kind_options[kind], text, why.text)
		       : r;
}
