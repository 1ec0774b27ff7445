/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_packet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "gen/fields.h"

int extra_counters_init(struct extra_counters *x, const char *source, struct writer *w)
{
	*x = (struct extra_counters){0};
	return tracks_new(source, w, &x->tracks);
}

static void extra_counters_deinit(struct extra_counters *x)
{
	for (size_t i = 0; i < x->n; i++)
		free(x->all[i].name);
	free(x->all);
	free(x->fresh);
	tracks_free(x->tracks);
	*x = (struct extra_counters){0};
}

uint32_t extra_counters_add_group(struct extra_counters *x, const char *name)
{
	return extra_counters_add_subgroup(x, TRACK_ROOT, name, NULL);
}

uint32_t extra_counters_add_subgroup(struct extra_counters *x, uint32_t group, const char *name,
				     const char *description)
{
	const struct track_spec spec = {
		.kind = TRACK_GROUP, .parent = group, .name = name, .description = description};

	return x->tracks ? tracks_add(x->tracks, &spec) : TRACK_VOID;
}

uint32_t extra_counters_add_cpu(struct extra_counters *x, uint32_t group, uint32_t cpu)
{
	return x->tracks ? tracks_add_cpu(x->tracks, group, cpu) : TRACK_VOID;
}

/* Returns the index of a counter, or EXTRA_COUNTER_NONE. It may be slow: it is called only when the
 * lines of a file are new. */
static uint32_t extra_counters_find(const struct extra_counters *x, uint32_t group,
				    struct span name)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->all[i].group == group && span_is(name, x->all[i].name))
			return (uint32_t)i;
	return EXTRA_COUNTER_NONE;
}

static bool extra_counters_reserve(struct extra_counters *x)
{
	return x->n < EXTRA_COUNTERS_MAX &&
	       array_reserve(&x->all, &x->cap, x->n + 1, sizeof(*x->all)) == 0 &&
	       array_reserve(&x->fresh, &x->fresh_cap, x->n + 1, sizeof(*x->fresh)) == 0;
}

/* Adds a counter whose name is new in its group. Returns its index, or EXTRA_COUNTER_NONE. */
static uint32_t extra_counters_add(struct extra_counters *x, uint32_t group, struct span name,
				   const struct track_spec *kind)
{
	struct extra_counter extra = {.group = group};
	struct track_spec spec = *kind;

	if (!x->tracks || !extra_counters_reserve(x) || !(extra.name = strndup(name.p, name.len)))
		return EXTRA_COUNTER_NONE;
	spec.kind = TRACK_COUNTER;
	spec.parent = group;
	spec.name = extra.name;
	extra.track = tracks_add(x->tracks, &spec);
	x->all[x->n] = extra;
	return (uint32_t)x->n++;
}

uint32_t extra_counters_find_or_add(struct extra_counters *x, uint32_t group, struct span name,
				    const struct track_spec *kind)
{
	uint32_t at = extra_counters_find(x, group, name);

	return at != EXTRA_COUNTER_NONE ? at : extra_counters_add(x, group, name, kind);
}

/* Notes that the counter is set, and returns it; NULL if there is no such counter. */
static struct extra_counter *extra_counters_mark_as_set(struct extra_counters *x, uint32_t counter)
{
	if (counter >= x->n || x->n_fresh == x->n)
		return NULL;
	x->fresh[x->n_fresh++] = counter;
	return &x->all[counter];
}

void extra_counters_set(struct extra_counters *x, uint32_t counter, int64_t value)
{
	struct extra_counter *extra = extra_counters_mark_as_set(x, counter);

	if (!extra)
		return;
	extra->value = value;
	extra->is_double = false;
}

void extra_counters_set_double(struct extra_counters *x, uint32_t counter, double value)
{
	struct extra_counter *extra = extra_counters_mark_as_set(x, counter);

	if (!extra)
		return;
	extra->fraction = value;
	extra->is_double = true;
}

