/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/suggestions.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/* ---- words ---- */

/* Returns the distance of an event from the word: of its whole name, its group or its bare name. */
static unsigned distance_of_event(const char *word, const char *event)
{
	char group[TRACEFS_EVENTS_MAX_NAME];
	const char *slash = strchr(event, '/');
	struct str_nearest n;

	str_nearest_init(&n, word);
	str_nearest_try(&n, event);
	if (slash) {
		snprintf(group, sizeof(group), "%.*s", (int)(slash - event), event);
		str_nearest_try(&n, slash + 1);
		str_nearest_try(&n, group);
	}
	return n.best_distance;
}

static unsigned word_distance(const char *word, const char *candidate)
{
	struct str_nearest n;

	str_nearest_init(&n, word);
	str_nearest_try(&n, candidate);
	return n.best_distance;
}

/* ---- patterns ---- */

/*
 *	*sched_swich*      a part without wildcards: "sched_swich", of two pieces between '_'
 *	sched_switch_x     two pieces of all names: "sched_switch", "switch_x"
 *	*sched_switch*     the pattern with the nearest one in its place
 */

static bool is_wildcard(char c)
{
	return strchr("*?[]/:!", c);
}

/* Returns the next part without wildcards; NULL after the last one. */
static const char *next_part_of_pattern(const char **rest, size_t *ret_len)
{
	const char *p = *rest;

	while (*p && is_wildcard(*p))
		p++;
	for (*ret_len = 0; p[*ret_len] && !is_wildcard(p[*ret_len]);)
		++*ret_len;
	*rest = p + *ret_len;
	return *ret_len ? p : NULL;
}

/* Returns the length of n pieces between '_' at the start of name; 0 if it has fewer. */
static size_t length_of_pieces(const char *name, size_t n)
{
	size_t len = strcspn(name, "_");

	while (--n && name[len])
		len += 1 + strcspn(name + len + 1, "_");
	return n ? 0 : len;
}

static void try_pieces_of_event(struct str_nearest *s, const char *event, size_t n,
				char best[static STR_NEAREST_SIZE])
{
	const char *slash = strchr(event, '/');
	char piece[TRACEFS_EVENTS_MAX_NAME];

	for (const char *p = slash ? slash + 1 : event; p; p = strchr(p, '_')) {
		p += *p == '_';
		snprintf(piece, sizeof(piece), "%.*s", (int)length_of_pieces(p, n), p);
		if (*piece)
			str_nearest_try_copy(s, piece, best);
	}
}

/* Replaces one part of a pattern. Returns false if nothing is near it, or matches the result. */
static bool replace_part(const struct tracefs_events *events, const char *pattern, const char *part,
			 size_t len, char buf[static TRACEFS_EVENTS_MAX_NAME])
{
	char word[STR_NEAREST_SIZE], best[STR_NEAREST_SIZE];
	const char *nearest;
	struct str_nearest s;
	size_t n = 1;
	int written;

	while (len && *part == '_')
		part++, len--;
	while (len && part[len - 1] == '_')
		len--;
	if (len < 3 || len >= sizeof(word))
		return false;
	snprintf(word, sizeof(word), "%.*s", (int)len, part);
	for (const char *p = word; *p; p++)
		n += *p == '_';
	str_nearest_init(&s, word);
	for (size_t i = 0; i < events->n; i++)
		try_pieces_of_event(&s, events->names[i], n, best);
	nearest = str_nearest_get(&s);
	if (!nearest || !strcmp(nearest, word))
		return false;
	written = snprintf(buf, TRACEFS_EVENTS_MAX_NAME, "%.*s%s%s", (int)(part - pattern), pattern,
			   nearest, part + len);
	return written > 0 && written < TRACEFS_EVENTS_MAX_NAME && tracefs_events_has(events, buf);
}

static const char *suggest_pattern(const struct tracefs_events *events, const char *pattern,
				   char buf[static TRACEFS_EVENTS_MAX_NAME])
{
	const char *rest = pattern, *part;
	size_t len;

	while (events && (part = next_part_of_pattern(&rest, &len)))
		if (replace_part(events, pattern, part, len, buf))
			return buf;
	return NULL;
}

const char *suggestions_find(const struct tracefs_events *events, struct presets *presets,
			     const char *word, char buf[static TRACEFS_EVENTS_MAX_NAME])
{
	char name[STR_NEAREST_SIZE];
	const char *event, *preset;

	if (strpbrk(word, "*?["))
		return suggest_pattern(events, word, buf);
	event = tracefs_events_nearest(events, word, buf);
	preset = presets ? presets_nearest(presets, word, name) : NULL;
	if (!preset || (event && distance_of_event(word, event) < word_distance(word, preset)))
		return event;
	snprintf(buf, TRACEFS_EVENTS_MAX_NAME, "%s", preset);
	return buf;
}
