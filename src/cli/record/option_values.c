// SPDX-License-Identifier: Apache-2.0
#include "cli/record/option_values.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "config/limits.h"

int option_time(const char *option, const char *text, uint32_t *ret_ms, struct err_text *e)
{
	uint32_t ms;
	int r = str_to_duration_ms(text, &ms);

	if (r == -ERANGE || (!r && ms > LIMIT_DURATION_MS))
		return err_set(e, -EINVAL, "%s %.80s: a recording may last 7 days at most", option,
			       text);
	if (r)
		return err_set(e, -EINVAL, "%s %.80s is no time; examples: 10, 10s, 500ms, 2m",
			       option, text);
	if (!ms)
		return err_set(e, -EINVAL,
			       "%s %.80s: a recording needs a time; without %s it lasts "
			       "until Ctrl-C",
			       option, text, option);
	*ret_ms = ms;
	return 0;
}

int option_size(const char *option, const char *text, uint32_t *ret_kb, struct err_text *e)
{
	uint32_t kb;
	int r = str_to_size_kb(text, &kb);

	if (r == -ERANGE || (!r && kb > LIMIT_BUFFER_SIZE_KB))
		return err_set(e, -EINVAL, "%s %.80s: a buffer must stay below 4 GiB", option,
			       text);
	if (r)
		return err_set(e, -EINVAL, "%s %.80s is no size; examples: 64mb, 512k", option,
			       text);
	if (!kb)
		return err_set(e, -EINVAL, "%s %.80s: a buffer needs a size", option, text);
	*ret_kb = kb;
	return 0;
}

int option_file_size(const char *option, const char *text, uint64_t *ret_bytes, struct err_text *e)
{
	uint32_t kb;
	int r = str_to_size_kb(text, &kb);

	if (r == -ERANGE)
		return err_set(e, -EINVAL, "%s %.80s: a file must stay below 4 TiB", option, text);
	if (r || !kb)
		return err_set(e, -EINVAL, "%s %.80s is no size; examples: 64mb, 2gb", option,
			       text);
	*ret_bytes = (uint64_t)kb << 10;
	return 0;
}

int option_number(const char *option, const char *text, uint32_t *ret, struct err_text *e)
{
	uint32_t n;

	if (str_to_u32(text, &n) || !n)
		return err_set(e, -EINVAL, "%s %.80s is no number from 1 on", option, text);
	*ret = n;
	return 0;
}

/* ---- processes ---- */

static int add_pid(struct pid_list *l, uint32_t pid)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->pids[i] == pid)
			return 0;
	if (l->n >= PID_LIST_MAX)
		return -E2BIG;
	if (array_reserve(&l->pids, &l->cap, l->n + 1, sizeof(*l->pids)))
		return -ENOMEM;
	l->pids[l->n++] = pid;
	return 0;
}

int option_pids(const char *option, const char *text, struct pid_list *l, struct err_text *e)
{
	const char *end;
	char number[16];
	uint32_t pid;
	int r;

	for (;; text = end + 1) {
		end = strchrnul(text, ',');
		snprintf(number, sizeof(number), "%.*s",
			 (int)MIN((size_t)(end - text), sizeof(number)), text);
		if (str_to_u32(number, &pid) || !pid || pid > INT32_MAX)
			return err_set(e, -EINVAL, "%s: '%.*s' is no process; examples: 1234, 1,2",
				       option, (int)MIN(end - text, (ptrdiff_t)80), text);
		r = add_pid(l, pid);
		if (r == -E2BIG)
			return err_set(e, -EINVAL, "%s: more than %d processes", option,
				       PID_LIST_MAX);
		if (r || !*end)
			return r;
	}
}

/* ---- triggers ---- */

static const struct {
	const char *name;
	Pb__FtraceConfig__EventTrigger__Action action;
} actions[] = {
	{"stacktrace", PB__FTRACE_CONFIG__EVENT_TRIGGER__ACTION__ACTION_STACKTRACE},
	{"traceoff", PB__FTRACE_CONFIG__EVENT_TRIGGER__ACTION__ACTION_TRACEOFF},
	{"traceon", PB__FTRACE_CONFIG__EVENT_TRIGGER__ACTION__ACTION_TRACEON},
};

static int find_action(const char *option, const char *name, struct trigger *ret,
		       struct err_text *e)
{
	struct str_nearest nearest;

	str_nearest_init(&nearest, name);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		ret->action = actions[i].action;
		if (!strcmp(actions[i].name, name))
			return 0;
		str_nearest_try(&nearest, actions[i].name);
	}
	if (str_nearest_get(&nearest))
		return err_set(e, -EINVAL, "%s: there is no action '%.80s'; did you mean %s?",
			       option, name, str_nearest_get(&nearest));
	return err_set(e, -EINVAL,
		       "%s: there is no action '%.80s'; there are stacktrace, traceon, traceoff",
		       option, name);
}

/* Behind the action: nothing, or " if FILTER". */
static int take_filter(const char *option, const char *rest, struct trigger *ret,
		       struct err_text *e)
{
	rest += strspn(rest, " ");
	if (!*rest)
		return 0;
	if (!str_starts(rest, "if ") || !rest[3 + strspn(rest + 3, " ")])
		return err_set(e, -EINVAL,
			       "%s: '%.80s' is no condition; example: traceoff:1 if ret < 0",
			       option, rest);
	ret->filter = rest + 3 + strspn(rest + 3, " ");
	return 0;
}

int option_trigger(const char *option, const char *text, struct trigger *ret, struct err_text *e)
{
	struct trigger t = {0};
	char head[96], *colon;
	size_t len = strcspn(text, " ");
	int r;

	snprintf(head, sizeof(head), "%.*s", (int)MIN(len, sizeof(head)), text);
	colon = strchr(head, ':');
	if (colon)
		*colon = '\0';
	r = find_action(option, head, &t, e);
	if (!r && colon && (str_to_u32(colon + 1, &t.count) || !t.count))
		r = err_set(e, -EINVAL, "%s: '%s' is no count from 1 on", option, colon + 1);
	if (!r)
		r = take_filter(option, text + len, &t, e);
	if (!r)
		*ret = t;
	return r;
}