bool extra_counters_set_in_slot(struct extra_counters *x, uint32_t *slot, uint32_t group,
				struct span name, const struct track_spec *kind, int64_t value)
{
	/* The slot is the index of the counter plus one; EXTRA_COUNTER_NONE becomes 0. */
	if (!*slot)
		*slot = extra_counters_add(x, group, name, kind) + 1;
	if (!*slot)
		return false;
	extra_counters_set(x, *slot - 1, value);
	return true;
}

/* Writes the values that were set, with that timestamp. No packet may be open. */
static void extra_counters_write(struct extra_counters *x, uint64_t boot_ns)
{
	if (x->n_fresh == 0)
		return;
	tracks_begin(x->tracks, boot_ns);
	for (size_t i = 0; i < x->n_fresh; i++) {
		const struct extra_counter *extra = &x->all[x->fresh[i]];

		if (extra->is_double)
			tracks_set_double(x->tracks, extra->track, extra->fraction);
		else
			tracks_set(x->tracks, extra->track, extra->value);
	}
	tracks_end(x->tracks);
	x->n_fresh = 0;
}

struct sys_listing {
	struct sys_names *names;
	const char *prefix;
	size_t cap;
	bool digits;
};

/* Returns the number after the prefix, or UINT32_MAX if there is none. */
static uint32_t sys_names_parse_number(const char *name, const char *prefix)
{
	uint32_t v;

	if (!str_starts(name, prefix) || str_to_u32(name + strlen(prefix), &v) < 0)
		return UINT32_MAX;
	return v;
}

static int sys_names_add(void *ctx, const char *name, unsigned char d_type)
{
	struct sys_listing *l = ctx;
	struct sys_names *s = l->names;

	if (!str_starts(name, l->prefix) || s->n == SYS_NAMES_MAX ||
	    (l->digits && sys_names_parse_number(name, l->prefix) == UINT32_MAX))
		return 0;
	if (array_reserve(&s->names, &l->cap, s->n + 1, sizeof(*s->names)) < 0 ||
	    !(s->names[s->n] = strdup(name)))
		return -ENOMEM;
	s->n++;
	return 0;
}

static int sys_names_compare(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int sys_names_read(struct sys_names *s, const char *dir, const char *prefix, bool digits)
{
	struct sys_listing l = {.names = s, .prefix = prefix, .digits = digits};
	int r;

	*s = (struct sys_names){0};
	r = fs_each(dir, sys_names_add, &l);
	if (r < 0)
		sys_names_deinit(s);
	else if (s->n > 0)
		qsort(s->names, s->n, sizeof(*s->names), sys_names_compare);
	return r;
}

void sys_names_deinit(struct sys_names *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->names[i]);
	free(s->names);
	*s = (struct sys_names){0};
}

bool sys_names_equal(const struct sys_names *a, const struct sys_names *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->names[i], b->names[i]) != 0)
			return false;
	return true;
}

/* Period of the check for added CPUs (hotplug). */
#define SYS_CPUS_LOOK_NS (10 * 1000000000ull)

static int sys_cpus_update_count(void *ctx, const char *name, unsigned char d_type)
{
	uint32_t *count = ctx, cpu = sys_names_parse_number(name, "cpu");

	if (cpu < SYS_CPUS_MAX && cpu >= *count)
		*count = cpu + 1;
	return 0;
}

/* Returns the highest id of a CPU that has a directory (online or not), plus one; 0 if there is
 * none. */
static uint32_t sys_cpus_count(const char *sys_root)
{
	char dir[512];
	uint32_t count = 0;

	if (fs_join(dir, sizeof(dir), sys_root, SYS_CPUS) == 0)
		(void)fs_each(dir, sys_cpus_update_count, &count);
	return count;
}

bool sys_cpus_rescan(struct sys_cpus *c, const char *sys_root, uint64_t now, uint32_t *ret_n)
{
	uint32_t n;

	if (now < c->again)
		return false;
	c->again = now + SYS_CPUS_LOOK_NS;
	n = sys_cpus_count(sys_root);
	if (n <= c->n)
		return false;
	*ret_n = n;
	return true;
}

