/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/session/session_stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "ftrace/format/ring_page.h"
#include "ftrace/options/dynevents.h"
#include "ftrace/session/ftrace_stats.h"
#include "gen/fields.h"

/*
 * The profiles contain no groups, and other tracers may have probes of the same name. But the
 * lines are in the same order as in the files of definitions:
 *
 *	kprobe_events                           kprobe_profile
 *	p:kprobes/my_read vfs_read                my_read      17     0       not ours
 *	p:sonda_812_51423_0/my_read vfs_read      my_read       5     1       ours
 *
 *	uprobe_events                           uprobe_profile
 *	p:sonda_812_51423_1/main /bin/x:0x40      /bin/x main   3
 *
 * To detect a change between the two reads, the first file is read again.
 */

#define MAX_FILE (16 << 20)
#define MAX_TRIES 3

struct profile {
	const char *events;
	const char *counts;
	const char *line; /* scanf format of a line of the profile: name, hits, misses */
	enum dynevent_type type;
};

static const struct profile profiles[] = {
	{"kprobe_events", "kprobe_profile", " %63s %llu %llu", DYNEVENT_KPROBE},
	{"uprobe_events", "uprobe_profile", " %*s %63s %llu %llu", DYNEVENT_UPROBE},
};

struct counts {
	uint64_t hits, misses;
};

static int session_stats_read_file(const char *root, const char *name, struct strbuf *b)
{
	char path[4096];
	int r = fs_join(path, sizeof(path), root, name);

	strbuf_clear(b);
	if (!r)
		r = fs_read_file(path, MAX_FILE, b);
	if (!r && !b->s)
		strbuf_puts(b, "");
	return !r && b->failed ? -ENOMEM : r;
}

/* Parses "p:GROUP/NAME ...". Returns false for other lines. */
static bool parse_probe_line(const char *line, char group[static 64], char name[static 64])
{
	const char *colon = strchr(line, ':');

	return colon && sscanf(colon, ":%63[^/ ]/%63[^ \n]", group, name) == 2;
}

static struct dynevent *session_stats_find(const struct dynevents *m, const char *group,
					   const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->events[i]->group, group) && !strcmp(m->events[i]->name, name))
			return m->events[i];
	return NULL;
}

static const char *find_next_line(const char *line)
{
	line = strchrnul(line, '\n');
	return *line ? line + 1 : line;
}

/* Reads one line of both files. Returns false if they are not about the same probe. */
static bool session_stats_read_line(const struct profile *p, const char *event, const char *counts,
				    char group[static 64], char name[static 64], struct counts *ret)
{
	unsigned long long hits = 0, misses = 0;
	char counted[64];

	if (!parse_probe_line(event, group, name) ||
	    sscanf(counts, p->line, counted, &hits, &misses) < 2 || strcmp(name, counted))
		return false;
	ret->hits = hits;
	ret->misses = misses;
	return true;
}

static bool profiles_are_of_one_list(const struct profile *p, const char *events,
				     const char *counts)
{
	char group[64], name[64];
	struct counts line;

	for (; *events && *counts; events = find_next_line(events), counts = find_next_line(counts))
		if (!session_stats_read_line(p, events, counts, group, name, &line))
			return false;
	return !*events && !*counts;
}

/* Adds the counts of the kernel's profile to its events. An event may be on several lines. */
static void add_profile_counts(struct dynevents *m, const struct profile *p, const char *events,
			       const char *counts)
{
	char group[64], name[64];
	struct counts line;

	for (; *events; events = find_next_line(events), counts = find_next_line(counts)) {
		struct dynevent *e = NULL;

		if (session_stats_read_line(p, events, counts, group, name, &line))
			e = session_stats_find(m, group, name);
		if (!e)
			continue;
		e->hits += line.hits;
		e->misses += line.misses;
	}
}

static void read_profile(struct dynevents *m, const struct profile *p)
{
	struct strbuf events = {0}, counts = {0}, again = {0};
	bool stable = false;

	for (unsigned i = 0; i < MAX_TRIES && !stable; i++) {
		if (session_stats_read_file(m->root, p->events, &events) ||
		    session_stats_read_file(m->root, p->counts, &counts) ||
		    session_stats_read_file(m->root, p->events, &again))
			break;
		stable = !strcmp(events.s, again.s);
	}
	if (stable && profiles_are_of_one_list(p, events.s, counts.s)) {
		for (size_t i = 0; i < m->n; i++)
			if (m->events[i]->type == p->type)
				m->events[i]->hits = m->events[i]->misses = 0;
		add_profile_counts(m, p, events.s, counts.s);
	}
	strbuf_deinit(&events);
	strbuf_deinit(&counts);
	strbuf_deinit(&again);
}

/*
 * Reads how often the session's probes were hit, and how often the kernel could not record a hit
 * (misses). Source: kprobe_profile and uprobe_profile of tracefs.
 *
 * Sets hits and misses of each probe of m; leaves them unchanged if the files cannot be read.
 */
static void probe_profile_read(struct dynevents *m)
{
	for (unsigned i = 0; i < sizeof(profiles) / sizeof(*profiles); i++) {
		bool any = false;

		for (size_t k = 0; k < m->n; k++)
			any = any || m->events[k]->type == profiles[i].type;
		if (any)
			read_profile(m, &profiles[i]);
	}
}

static void read_ring_stats(const struct ring_listener *ring, struct ring_stats_all *ret)
{
	*ret = (struct ring_stats_all){0};
	if (ring->ring)
		ring_read_stats(ring, ret);
}

