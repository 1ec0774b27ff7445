/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/option_values.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "config/limits.h"
#include "subjects/subject.h"

int option_parse_duration(const char *option, const char *text, uint32_t *ret_ms,
			  struct err_text *e)
{
	uint32_t ms;
	int r = str_to_duration_ms(text, &ms);

	if (r == -ERANGE || (!r && ms > LIMIT_DURATION_MS))
		return err_set(e, -EINVAL, "%s %.80s: the maximum duration is 7 days", option,
			       text);
	if (r)
		return err_set(e, -EINVAL, "%s %.80s: not a duration; examples: 10, 10s, 500ms, 2m",
			       option, text);
	if (!ms)
		return err_set(e, -EINVAL,
			       "%s %.80s: the duration must not be 0; without %s the recording "
			       "lasts until Ctrl-C",
			       option, text, option);
	*ret_ms = ms;
	return 0;
}

static bool is_number_without_unit(const char *text)
{
	return !text[strspn(text, "0123456789.")];
}

/* Refuses a size without a unit: Perfetto does not accept one, trace-cmd reads it as KiB, and users
 * mean MiB. */
static int refuse_unit(const char *option, const char *text, struct err_text *e)
{
	return err_set(e, -EINVAL, "%s %.40s: the unit is missing; write %.40smb, or %.40skb",
		       option, text, text, text);
}

int option_parse_size(const char *option, const char *text, uint32_t *ret_kb, struct err_text *e)
{
	uint32_t kb;
	int r = str_to_size_kb(text, &kb);

	if (r == -ERANGE || (!r && kb > LIMIT_BUFFER_SIZE_KB))
		return err_set(e, -EINVAL, "%s %.80s: a buffer must be smaller than 4 GiB", option,
			       text);
	if (r)
		return err_set(e, -EINVAL, "%s %.80s: not a size; examples: 64mb, 512k", option,
			       text);
	if (!kb)
		return err_set(e, -EINVAL, "%s %.80s: the size of a buffer must not be 0", option,
			       text);
	if (is_number_without_unit(text))
		return refuse_unit(option, text, e);
	*ret_kb = kb;
	return 0;
}

int option_parse_file_size(const char *option, const char *text, uint64_t *ret_bytes,
			   struct err_text *e)
{
	uint32_t kb;
	int r = str_to_size_kb(text, &kb);

	if (r == -ERANGE)
		return err_set(e, -EINVAL, "%s %.80s: a file must be smaller than 4 TiB", option,
			       text);
	if (r || !kb)
		return err_set(e, -EINVAL, "%s %.80s: not a size; examples: 64mb, 2gb", option,
			       text);
	if (is_number_without_unit(text))
		return refuse_unit(option, text, e);
	*ret_bytes = (uint64_t)kb << 10;
	return 0;
}

