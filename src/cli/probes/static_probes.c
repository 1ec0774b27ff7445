/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/probes/static_probes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/probes/probe_args.h"
#include "cli/probes/probe_lines.h"
#include "cli/probes/usdt_args.h"

#define PLACES_MAX 256 /* as many probes as a session may have */

struct usdt_place {
	char *event; /* owned: "GROUP/NAME" */
	uint64_t offset, semaphore;
	struct usdt_arg args[USDT_ARGS_MAX];
	size_t n_args;
	/* 1: the argument types of the first place of the event; 2 and above: other types. */
	unsigned shape;
};

struct usdt_search {
	const struct probe_text *t;
	uint32_t machine;
	struct probe_arg args[PROBE_ARGS_MAX]; /* that the user named */
	size_t n_args;
	struct usdt_place *places; /* owned */
	size_t n, cap;
	struct err_text *e;
	/* while it looks for a suggestion */
	struct str_nearest nearest;
	char best[STR_NEAREST_SIZE];
	size_t n_tried;
};

/* ---- places ---- */

/* Appends "GROUP/NAME". */
static void put_event_name(const struct probe_text *t, const struct program_item *item,
			   struct strbuf *b)
{
	if (!t->event.p || !memchr(t->event.p, '/', t->event.len)) {
		probe_lines_put_identifier(b, item->texts[0], strlen(item->texts[0]),
					   PROBE_EVENT_NAME_MAX - 8);
		strbuf_putc(b, '/');
	}
	if (t->event.p)
		strbuf_add(b, t->event.p, t->event.len);
	else
		probe_lines_put_identifier(b, item->texts[1], strlen(item->texts[1]),
					   PROBE_EVENT_NAME_MAX - 8);
}

static int add_usdt_place(void *ctx, const struct program_item *item)
{
	struct usdt_search *s = ctx;
	struct strbuf event = {0};
	struct usdt_place *p;

	if (item->has_no_code)
		return 0;
	if (s->n == PLACES_MAX)
		return err_set(s->e, -E2BIG,
			       "too many locations match; a session can have at most %d probes",
			       PLACES_MAX);
	for (size_t i = 0; i < s->n; i++)
		if (s->places[i].offset ==
		    item->offset) /* two probes, or one that is noted twice */
			return 0;
	put_event_name(s->t, item, &event);
	if (event.failed || array_reserve(&s->places, &s->cap, s->n + 1, sizeof(*s->places)) < 0) {
		strbuf_deinit(&event);
		return -ENOMEM;
	}
	p = &s->places[s->n++];
	*p = (struct usdt_place){.event = strbuf_take(&event),
				 .offset = item->offset,
				 .semaphore = item->semaphore,
				 .shape = 1};
	p->n_args = usdt_args_parse(item->texts[2], s->machine, p->args);
	return p->event ? 0 : -ENOMEM;
}

/* ---- types ---- */

static bool is_constant(const struct usdt_arg *a)
{
	return *a->fetch == '\\';
}

/* Gives a constant the sign of a value of the same size at another place of the probe: the compiler
 * chose the constant's sign arbitrarily. */
static void adopt_sign(struct usdt_search *s, const struct usdt_place *p, size_t arg,
		       struct probe_type *type)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct usdt_arg *other = &s->places[i].args[arg];

		if (arg < s->places[i].n_args && !is_constant(other) && other->type.name &&
		    !strcmp(s->places[i].event, p->event) &&
		    !strcmp(other->type.name + 1, type->name + 1)) {
			*type = other->type;
			return;
		}
	}
}

/* Sets the types of the arguments that are recorded, and clears the fetch of those that are not
 * wanted and of those that cannot be read, which are counted in *n_unread. Returns 0, or -EINVAL
 * and sets s->e. */
static int choose_types(struct usdt_search *s, struct usdt_place *p, size_t *n_unread)
{
	for (size_t i = 0; s->t->has_args && i < s->n_args; i++) {
		if (s->args[i].kernel.p)
			return err_set(s->e, -EINVAL,
				       "a static probe defines the locations of its arguments; "
				       "give only types");
		if (i >= p->n_args && s->args[i].type.name)
			return err_set(s->e, -EINVAL, "the probe has %zu argument%s", p->n_args,
				       p->n_args == 1 ? "" : "s");
	}
	for (size_t i = 0; i < p->n_args; i++) {
		struct usdt_arg *a = &p->args[i];
		bool is_wanted = !s->t->has_args || (i < s->n_args && s->args[i].type.name);

		if (is_wanted && s->t->has_args)
			a->type = s->args[i].type;
		else if (is_wanted && a->type.name && is_constant(a))
			adopt_sign(s, p, i, &a->type);
		if (is_wanted && (!a->fetch[0] || (a->type.is_string && is_constant(a)))) {
			a->fetch[0] = '\0';
			++*n_unread;
		}
		if (!is_wanted)
			a->fetch[0] = '\0';
	}
	return 0;
}

