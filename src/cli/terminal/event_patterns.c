/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/event_patterns.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/*
 *	words          events                                       requests
 *	irq:*     -->  irq/irq_handler_entry, irq/... (all of it)  -->  irq/<all>
 *	sched:*   -->  sched/sched_kthread_stop, sched/...         -->  sched/sched_kthread_stop ...
 *	!*_stat_* -->  without sched/sched_stat_iowait ...
 *	nosuch    -->  (the kernel has none of that name)          -->  nosuch
 *
 * Each event of the kernel's list has a mark: not selected (or excluded again), selected by name,
 * or matched by a pattern. Words that match no event are kept as text. At the end, a group of two
 * or more events that are all matched by patterns becomes one request.
 */

/* ---- lists of requests ---- */

void event_requests_deinit(struct event_requests *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->names[i]);
	free(r->names);
	*r = (struct event_requests){0};
}

static int add_request(struct event_requests *r, const char *name)
{
	char *copy;

	if (array_reserve(&r->names, &r->cap, r->n + 1, sizeof(*r->names)))
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	r->names[r->n++] = copy;
	return 0;
}

/* ---- one word ---- */

bool event_pattern_is_negative(const char *word)
{
	return *word == '!';
}

static bool event_patterns_is_pattern(const char *s)
{
	return strpbrk(s, "*?[");
}

/* Checks the rules of the producer: printable, at most one '/', not at either end. */
static bool can_be_event_name(const char *word)
{
	const char *slash = strchr(word, '/');

	for (const char *p = word; *p; p++)
		if (*p <= ' ' || *p > '~')
			return false;
	return *word && slash != word && (!slash || (slash[1] && !strchr(slash + 1, '/')));
}

/* Adds the events of a preset, which may have none. */
static int event_patterns_add_preset(struct event_requests *ret, const struct preset *preset)
{
	int r = 0;

	for (size_t i = 0; i < preset->config->n_data_sources; i++) {
		const Pb__FtraceConfig *f = preset->config->data_sources[i]->config->ftrace_config;

		for (size_t k = 0; f && k < f->n_ftrace_events && !r; k++)
			r = add_request(ret, f->ftrace_events[k]);
	}
	return r;
}

/* Returns true if word is a group and no event has that name. ret then becomes word, "/" and a
 * star. */
static bool word_is_group(const char *word, const struct tracefs_events *events,
			  char ret[static TRACEFS_EVENTS_MAX_NAME + 2])
{
	if (!events || !*word || strchr(word, '/') || event_patterns_is_pattern(word) ||
	    tracefs_events_has(events, word))
		return false;
	snprintf(ret, TRACEFS_EVENTS_MAX_NAME + 2, "%s/*", word);
	return tracefs_events_has(events, ret);
}

bool event_pattern_is_known(const char *word, const struct tracefs_events *events,
			    struct presets *presets)
{
	char whole[TRACEFS_EVENTS_MAX_NAME + 2];

	return (presets && presets_has(presets, word, strlen(word))) ||
	       tracefs_events_has(events, word) ||
	       (strlen(word) < TRACEFS_EVENTS_MAX_NAME && word_is_group(word, events, whole));
}

/* Reads one of the words between commas. */
static int parse_list_item(const char *word, size_t len, const struct tracefs_events *events,
			   struct presets *presets, struct event_requests *ret, struct err_text *e)
{
	char copy[TRACEFS_EVENTS_MAX_NAME], whole[TRACEFS_EVENTS_MAX_NAME + 2];
	const struct preset *preset;
	int r = presets ? presets_find(presets, word, len, &preset, e) : -ENOENT;
	char *colon;

	if (r != -ENOENT)
		return r ? r : event_patterns_add_preset(ret, preset);
	snprintf(copy, sizeof(copy), "%.*s", (int)MIN(len, sizeof(copy)), word);
	if (event_pattern_is_negative(copy))
		return err_set(e, -EINVAL,
			       "'%.80s' excludes events and must be a separate argument", copy);
	colon = strchr(copy, ':');
	if (!can_be_event_name(copy) || len >= sizeof(copy))
		return err_set(e, -EINVAL, "'%.80s' is not a valid event name", copy);
	if (colon && !strchr(copy, '/'))
		*colon = '/';
	if (!can_be_event_name(copy))
		return err_set(e, -EINVAL, "'%.80s' is not a valid event name", word);
	return add_request(ret, word_is_group(copy, events, whole) ? whole : copy);
}