/* Adds the counters of the top level, whose losses are losses of the session, too. */
static void add_top_stats(const struct ftrace_session *s, struct ring_stats_all *all)
{
	struct ring_stats_all top;

	read_ring_stats(&s->top.ring, &top);
	ring_stats_add(all, &top);
	ring_stats_deinit(&top);
}

/* Converts KiB to pages of the machine, whatever the size of sub-buffers is. */
static uint32_t kb_to_pages(uint32_t kb)
{
	uint32_t size = (uint32_t)sysconf(_SC_PAGESIZE);

	return (uint32_t)(((uint64_t)kb * 1024 + size - 1) / size);
}

static const char *instance_name(const struct ftrace_session *s)
{
	const char *slash = s->instance.path ? strrchr(s->instance.path, '/') : NULL;

	return slash ? slash + 1 : s->instance.path;
}

static void session_stats_write_packet(struct writer *w, const struct ftrace_stats_packet *p)
{
	ftrace_stats_write(p, writer_begin(w));
	writer_end(w);
}

static uint64_t count_encoded_events(const struct ftrace_session *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < s->n_listeners; i++)
		n += ring_event_count(s->listeners[i]);
	return n;
}

static void sum_page_statuses(const struct ftrace_session *s, uint64_t *counts)
{
	for (unsigned i = 0; i < s->n_listeners; i++)
		for (unsigned c = 0; c < RING_PAGE_STATUS_COUNT; c++)
			counts[c] += s->listeners[i]->encoder->status_counts[c];
}

/* Updates the hits and misses of the session's probes. */
static void update_probe_counts(struct ftrace_session *s)
{
	s->extra.kprobe_hits = s->extra.kprobe_misses = 0;
	probe_profile_read(&s->made);
	for (size_t i = 0; i < s->made.n; i++)
		if (s->made.events[i]->type == DYNEVENT_KPROBE) {
			s->extra.kprobe_hits += (int64_t)s->made.events[i]->hits;
			s->extra.kprobe_misses += (int64_t)s->made.events[i]->misses;
		}
}

/* Returns a sum that increases whenever a record is written or a loss, an error or a failure is
 * counted. */
static uint64_t sum_up_changes(const struct ftrace_session *s, const struct ring_stats_all *now)
{
	const struct setup_errors *r = &s->errors;
	uint64_t status_counts[RING_PAGE_STATUS_COUNT] = {0};
	uint64_t sum = count_encoded_events(s) + (uint64_t)s->extra.kprobe_misses;

	sum_page_statuses(s, status_counts);
	for (unsigned i = 0; i < RING_PAGE_STATUS_COUNT; i++)
		sum += status_counts[i];
	for (size_t i = 0; i < now->n; i++)
		sum += now->rings[i].overrun + now->rings[i].commit_overrun +
		       now->rings[i].dropped_events;
	return sum + (uint64_t)tracefs_list_size(r->failed) + r->failed_more +
	       (uint64_t)tracefs_list_size(s->foreign.found);
}

void session_stats_begin(struct session_stats *st, struct ftrace_session *s, struct writer *w)
{
	const struct ftrace_stats_extra more = {.preserved = true};
	const struct ftrace_stats_packet p = {.phase = FTRACE_STATS_START, .more = &more};

	if (s->settings.preserve)
		session_stats_write_packet(w, &p);
	read_ring_stats(&s->ring, &st->start);
	add_top_stats(s, &st->start);
	update_probe_counts(s);
	st->start_extra = s->extra;
}

void session_stats_write_start(struct session_stats *st, struct ftrace_session *s, struct writer *w)
{
	/* The symbols may have been loaded since the start. */
	st->start_extra.ksyms_parsed = s->extra.ksyms_parsed;
	st->start_extra.ksyms_kb = s->extra.ksyms_kb;
	session_stats_write_packet(w, &(struct ftrace_stats_packet){
					      .phase = FTRACE_STATS_START,
					      .all = &st->start,
					      .errors = &s->errors,
					      .more = &st->start_extra,
					      .instance = instance_name(s),
					      .requested_pages = kb_to_pages(s->buffer_kb),
					      .buffer_pages = kb_to_pages(s->ring_kb),
				      });
}

void session_stats_write(struct session_stats *st, struct ftrace_session *s, struct writer *w,
			 bool always)
{
	struct ftrace_stats_packet p = {
		.phase = FTRACE_STATS_END,
		.more = &s->extra,
		.instance = instance_name(s),
		.requested_pages = kb_to_pages(s->buffer_kb),
		.buffer_pages = kb_to_pages(s->ring_kb),
	};
	uint64_t status_counts[RING_PAGE_STATUS_COUNT] = {0};
	struct ring_stats_all now;
	uint64_t sum;

	read_ring_stats(&s->ring, &now);
	foreign_changes_check(&s->foreign, &s->ring, &now);
	add_top_stats(s, &now);
	update_probe_counts(s);
	sum = sum_up_changes(s, &now);
	if (!always && st->written && sum == st->written_sum) {
		ring_stats_deinit(&now);
		return;
	}
	session_stats_write_start(st, s, w);
	s->extra.probes = &s->made;
	s->extra.foreign_changes = s->foreign.found;
	p.all = &now;
	sum_page_statuses(s, status_counts);
	p.status_counts = status_counts;
	session_stats_write_packet(w, &p);
	ring_stats_deinit(&now);
	st->written_sum = sum;
	st->written = true;
}

void session_stats_deinit(struct session_stats *st)
{
	ring_stats_deinit(&st->start);
}