static bool has_same_types(const struct usdt_place *a, const struct usdt_place *b)
{
	for (size_t i = 0; i < USDT_ARGS_MAX; i++) {
		bool in_a = i < a->n_args && a->args[i].fetch[0],
		     in_b = i < b->n_args && b->args[i].fetch[0];

		if (in_a != in_b || (in_a && strcmp(a->args[i].type.name, b->args[i].type.name)))
			return false;
	}
	return true;
}

/* Assigns the shape of an earlier place with the same types, else a new one. */
static void assign_shape(const struct usdt_search *s, struct usdt_place *p)
{
	unsigned last = 0;

	for (const struct usdt_place *o = s->places; o < p; o++) {
		if (strcmp(o->event, p->event))
			continue;
		if (has_same_types(o, p)) {
			p->shape = o->shape;
			return;
		}
		last = MAX(last, o->shape);
	}
	p->shape = last + 1;
}

/* ---- lines ---- */

static int add_probe_line(struct user_probes *u, const struct usdt_search *s,
			  const struct usdt_place *p, const char *path)
{
	struct strbuf b = {0};
	char name[32];
	int r;

	strbuf_printf(&b, "p:%s", p->event);
	if (p->shape > 1)
		strbuf_printf(&b, "_%u", p->shape);
	strbuf_printf(&b, " %s:0x%" PRIx64, path, p->offset);
	if (p->semaphore)
		strbuf_printf(&b, "(0x%" PRIx64 ")", p->semaphore);
	for (size_t i = 0; i < p->n_args; i++) {
		if (!p->args[i].fetch[0])
			continue;
		snprintf(name, sizeof(name), "arg%zu", i + 1);
		probe_args_put(&b, s->t->has_args ? s->args[i].name : name, p->args[i].fetch,
			       p->args[i].type);
	}
	r = probe_lines_add(u, &b);
	strbuf_deinit(&b);
	return r;
}

static int add_places(struct user_probes *u, struct usdt_search *s, const char *path)
{
	size_t n_unread = 0;
	int r = 0;

	for (size_t i = 0; i < s->n && !r; i++) {
		r = choose_types(s, &s->places[i], &n_unread);
		if (!r)
			assign_shape(s, &s->places[i]);
		if (!r)
			r = add_probe_line(u, s, &s->places[i], path);
	}
	if (!r && n_unread)
		log_warn("%s: %zu argument%s omitted: the kernel cannot read floating-point "
			 "registers or indexed addresses",
			 s->t->function, n_unread, n_unread == 1 ? " is" : "s are");
	return r;
}

/* ---- probes that do not exist ---- */

static int try_nearest_name(void *ctx, const struct program_item *item)
{
	struct usdt_search *s = ctx;
	char name[STR_NEAREST_SIZE];

	s->n_tried++;
	snprintf(name, sizeof(name), "%s:%s", item->texts[0], item->texts[1]);
	str_make_plain(name, strlen(name), "");
	str_nearest_try_copy(&s->nearest, name, s->best);
	return 0;
}

static int refuse_static(struct usdt_search *s, struct program_reader *reader, const char *path,
			 const char *wanted, struct err_text *e)
{
	const char *nearest;
	int r;

	str_nearest_init(&s->nearest, wanted);
	r = program_reader_list_usdt(reader, "*", try_nearest_name, s, e);
	if (r)
		return r;
	nearest = str_nearest_get(&s->nearest);
	if (!s->n_tried)
		return err_set(e, -ENOENT,
			       "%.160s has no static probes; one of its libraries may have them "
			       "(ldd lists these)",
			       path);
	if (nearest)
		return err_set(e, -ENOENT, "%.160s has no static probe '%.80s'; did you mean %s?",
			       path, wanted, nearest);
	return err_set(e, -ENOENT,
		       "%.160s has no static probe '%.80s'; sonda list usdt PROGRAM lists all %zu",
		       path, wanted, s->n_tried);
}

int static_probes_add(struct user_probes *u, const struct probe_text *t,
		      struct program_reader *reader, const char *path, struct err_text *e)
{
	struct usdt_search s = {.t = t, .machine = reader->machine, .e = e};
	_cleanup_(freep) char *wanted = NULL;
	int r = probe_args_parse(t->args, reader->machine, s.args, &s.n_args, e);

	if (!r && asprintf(&wanted, "%s%s", strchr(t->function, ':') ? "" : "*:", t->function) < 0)
		r = -ENOMEM;
	if (!r)
		r = program_reader_list_usdt(reader, wanted, add_usdt_place, &s, e);
	if (!r)
		r = s.n ? add_places(u, &s, path) : refuse_static(&s, reader, path, wanted, e);
	for (size_t i = 0; i < s.n; i++)
		free(s.places[i].event);
	free(s.places);
	return r;
}
