// SPDX-License-Identifier: Apache-2.0
/*
 * The profiles name no groups, and others may have probes of the same name; but their lines stand
 * in the order of the files that make the probes:
 *
 *	kprobe_events                           kprobe_profile
 *	p:kprobes/my_read vfs_read                my_read      17     0       not ours
 *	p:sonda_812_51423_0/my_read vfs_read      my_read       5     1       ours
 *
 *	uprobe_events                           uprobe_profile
 *	p:sonda_812_51423_1/main /bin/x:0x40      /bin/x main   3
 *
 * As long as nobody changes them between the two reads, which reading the first one once more tells.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/system/fs.h"
#include "ftrace/session/probe_profile.h"

#define MAX_FILE (16 << 20)
#define MAX_TRIES 3

struct profile {
	const char *events;
	const char *counts;
	const char *line; /* of counts: name, hits, misses */
	enum made_in in;
};

static const struct profile profiles[] = {
	{"kprobe_events", "kprobe_profile", " %63s %llu %llu", MADE_KPROBE},
	{"uprobe_events", "uprobe_profile", " %*s %63s %llu", MADE_UPROBE},
};

struct counts {
	uint64_t hits, misses;
};

static int read_file(const char *root, const char *name, struct strbuf *b)
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

/* "p:GROUP/NAME ..."; false: a line of another form. */
static bool names_of(const char *line, char group[static 64], char name[static 64])
{
	const char *colon = strchr(line, ':');

	return colon && sscanf(colon, ":%63[^/ ]/%63[^ \n]", group, name) == 2;
}

static struct made_event *find(const struct made_events *m, const char *group, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->events[i]->group, group) && !strcmp(m->events[i]->name, name))
			return m->events[i];
	return NULL;
}

static const char *next_line(const char *line)
{
	line = strchrnul(line, '\n');
	return *line ? line + 1 : line;
}

/* One line of both. False: they are not about the same probe. */
static bool read_line(const struct profile *p, const char *event, const char *counts,
		      char group[static 64], char name[static 64], struct counts *ret)
{
	unsigned long long hits = 0, misses = 0;
	char counted[64];

	if (!names_of(event, group, name) || sscanf(counts, p->line, counted, &hits, &misses) < 2 ||
	    strcmp(name, counted))
		return false;
	ret->hits = hits;
	ret->misses = misses;
	return true;
}

static bool belong_together(const struct profile *p, const char *events, const char *counts)
{
	char group[64], name[64];
	struct counts line;

	for (; *events && *counts; events = next_line(events), counts = next_line(counts))
		if (!read_line(p, events, counts, group, name, &line))
			return false;
	return !*events && !*counts;
}

/* One event may have several places. */
static void count(struct made_events *m, const struct profile *p, const char *events,
		  const char *counts)
{
	char group[64], name[64];
	struct counts line;

	for (; *events; events = next_line(events), counts = next_line(counts)) {
		struct made_event *e = NULL;

		if (read_line(p, events, counts, group, name, &line))
			e = find(m, group, name);
		if (!e)
			continue;
		e->hits += line.hits;
		e->misses += line.misses;
	}
}

static void forget(struct made_events *m, enum made_in in)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->events[i]->in == in)
			m->events[i]->hits = m->events[i]->misses = 0;
}

static void read_profile(struct made_events *m, const struct profile *p)
{
	struct strbuf events = {0}, counts = {0}, again = {0};
	bool settled = false;

	for (unsigned i = 0; i < MAX_TRIES && !settled; i++) {
		if (read_file(m->root, p->events, &events) ||
		    read_file(m->root, p->counts, &counts) || read_file(m->root, p->events, &again))
			break;
		settled = !strcmp(events.s, again.s);
	}
	if (settled && belong_together(p, events.s, counts.s)) {
		forget(m, p->in);
		count(m, p, events.s, counts.s);
	}
	strbuf_deinit(&events);
	strbuf_deinit(&counts);
	strbuf_deinit(&again);
}

void probe_profile_read(struct made_events *m)
{
	for (unsigned i = 0; i < sizeof(profiles) / sizeof(*profiles); i++) {
		bool any = false;

		for (size_t k = 0; k < m->n; k++)
			any = any || m->events[k]->in == profiles[i].in;
		if (any)
			read_profile(m, &profiles[i]);
	}
}