int option_parse_number(const char *option, const char *text, uint32_t *ret, struct err_text *e)
{
	uint32_t n;

	if (str_to_u32(text, &n) || !n)
		return err_set(e, -EINVAL, "%s %.80s: not a number greater than 0", option, text);
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

/* Adds the processes of a program. Returns 0; -EINVAL and sets e; or -ENOMEM. */
static int add_program(const char *option, const char *text, size_t len, struct pid_list *l,
		       struct err_text *e)
{
	_cleanup_(pid_set_clear) struct pid_set pids = {0};
	char nearest[SUBJECT_PROGRAM_LEN + 1], name[64] = "";
	int r = 0;

	memcpy(name, text, MIN(len, sizeof(name) - 1));
	if (pid_set_reserve(&pids) < 0)
		return -ENOMEM;
	if (!subject_find_program("/proc", name, &pids, nearest))
		return err_set(e, -EINVAL, "%s: no process is named '%.64s'%s%s%s", option, name,
			       *nearest ? "; did you mean " : "", nearest, *nearest ? "?" : "");
	for (int32_t pid = 0; (pid = pid_set_next(&pids, pid)) && !r;)
		r = add_pid(l, (uint32_t)pid);
	return r == -E2BIG ? err_set(e, -EINVAL, "%s: more than %d processes are named '%.64s'",
				     option, PID_LIST_MAX, name)
			   : r;
}

int option_parse_pids(const char *option, const char *text, struct pid_list *l, struct err_text *e)
{
	for (const char *end;; text = end + 1) {
		char number[16] = ""; /* stays empty if there are more digits */
		uint32_t pid;
		size_t len;
		int r;

		end = strchrnul(text, ',');
		len = (size_t)(end - text);
		if (len < sizeof(number))
			memcpy(number, text, len);
		if (str_to_u32(number, &pid) || !pid || pid > INT32_MAX) {
			if (len && strspn(text, "0123456789") != len) {
				r = add_program(option, text, len, l, e);
				if (r || !*end)
					return r;
				continue;
			}
			return err_set(e, -EINVAL, "%s: '%.*s' is not a process id; %s", option,
				       (int)MIN(len, (size_t)80), text,
				       len ? "the range is 1 to 2147483647"
					   : "examples: 1234, 1,2, nginx");
		}
		r = add_pid(l, pid);
		if (r == -E2BIG)
			return err_set(e, -EINVAL, "%s: too many processes; the limit is %d",
				       option, PID_LIST_MAX);
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

static int parse_trigger_action(const char *option, const char *name, struct trigger *ret,
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
		return err_set(e, -EINVAL, "%s: unknown action '%.80s'; did you mean %s?", option,
			       name, str_nearest_get(&nearest));
	return err_set(e, -EINVAL,
		       "%s: unknown action '%.80s'; the actions are stacktrace, traceon, traceoff",
		       option, name);
}

/* Parses the rest after the action: nothing, or " if FILTER". */
static int parse_trigger_filter(const char *option, const char *rest, struct trigger *ret,
				struct err_text *e)
{
	rest += strspn(rest, " ");
	if (!*rest)
		return 0;
	if (!str_starts(rest, "if ") || !rest[3 + strspn(rest + 3, " ")])
		return err_set(e, -EINVAL,
			       "%s: '%.80s' is not a condition; example: traceoff:1 if ret < 0",
			       option, rest);
	ret->filter = rest + 3 + strspn(rest + 3, " ");
	return 0;
}

int option_parse_trigger(const char *option, const char *text, struct trigger *ret,
			 struct err_text *e)
{
	struct trigger t = {0};
	char head[96], *colon;
	size_t len = strcspn(text, " ");
	int r;

	snprintf(head, sizeof(head), "%.*s", (int)MIN(len, sizeof(head)), text);
	colon = strchr(head, ':');
	if (colon)
		*colon = '\0';
	r = parse_trigger_action(option, head, &t, e);
	if (!r && colon && (str_to_u32(colon + 1, &t.count) || !t.count))
		r = err_set(e, -EINVAL, "%s: '%s' is not a count greater than 0", option,
			    colon + 1);
	if (!r)
		r = parse_trigger_filter(option, text + len, &t, e);
	if (!r)
		*ret = t;
	return r;
}

#define WORDS ARRAY_SIZE(((struct cpu_list *)0)->words)
#define MAX_BYTES (64u << 10) /* limit of a CPU list of the kernel */

/* Parses a decimal number at *at and advances *at. Returns 0, -EINVAL or -ERANGE. */
static int parse_cpu_number(const char **at, uint32_t *ret)
{
	uint32_t n = 0;

	if (**at < '0' || **at > '9')
		return -EINVAL;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		n = n * 10 + (uint32_t)(**at - '0');
		if (n >= CPU_LIST_MAX)
			return -ERANGE;
	}
	*ret = n;
	return 0;
}

int cpu_list_add(struct cpu_list *l, const char *text)
{
	uint32_t first, last;
	int r;

	for (;; text++) {
		r = parse_cpu_number(&text, &first);
		if (r)
			return r;
		last = first;
		if (*text == '-') {
			text++;
			r = parse_cpu_number(&text, &last);
			if (r)
				return r;
		}
		if (last < first || (*text && *text != ','))
			return -EINVAL;
		for (uint32_t c = first; c <= last; c++)
			l->words[c / 32] |= 1u << c % 32;
		if (!*text)
			return 0;
	}
}

/* Reads the CPUs that were present at boot; they may be offline now. */
static int read_present_cpus(const char *sys_root, struct strbuf *text, struct cpu_list *ret)
{
	char path[PATH_MAX];
	int r;

	r = fs_join(path, sizeof(path), sys_root, "devices/system/cpu/present");
	if (!r)
		r = fs_read_file(path, MAX_BYTES, text);
	if (r)
		return r;
	if (text->len && text->s[text->len - 1] == '\n')
		text->s[--text->len] = '\0';
	return text->s ? cpu_list_add(ret, text->s) : -EINVAL;
}

int cpu_list_check(const struct cpu_list *l, const char *sys_root, struct err_text *e)
{
	struct cpu_list present = {0};
	struct strbuf text = {0};
	int r = 0;

	if (read_present_cpus(sys_root, &text, &present)) {
		strbuf_deinit(&text);
		return 0;
	}
	for (uint32_t c = 0; c < CPU_LIST_MAX && !r; c++)
		if (l->words[c / 32] & ~present.words[c / 32] & 1u << c % 32)
			r = err_set(e, -ENXIO, "-C: this machine has no CPU %u; it has %s", c,
				    text.s);
	strbuf_deinit(&text);
	return r;
}

void cpu_list_put_mask(const struct cpu_list *l, struct strbuf *b)
{
	size_t i = WORDS - 1;

	while (i && !l->words[i])
		i--;
	strbuf_printf(b, "%x", l->words[i]);
	while (i--)
		strbuf_printf(b, ",%08x", l->words[i]);
}

int cpu_list_get_numbers(const struct cpu_list *l, uint32_t **ret_cpus, size_t *ret_n)
{
	uint32_t *cpus = malloc(CPU_LIST_MAX * sizeof(*cpus));
	size_t n = 0;

	if (!cpus)
		return -ENOMEM;
	for (uint32_t c = 0; c < CPU_LIST_MAX; c++)
		if (l->words[c / 32] & 1u << c % 32)
			cpus[n++] = c;
	*ret_cpus = cpus;
	*ret_n = n;
	return 0;
}

struct tids {
	uint32_t *tids; /* owned */
	size_t n;
	size_t cap;
};

static int add_tid(void *ctx, const char *name, unsigned char d_type)
{
	struct tids *t = ctx;
	uint32_t tid;

	if (str_to_u32(name, &tid))
		return 0;
	if (array_reserve(&t->tids, &t->cap, t->n + 1, sizeof(*t->tids)))
		return -ENOMEM;
	t->tids[t->n++] = tid;
	return 0;
}

static int add_process_threads(struct tids *t, const char *proc_root, uint32_t pid,
			       struct err_text *e)
{
	size_t before = t->n;
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/%u/task", proc_root, pid);
	r = fs_each(path, add_tid, t);
	if (r == -ENOENT || r == -ESRCH || (!r && t->n == before))
		return err_set(e, -ESRCH, "-p: no process has the ID %u", pid);
	return r && r != -ENOMEM ? err_set(e, r, "-p %u: %s: %s", pid, path, strerror(-r)) : r;
}

int pid_list_read_threads(const char *proc_root, const struct pid_list *pids, uint32_t **ret_tids,
			  size_t *ret_n, struct err_text *e)
{
	struct tids t = {0};
	int r = 0;

	for (size_t i = 0; i < pids->n && !r; i++)
		r = add_process_threads(&t, proc_root, pids->pids[i], e);
	if (r) {
		free(t.tids);
		return r;
	}
	*ret_tids = t.tids;
	*ret_n = t.n;
	return 0;
}