void sys_packet_deinit(struct sys_packet *p)
{
	extra_counters_deinit(&p->extras);
	strbuf_deinit(&p->text);
	p->errors = NULL;
}

void sys_packet_begin(struct sys_packet *p)
{
	p->now = clock_mono_ns();
	p->begun = clock_boot_ns();
}

struct pb_enc *sys_packet_open(struct sys_packet *p)
{
	if (p->e)
		return p->e;
	p->e = writer_begin(p->w);
	pb_enc_u64(p->e, PB_TRACE_PACKET_TIMESTAMP, p->begun);
	pb_enc_open(p->e, PB_TRACE_PACKET_SYS_STATS);
	return p->e;
}

static void write_error(struct pb_enc *e, struct sys_errors *t)
{
	pb_enc_open(e, PB_SYS_STATS_READ_FAILURES);
	pb_enc_str(e, PB_SYS_STATS_READ_FAILURE_SOURCE, t->what);
	pb_enc_str(e, PB_SYS_STATS_READ_FAILURE_PATH, t->path);
	pb_enc_u64(e, PB_SYS_STATS_READ_FAILURE_ERROR, (uint64_t)t->error);
	pb_enc_u64(e, PB_SYS_STATS_READ_FAILURE_COUNT, t->count);
	pb_enc_close(e);
	t->written = t->count;
}

static void write_errors(struct sys_packet *p)
{
	for (struct sys_errors *t = p->errors; t; t = t->next)
		if (t->count != t->written)
			write_error(sys_packet_open(p), t);
	p->has_new_errors = false;
}

void sys_packet_end(struct sys_packet *p)
{
	if (p->has_new_errors)
		write_errors(p);
	if (p->e) {
		pb_enc_u64(p->e, PB_SYS_STATS_COLLECTION_END_TIMESTAMP, clock_boot_ns());
		pb_enc_close(p->e);
		writer_end(p->w);
		p->e = NULL;
	}
	extra_counters_write(&p->extras, p->begun);
}

void sys_packet_count_error(struct sys_packet *p, struct sys_errors *t, const char *path, int error)
{
	if (t->count++ > 0)
		return;
	snprintf(t->path, sizeof(t->path), "%s", path);
	t->error = error;
	t->next = p->errors;
	p->errors = t;
	p->has_new_errors = true;
	log_warn("linux.sys_stats: %s: %s: %s; %s is not recorded", t->what, path,
		 fs_error_text(error), error == EBADMSG ? "that part" : "its content");
}

void sys_packet_report_no_cpus(struct sys_packet *p, struct sys_errors *t)
{
	char path[sizeof(t->path)];

	snprintf(path, sizeof(path), "%.96s/" SYS_CPUS, p->sys_root);
	sys_packet_count_error(p, t, path, ENOENT);
}

void sys_packet_log_errors(const struct sys_packet *p)
{
	char count[STR_COUNT_SIZE];

	for (const struct sys_errors *t = p->errors; t; t = t->next)
		if (t->count > 1)
			log_warn("linux.sys_stats: %s: %s failed (first: %s)", t->what,
				 str_count(t->count, "read", count), t->path);
}

bool sys_packet_flush(struct sys_packet *p)
{
	sys_packet_begin(p);
	write_errors(p);
	sys_packet_end(p);
	return p->extras.tracks && tracks_flush_piece(p->extras.tracks);
}

void sys_packet_log_unknown_id(struct unknown_ids *u, const char *file, int number)
{
	for (unsigned i = 0; i < u->n; i++)
		if (u->numbers[i] == number)
			return;
	if (u->n < UNKNOWN_IDS_MAX) {
		u->numbers[u->n++] = number;
		log_warn("linux.sys_stats: %s: there is no counter with id %d", file, number);
	} else if (!u->more) {
		u->more = true;
		log_warn("linux.sys_stats: %s: further unknown counter ids are not listed", file);
	}
}
