/* SPDX-License-Identifier: Apache-2.0 */
/*
 * available_events has a line "group:name" for each event that can be enabled. Events of group
 * ftrace (such as print) are always enabled and not listed there; they have a directory in events/.
 */

#include "cli/terminal/kernel_events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/event_counts.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"

const char *const tracefs_roots[] = {
	"/sys/kernel/tracing",
	"/sys/kernel/debug/tracing",
	NULL,
};

const char *tracefs_events_root(const char *const *roots)
{
	char path[512];

	/* AT_EACCESS: with the effective privileges, unlike access(2). */
	for (; *roots; roots++)
		if (!fs_join(path, sizeof(path), *roots, "available_events") &&
		    !faccessat(AT_FDCWD, path, R_OK, AT_EACCESS))
			return *roots;
	return NULL;
}

void tracefs_events_deinit(struct tracefs_events *t)
{
	free(t->text);
	free(t->names);
	free(t->root);
	*t = (struct tracefs_events){0};
}

/* Splits t->text in place and fills t->names. Returns 0 or -ENOMEM. */
static int split_lines(struct tracefs_events *t)
{
	size_t cap = 0;
	char *line, *end, *colon;
	int length;

	for (line = t->text; line && *line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		/* sonda_PID_START_NUMBER is a group that a session of sonda-probes has created, for
		 * a probe for example, and removes at its end. */
		length = 0;
		if (sscanf(line, "sonda_%*9d_%*20u_%*9u%n", &length) == 0 && length &&
		    !line[length])
			continue;
		*colon = '/';
		if (array_reserve(&t->names, &cap, t->n + 1, sizeof(*t->names)))
			return -ENOMEM;
		t->names[t->n++] = line;
	}
	return 0;
}

int tracefs_events_load(const char *root, struct tracefs_events *ret)
{
	struct tracefs_events t = {0};
	struct strbuf b = {0};
	char path[512];
	int r;

	r = fs_join(path, sizeof(path), root, "available_events");
	if (!r)
		r = fs_read_file(path, TRACEFS_EVENTS_MAX_BYTES, &b);
	if (!r) {
		t.text = strbuf_take(&b);
		t.root = strdup(root);
		r = t.text && t.root ? split_lines(&t) : -ENOMEM;
	}
	strbuf_deinit(&b);
	if (r)
		tracefs_events_deinit(&t);
	else
		*ret = t;
	return r;
}

bool tracefs_event_exists(const char *root, const char *name)
{
	const char *slash = strchr(name, '/');
	char path[512];
	int n;

	if (!slash || slash == name || strchr(slash + 1, '/') || strpbrk(name, "*?[:") ||
	    strstr(name, ".."))
		return false;
	n = snprintf(path, sizeof(path), "%s/events/%s/format", root, name);
	return n > 0 && (size_t)n < sizeof(path) && fs_exists(path);
}

/* Returns the length of "group/" in "group/name", with the slash; 0 without a group. */
static size_t kernel_events_group_len(const char *word)
{
	const char *slash = strchr(word, '/');

	return slash ? (size_t)(slash - word) + 1 : 0;
}

/* Matches like sonda-probes. */
bool tracefs_event_matches(const char *event, const char *word)
{
	char copy[TRACEFS_EVENTS_MAX_NAME];
	char *colon;

	if (kernel_events_group_len(word))
		return str_glob(word, event);
	if (!strchr(word, ':'))
		return str_glob(word, event + kernel_events_group_len(event));
	snprintf(copy, sizeof(copy), "%s", word);
	colon = strchr(copy, ':');
	if (colon)
		*colon = '/';
	return str_glob(copy, event);
}

struct unlisted {
	const char *pattern;
	bool found;
};

static int match_unlisted(void *ctx, const char *name, unsigned char d_type)
{
	struct unlisted *u = ctx;

	u->found = d_type == DT_DIR && str_glob(u->pattern, name);
	return u->found;
}

/* Returns true if the event has a directory. available_events lacks events that are always
 * enabled. */
static bool event_has_dir(const struct tracefs_events *t, const char *word)
{
	struct unlisted u = {.pattern = word + strlen("ftrace/")};
	char path[512];
	int n;

	if (str_starts(word, "ftrace/") && !fs_join(path, sizeof(path), t->root, "events/ftrace"))
		fs_each(path, match_unlisted, &u);
	if (u.found)
		return true;
	n = snprintf(path, sizeof(path), "%s/events/%s%s/format", t->root,
		     kernel_events_group_len(word) ? "" : "ftrace/", word);
	return n > 0 && (size_t)n < sizeof(path) && !strstr(word, "..") && fs_exists(path);
}