const char *event_pattern_next(const char **rest, size_t *ret_len)
{
	const char *part = *rest + strspn(*rest, ",");

	*ret_len = strcspn(part, ",");
	*rest = part + *ret_len;
	return *ret_len ? part : NULL;
}

int event_pattern_parse(const char *typed, const struct tracefs_events *events,
			struct presets *presets, struct event_requests *ret, struct err_text *e)
{
	const char *rest = typed + event_pattern_is_negative(typed), *part;
	bool any = false;
	size_t len;
	int r = 0;

	while (!r && (part = event_pattern_next(&rest, &len))) {
		any = true;
		r = parse_list_item(part, len, events, presets, ret, e);
	}
	return r || any ? r : err_set(e, -EINVAL, "'%.80s' is not a valid event name", typed);
}

/* ---- selections ---- */

enum mark { EXCLUDED, NAMED, MATCHED };

#define NOT_LISTED SIZE_MAX

struct pick {
	size_t event; /* index in the kernel's list, or NOT_LISTED */
	char *text; /* owned; the request if event is NOT_LISTED, else NULL */
};

struct selection {
	const struct tracefs_events *events; /* borrowed; events->n is 0 if the list is unknown */
	struct presets *presets; /* borrowed; NULL: none */
	size_t n_excluded; /* events that words with '!' excluded */
	uint8_t *marks; /* enum mark, of each event of the list */
	struct pick *picks;
	size_t n;
	size_t cap;
};

static bool request_matches_event(const char *request, const char *event)
{
	const char *subject = event;

	if (!strchr(request, '/') && strchr(event, '/'))
		subject = strchr(event, '/') + 1;
	return event_patterns_is_pattern(request) ? str_glob(request, subject)
						  : !strcmp(request, subject);
}

static int add_selected_event(struct selection *s, size_t event, const char *text,
			      struct err_text *e)
{
	char *copy = NULL;

	if (s->n >= EVENT_WORDS_MAX)
		return err_set(e, -EINVAL, "too many events; the limit is %d", EVENT_WORDS_MAX);
	if (array_reserve(&s->picks, &s->cap, s->n + 1, sizeof(*s->picks)))
		return -ENOMEM;
	if (text) {
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
	}
	s->picks[s->n++] = (struct pick){event, copy};
	return 0;
}

/* Adds, as text, a request that matches no event of the kernel's list, unless the selection has it.
 * An event of group ftrace, which is never listed and may be requested without its group, gets the
 * group in front. */
static int add_unlisted_event(struct selection *s, const char *request, struct err_text *e)
{
	char in_ftrace[TRACEFS_EVENTS_MAX_NAME + sizeof("ftrace/")];

	if (!strchr(request, '/') && !event_patterns_is_pattern(request) && s->events->n &&
	    tracefs_events_has(s->events, request)) {
		snprintf(in_ftrace, sizeof(in_ftrace), "ftrace/%s", request);
		request = in_ftrace;
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->picks[i].text && !strcmp(s->picks[i].text, request))
			return 0;
	return add_selected_event(s, NOT_LISTED, request, e);
}

static int select_request(struct selection *s, const char *request, struct err_text *e)
{
	enum mark mark = event_patterns_is_pattern(request) ? MATCHED : NAMED;
	bool found = false;
	int r = 0;

	for (size_t i = 0; i < s->events->n && !r; i++) {
		if (!request_matches_event(request, s->events->names[i]))
			continue;
		found = true;
		r = s->marks[i] == EXCLUDED ? add_selected_event(s, i, NULL, e) : 0;
		if (!r)
			s->marks[i] = MAX(s->marks[i], mark);
	}
	return r || found ? r : add_unlisted_event(s, request, e);
}

/* ---- exclusions ---- */

/* Returns 1 if the request excludes the pick, 0 if not, or -EINVAL and sets e. */
static int is_excluded(const struct selection *s, const struct pick *p, const char *request,
		       struct err_text *e)
{
	if (!p->text)
		return request_matches_event(request, s->events->names[p->event]);
	if (!strcmp(p->text, request))
		return 1;
	if (!s->events->n && event_patterns_is_pattern(p->text))
		return err_set(e, -EINVAL,
			       "'!%s': cannot exclude events of '%s': cannot read the kernel's "
			       "list of events (available_events in tracefs)",
			       request, p->text);
	return request_matches_event(request, p->text);
}

