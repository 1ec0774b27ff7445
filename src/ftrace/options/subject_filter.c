/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel adds the children of listed threads, before they run. So all descendants of a group's
 * threads are recorded from their first event. A group that has no thread yet is recorded
 * completely if the process that will start its first one is listed. Other children of that process
 * are recorded, too.
 */
#include "ftrace/options/subject_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/text/str.h"
#include "ftrace/options/event_filters.h"

/* Appends the ids of the set to the list of a config. */
static int append_ids(const struct pid_set *from, size_t *n, uint32_t **list)
{
	size_t more = 0;
	uint32_t *longer;

	for (int32_t id = 0; (id = pid_set_next(from, id));)
		more++;
	longer = realloc(*list, (*n + more + 1) * sizeof(*longer));
	if (!longer)
		return -ENOMEM;
	*list = longer;
	for (int32_t id = 0; (id = pid_set_next(from, id));)
		longer[(*n)++] = (uint32_t)id;
	return 0;
}

int subject_filter_resolve(const struct setup *s, Pb__FtraceConfig *own, struct subject *groups)
{
	_cleanup_(pid_set_clear) struct pid_set threads = {0}, spawners = {0};
	struct err_text e;
	int r;

	if (!subject_has_groups(s->subject))
		return 0;
	r = subject_find_groups(s->subject, s->sys_root, groups, &e);
	if (r < 0) {
		setup_error_set_fatal(s->errors, "nothing is recorded: %s", e.text);
		return r;
	}
	if (pid_set_reserve(&threads) < 0 || pid_set_reserve(&spawners) < 0 ||
	    subject_add_threads(groups, &threads) < 0)
		return -ENOMEM;
	subject_add_spawners(groups, s->subject, s->proc_root, &spawners);
	r = append_ids(&threads, &own->n_tids_to_trace, &own->tids_to_trace);
	if (!r)
		r = append_ids(&spawners, &own->n_pids_to_trace, &own->pids_to_trace);
	own->has_follow_children = own->follow_children = true;
	if (!r && !own->n_tids_to_trace && !own->n_pids_to_trace) {
		setup_error_set_fatal(s->errors,
				      "nothing is recorded: the control groups in subject_config "
				      "have no processes, and no known process starts any");
		return -ESRCH;
	}
	return r;
}

/* Returns the field with the name of the other thread for events that are also about a thread other
 * than the running one, else NULL. */
static const char *other_thread_field(const struct event_name *e)
{
	static const struct {
		const char *group, *name, *field;
	} events[] = {
		{"sched", "sched_switch", "next_comm"}, {"sched", "sched_waking", "comm"},
		{"sched", "sched_wakeup", "comm"},	{"sched", "sched_wakeup_new", "comm"},
		{"task", "task_rename", "newcomm"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(e->group, events[i].group) && !strcmp(e->name, events[i].name))
			return events[i].field;
	return NULL;
}

/* Appends a comparison with the name. The kernel takes quotation marks of either kind, knows no
 * escapes, and compares byte by byte, including '*'. Returns false if the name is empty or contains
 * both kinds. COMM is the running thread's name. */
static bool append_comparison(struct strbuf *to, const char *field, const char *program)
{
	size_t len = strnlen(program, SUBJECT_PROGRAM_LEN);
	char quote = memchr(program, '"', len) ? '\'' : '"';

	if (!len || memchr(program, quote, len))
		return false;
	strbuf_printf(to, "%s%s == %c%.*s%c", to->len ? " || " : "", field, quote, (int)len,
		      program, quote);
	return true;
}

/* Returns the filter of an event, which the caller frees. Returns NULL if out of memory, or with
 * *ret_bad if a filter cannot contain that name. */
static char *make_program_filter(const struct event_name *e, const Pb__SubjectConfig *c,
				 const char **ret_bad)
{
	const char *fields[] = {"COMM", other_thread_field(e)};
	struct strbuf text = {0};

	*ret_bad = NULL;
	for (size_t i = 0; i < c->n_programs; i++) {
		for (size_t f = 0; f < ARRAY_SIZE(fields) && fields[f]; f++) {
			if (append_comparison(&text, fields[f], c->programs[i]))
				continue;
			*ret_bad = c->programs[i];
			strbuf_deinit(&text);
			return NULL;
		}
	}
	return strbuf_take(&text);
}

int subject_filter_programs(struct event_selection *events, const struct setup *s)
{
	int r = 0;

	if (!subject_has_programs(s->subject))
		return 0;
	if (s->config->enable_function_graph) {
		setup_error_set_fatal(
			s->errors, "nothing is recorded: functions cannot be filtered by program");
		return -EINVAL;
	}
	for (size_t i = events->n; i-- > 0 && !r;) {
		struct event_name *e = &events->events[i];
		_cleanup_(freep) char *filter = NULL;
		const char *bad;

		filter = make_program_filter(e, s->subject, &bad);
		if (bad) {
			setup_error_set_fatal(s->errors,
					      "nothing is recorded: '%.64s' cannot be used as a "
					      "program name in a kernel filter",
					      bad);
			return -EINVAL;
		}
		if (!filter || event_filter_add(events, e, filter, s) == -ENOMEM)
			return -ENOMEM;
		r = coroutine_yield();
	}
	return r;
}