bool tracefs_events_has(const struct tracefs_events *t, const char *word)
{
	for (size_t i = 0; i < t->n; i++)
		if (tracefs_event_matches(t->names[i], word))
			return true;
	return event_has_dir(t, word);
}

/* ---- the nearest name ---- */

/* Returns the listed event whose name is nearest to the word. A mistake in one part of "group/name"
 * must not hide that the other part is correct, so both the whole words and the bare names are
 * compared. The correct name in the wrong group wins. */
static const char *nearest_listed(const struct tracefs_events *t, const char *word)
{
	const char *bare_word = word + kernel_events_group_len(word), *best;
	struct str_nearest whole, bare;
	bool exact = false;

	str_nearest_init(&whole, word);
	str_nearest_init(&bare, bare_word);
	for (size_t i = 0; i < t->n; i++) {
		const char *name = t->names[i] + kernel_events_group_len(t->names[i]);

		exact = exact || !strcmp(name, bare_word);
		str_nearest_try(&whole, t->names[i]);
		str_nearest_try(&bare, name);
	}
	best = str_nearest_get(&bare);
	if (!best || (!exact && str_nearest_get(&whole)))
		return str_nearest_get(&whole);
	for (size_t i = 0; i < t->n; i++)
		if (t->names[i] + kernel_events_group_len(t->names[i]) == best)
			return t->names[i];
	return NULL;
}

static const char *nearest_known_event(const char *word, char buf[static TRACEFS_EVENTS_MAX_NAME])
{
	const struct event_name *e;
	struct str_nearest n;
	const char *best;

	str_nearest_init(&n, word + kernel_events_group_len(word));
	for (uint32_t i = 0; i < event_names_end(); i++) {
		e = event_message_name(i);
		if (e)
			str_nearest_try(&n, e->name);
	}
	best = str_nearest_get(&n);
	for (uint32_t i = 0; best && i < event_names_end(); i++) {
		e = event_message_name(i);
		if (!e || e->name != best)
			continue;
		snprintf(buf, TRACEFS_EVENTS_MAX_NAME, "%s/%s", e->group, e->name);
		return buf;
	}
	return NULL;
}

/* Returns "group/" and a star if the word is the name of a group; else NULL. */
static const char *find_group(const struct tracefs_events *t, const char *word,
			      char buf[static TRACEFS_EVENTS_MAX_NAME])
{
	size_t len = strlen(word);

	for (size_t i = 0; i < t->n; i++)
		if (kernel_events_group_len(t->names[i]) == len + 1 &&
		    !memcmp(t->names[i], word, len)) {
			snprintf(buf, TRACEFS_EVENTS_MAX_NAME, "%s/*", word);
			return buf;
		}
	return NULL;
}

/* Returns the group whose name is nearest to the word, as "group/" and a star; NULL if none is
 * near. */
static const char *nearest_group(const struct tracefs_events *t, const char *word,
				 char buf[static TRACEFS_EVENTS_MAX_NAME])
{
	char group[TRACEFS_EVENTS_MAX_NAME], best[STR_NEAREST_SIZE];
	struct str_nearest n;

	str_nearest_init(&n, word);
	for (size_t i = 0; i < t->n; i++) {
		size_t len = kernel_events_group_len(t->names[i]);

		if (len == 0 || len > sizeof(group))
			continue;
		snprintf(group, len, "%s", t->names[i]);
		str_nearest_try_copy(&n, group, best);
	}
	if (!str_nearest_get(&n))
		return NULL;
	snprintf(buf, TRACEFS_EVENTS_MAX_NAME, "%s/*", str_nearest_get(&n));
	return buf;
}

const char *tracefs_events_nearest(const struct tracefs_events *t, const char *word,
				   char buf[static TRACEFS_EVENTS_MAX_NAME])
{
	const char *found = t ? find_group(t, word, buf) : NULL;

	if (!t)
		return nearest_known_event(word, buf);
	if (!found)
		found = nearest_listed(t, word);
	return found ? found : nearest_group(t, word, buf);
}