static int exclude_request(struct selection *s, const char *request, size_t *n_excluded,
			   struct err_text *e)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct pick p = s->picks[i];

		if (r >= 0)
			r = is_excluded(s, &p, request, e);
		if (r <= 0) {
			s->picks[kept++] = p;
			continue;
		}
		if (!p.text)
			s->marks[p.event] = EXCLUDED;
		free(p.text);
		++*n_excluded;
	}
	s->n = kept;
	return MIN(r, 0);
}

static int apply_word_to_selection(struct selection *s, const char *word,
				   struct event_requests *ret_idle, struct err_text *e)
{
	struct event_requests requests = {0};
	bool negative = event_pattern_is_negative(word);
	size_t n_excluded = 0;
	int r = event_pattern_parse(word, s->events->n ? s->events : NULL, s->presets, &requests,
				    e);

	for (size_t i = 0; i < requests.n && !r; i++)
		r = negative ? exclude_request(s, requests.names[i], &n_excluded, e)
			     : select_request(s, requests.names[i], e);
	event_requests_deinit(&requests);
	s->n_excluded += n_excluded;
	return !r && negative && !n_excluded ? add_request(ret_idle, word) : r;
}

/* ---- requests ---- */

struct group {
	const char *name; /* the start of an event name; borrowed from the list */
	size_t len; /* including the slash */
	size_t n;
	size_t matched;
	bool reported;
};

struct groups {
	struct group *list; /* owned */
	size_t n;
	size_t cap;
};

/* Returns the group of the event, which it adds if it is new; NULL if memory runs out. Events of a
 * group are adjacent, so the last group is tried first. */
static struct group *event_patterns_find_or_add_group(struct groups *g, const char *event)
{
	size_t len = (size_t)(strchr(event, '/') - event) + 1;

	for (size_t i = g->n; i-- > 0;)
		if (g->list[i].len == len && !memcmp(g->list[i].name, event, len))
			return &g->list[i];
	if (array_reserve(&g->list, &g->cap, g->n + 1, sizeof(*g->list)))
		return NULL;
	g->list[g->n] = (struct group){.name = event, .len = len};
	return &g->list[g->n++];
}

static int count_groups(const struct selection *s, struct groups *ret)
{
	for (size_t i = 0; i < s->events->n; i++) {
		struct group *g = event_patterns_find_or_add_group(ret, s->events->names[i]);

		if (!g)
			return -ENOMEM;
		g->n++;
		g->matched += s->marks[i] == MATCHED;
	}
	return 0;
}

static int request_event(struct groups *groups, const char *event, struct event_requests *ret)
{
	char whole[TRACEFS_EVENTS_MAX_NAME + 2];
	struct group *g = event_patterns_find_or_add_group(groups, event);

	if (g->n == 1 || g->matched < g->n || g->len >= TRACEFS_EVENTS_MAX_NAME)
		return add_request(ret, event);
	if (g->reported)
		return 0;
	g->reported = true;
	snprintf(whole, sizeof(whole), "%.*s*", (int)g->len, g->name);
	return add_request(ret, whole);
}

static int make_requests(const struct selection *s, struct event_requests *ret)
{
	struct groups groups = {0};
	int r = count_groups(s, &groups);

	for (size_t i = 0; i < s->n && !r; i++) {
		const struct pick *p = &s->picks[i];

		r = p->text ? add_request(ret, p->text)
			    : request_event(&groups, s->events->names[p->event], ret);
	}
	free(groups.list);
	return r;
}

int event_patterns_resolve(const char *const *words, size_t n, const struct tracefs_events *events,
			   struct presets *presets, struct event_requests *ret,
			   struct event_requests *ret_idle, struct err_text *e)
{
	static const struct tracefs_events none;
	struct selection s = {.events = events ? events : &none, .presets = presets};
	const char *first_negative = NULL;
	bool all_negative = true;
	int r = 0;

	s.marks = calloc(s.events->n + 1, sizeof(*s.marks));
	if (!s.marks)
		r = -ENOMEM;
	for (size_t i = 0; i < n && !r; i++) {
		bool negative = event_pattern_is_negative(words[i]);

		first_negative = !first_negative && negative ? words[i] : first_negative;
		all_negative &= negative;
		r = apply_word_to_selection(&s, words[i], ret_idle, e);
	}
	/* Words that are presets without events are not an error. */
	if (!r && n && !s.n && (s.n_excluded || all_negative))
		r = err_set(e, -EINVAL,
			    "'%.80s' excludes all events named before it; name at least one other "
			    "event",
			    first_negative);
	if (!r)
		r = make_requests(&s, ret);
	for (size_t i = 0; i < s.n; i++)
		free(s.picks[i].text);
	free(s.picks);
	free(s.marks);
	return r;
}
