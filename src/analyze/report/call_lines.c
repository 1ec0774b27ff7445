/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/call_lines.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "analyze/store/arg_sets.h"
#include "analyze/store/event_args.h"
#include "analyze/store/table_defs.h"
#include "base/calls/call_table.h"
#include "base/calls/call_values.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/number_read.h"

#define FDS_MAX 65536 /* of a process; higher ones have no name */

struct call_fd {
	char *name; /* owned; NULL: unknown */
	bool closes; /* at an exec */
};

/* The descriptors of a process, and its directory. */
struct call_process {
	int64_t pid; /* key */
	UT_hash_handle hh;
	struct call_fd *fds; /* owned */
	size_t n, cap;
	char *dir; /* owned; NULL: unknown */
};

struct call_lines {
	const struct store *s;
	uint32_t arg_keys[CALL_ARGS_MAX], ret_key, cut_key; /* strings; NULL_U32: there is none */
	struct call_process *processes; /* owned */
	uint8_t *changes; /* owned; by string, the name of a call: enum call_change */

	/* The call. The rest is read when it is needed: most calls change no descriptor, and are
	 * not printed. */
	uint32_t slice, utid; /* slice NULL_U32: there is no call yet */
	bool is_read;

	const struct call_row *row; /* NULL: unknown */
	const char *name; /* without sys_ */
	struct call_process *process; /* NULL: unknown */
	uint64_t args[CALL_ARGS_MAX];
	uint32_t texts[CALL_ARGS_MAX]; /* strings; NULL_U32: the argument is a number */
	unsigned n_args; /* that the trace has */
	unsigned cut; /* a bit for each text that lacks a part of the string */
	bool has_ended, has_result;
	int64_t result;
	bool is_applied; /* the call's effect on descriptors was applied */
};

/* Whether calls of a name change descriptors, the directory of a process, or make a process. */
enum call_change { CHANGE_UNKNOWN, CHANGES_NOTHING, CHANGES_DESCRIPTORS };

/* ---- descriptors ---- */

static void call_process_free(struct call_process *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->fds[i].name);
	free(p->fds);
	free(p->dir);
	free(p);
}

static struct call_process *call_process_find(const struct call_lines *l, int64_t pid)
{
	struct call_process *p;

	HASH_FIND(hh, l->processes, &pid, sizeof(pid), p);
	return p;
}

/* Returns the entry of a process, created if needed; NULL if out of memory. */
static struct call_process *call_process_get(struct call_lines *l, int64_t pid)
{
	struct call_process *p = call_process_find(l, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	HASH_ADD(hh, l->processes, pid, sizeof(p->pid), p);
	if (!p->hh.tbl)
		free(TAKE_PTR(p));
	return p;
}

/* Sets the name of a descriptor; NULL: unknown or closed. Takes over name even if it cannot be
 * stored, because the descriptor is too high or memory runs out. */
static void call_process_set_fd(struct call_process *p, uint64_t fd, char *name, bool closes)
{
	if (fd >= FDS_MAX || (fd >= p->n && !name) ||
	    (fd >= p->n && array_reserve(&p->fds, &p->cap, fd + 1, sizeof(*p->fds)) < 0)) {
		free(name);
		return;
	}
	while (p->n <= fd)
		p->fds[p->n++] = (struct call_fd){.name = NULL};
	free(p->fds[fd].name);
	p->fds[fd] = (struct call_fd){name, closes};
}

static const char *call_process_fd(const struct call_process *p, int64_t fd)
{
	return p && fd >= 0 && (uint64_t)fd < p->n ? p->fds[fd].name : NULL;
}

static void call_process_set_dir(struct call_process *p, char *dir)
{
	free(p->dir);
	p->dir = dir;
}

/* Gives the child of a process copies of its descriptors and its directory, in place of those of an
 * earlier process with the child's pid. */
static void call_process_fork(struct call_lines *l, const struct call_process *p, int64_t child)
{
	struct call_process *old = call_process_find(l, child), *c;

	if (old == p)
		return;
	if (old) {
		HASH_DEL(l->processes, old);
		call_process_free(old);
	}
	c = call_process_get(l, child);
	if (!c)
		return;
	for (size_t i = 0; i < p->n; i++)
		if (p->fds[i].name)
			call_process_set_fd(c, i, strdup(p->fds[i].name), p->fds[i].closes);
	call_process_set_dir(c, p->dir ? strdup(p->dir) : NULL);
}

static void call_process_exec(struct call_process *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->fds[i].closes)
			call_process_set_fd(p, i, NULL, false);
}

/* ---- the call ---- */

struct call_lines *call_lines_new(const struct store *s)
{
	struct call_lines *l = calloc(1, sizeof(*l));
	char key[] = "debug.arg0";

	if (!l)
		return NULL;
	l->s = s;
	l->slice = NULL_U32;
	l->changes = calloc(s->strings.n + 1, sizeof(*l->changes));
	if (!l->changes) {
		free(l);
		return NULL;
	}
	for (unsigned i = 0; i < CALL_ARGS_MAX; i++, key[9]++)
		l->arg_keys[i] = strings_find(&s->strings, key, strlen(key));
	l->ret_key = strings_find(&s->strings, "debug.ret", 9);
	l->cut_key = strings_find(&s->strings, "debug.cut", 9);
	return l;
}

void call_lines_free(struct call_lines *l)
{
	struct call_process *p, *next;

	if (!l)
		return;
	HASH_ITER (hh, l->processes, p, next) {
		HASH_DEL(l->processes, p);
		call_process_free(p);
	}
	free(l->changes);
	free(l);
}

static void read_stored_args(struct call_lines *l, uint32_t set)
{
	const struct table *args = &l->s->tables[TABLE_ARGS];

	for (uint32_t i = set; i < args->rows && table_u32(args, ARGS_SET, i) == set; i++) {
		uint32_t key = table_u32(args, ARGS_KEY, i);
		bool is_text = table_u8(args, ARGS_TYPE, i) == ARG_STRING;
		int64_t value = table_i64(args, ARGS_VALUE, i);

		if (key == l->ret_key && !is_text) {
			l->result = value;
			l->has_result = true;
		} else if (key == l->cut_key && value >= 0 && value < CALL_ARGS_MAX) {
			l->cut |= 1u << value;
		}
		for (unsigned arg = 0; arg < CALL_ARGS_MAX; arg++) {
			if (key != l->arg_keys[arg])
				continue;
			l->n_args = MAX(l->n_args, arg + 1);
			if (is_text)
				l->texts[arg] = (uint32_t)value;
			else
				l->args[arg] = (uint64_t)value;
		}
	}
}

/* Reads the arguments of raw_syscalls events: numbers in the order of the call's arguments, and
 * "ret". */
static void read_events(struct call_lines *l, uint32_t set)
{
	struct arg_list list = {0};

	if (call_args_list(l->s, set, &list) == 0)
		for (size_t i = 0; i < list.n; i++) {
			const struct arg *a = &list.args[i];

			if (a->key_len == 3 && !memcmp(a->key, "ret", 3)) {
				l->result = a->i;
				l->has_result = true;
			} else if (l->n_args < CALL_ARGS_MAX) {
				l->args[l->n_args++] = (uint64_t)a->i;
			}
		}
	free(list.args);
}

static int64_t pid_of_thread(const struct store *s, uint32_t utid)
{
	uint32_t upid = table_u32(&s->tables[TABLE_THREAD], THREAD_UPID, utid);

	return upid == NULL_U32 ? -1 : table_i64(&s->tables[TABLE_PROCESS], PROCESS_PID, upid);
}

/* Reads the rest of the current call, unless this was done. */
static void call_lines_read(struct call_lines *l)
{
	const struct table *t = &l->s->tables[TABLE_SLICE];
	const char *name = strings_get(&l->s->strings, table_u32(t, SLICE_NAME, l->slice));
	uint32_t set = table_u32(t, SLICE_ARGS, l->slice);
	int64_t pid = pid_of_thread(l->s, l->utid);

	if (l->is_read)
		return;
	l->is_read = true;
	l->name = name + strlen("sys_");
	l->row = call_row_find(l->name, strlen(l->name));
	l->process = pid < 0 ? NULL : call_process_get(l, pid);
	l->n_args = l->cut = 0;
	l->has_result = l->is_applied = false;
	l->has_ended = table_dur(t, SLICE_DUR, l->slice) >= 0;
	for (unsigned i = 0; i < CALL_ARGS_MAX; i++) {
		l->args[i] = 0;
		l->texts[i] = NULL_U32;
	}
	if (call_args_is_set(set))
		read_events(l, set);
	else if (set != NULL_U32)
		read_stored_args(l, set);
}

/* ---- what a call does to descriptors ---- */

static const char *get_argument_text(const struct call_lines *l, int arg)
{
	if (arg < 0 || l->texts[arg] == NULL_U32)
		return NULL;
	return strings_get(&l->s->strings, l->texts[arg]);
}

static int find_argument(const struct call_lines *l, char letter)
{
	const char *at = l->row ? strchr(l->row->args, letter) : NULL;

	return at ? (int)(at - l->row->args) : -1;
}

/* Returns the directory to which a relative path of an argument is relative; NULL: unknown. */
static const char *dir_of_path_argument(const struct call_lines *l, int path)
{
	if (path > 0 && l->row->args[path - 1] == CALL_DIR_FD && (int)l->args[path - 1] != AT_FDCWD)
		return call_process_fd(l->process, (int)l->args[path - 1]);
	return l->process->dir;
}

/* Returns the path of an argument, with the directory that it is relative to if this is known.
 * NULL: the argument has no text, or memory runs out. The caller frees it. */
static char *get_whole_path_argument(const struct call_lines *l, int arg)
{
	const char *path = get_argument_text(l, arg), *dir;
	struct strbuf b = {0};

	if (!path)
		return NULL;
	dir = *path == '/' ? NULL : dir_of_path_argument(l, arg);
	while (dir && path[0] == '.' && path[1] == '/')
		path += 2;
	if (dir && (!*path || !strcmp(path, ".")))
		return strdup(dir);
	if (dir)
		strbuf_printf(&b, "%s%s", dir, strcmp(dir, "/") != 0 ? "/" : "");
	strbuf_puts(&b, path);
	return strbuf_take(&b);
}

/* Descriptors that have no path, by the beginning of the call's name. */
static const struct {
	const char *call;
	const char *name;
} kinds[] = {
	{"accept", "socket"},
	{"socket", "socket"},
	{"pipe", "pipe"},
	{"epoll_create", "anon_inode:[eventpoll]"},
	{"eventfd", "anon_inode:[eventfd]"},
	{"signalfd", "anon_inode:[signalfd]"},
	{"timerfd_create", "anon_inode:[timerfd]"},
	{"inotify_init", "anon_inode:inotify"},
	{"io_uring_setup", "anon_inode:[io_uring]"},
	{"perf_event_open", "anon_inode:[perf_event]"},
	{"pidfd_open", "anon_inode:[pidfd]"},
	{"userfaultfd", "anon_inode:[userfaultfd]"},
	{"bpf", "anon_inode:bpf"},
};

static const char *kind_of_new_descriptor(const char *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncmp(call, kinds[i].call, strlen(kinds[i].call)))
			return kinds[i].name;
	return NULL;
}

static char *copy_or_null(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* Returns true if an exec closes the descriptors that the call makes. */
static bool makes_close_on_exec(const struct call_lines *l)
{
	static const char letters[] = {CALL_OPEN_FLAGS, CALL_FD_FLAGS, CALL_SOCKET_TYPE,
				       CALL_SOCKET_FLAGS};

	for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
		int arg = find_argument(l, letters[i]);

		if (arg >= 0)
			return l->args[arg] & O_CLOEXEC;
	}
	/* In a trace, struct open_how is a text. */
	return find_argument(l, CALL_HOW) >= 0 &&
	       get_argument_text(l, find_argument(l, CALL_HOW)) &&
	       strstr(get_argument_text(l, find_argument(l, CALL_HOW)), "O_CLOEXEC");
}

static bool call_is_named(const struct call_lines *l, const char *name)
{
	return !strcmp(l->name, name);
}

/* Names the two descriptors that pipe, pipe2 or socketpair made: the argument's text is "[3,
 * 4]". */
static void apply_descriptor_pair(struct call_lines *l, int arg)
{
	const char *text = get_argument_text(l, arg);
	int64_t fds[2] = {0};

	if (!text || !*text)
		return;
	text++;
	(void)str_read_i64(&text, 10, &fds[0]);
	fds[1] = *text ? str_leading_i64(text + 1, 10) : -1;
	for (unsigned i = 0; i < 2; i++)
		if (fds[i] >= 0)
			call_process_set_fd(l->process, (uint64_t)fds[i],
					    copy_or_null(kind_of_new_descriptor(l->name)),
					    makes_close_on_exec(l));
}

/* Names the copy of a descriptor, which all these calls return: dup(fd), dup2(fd, to), dup3(fd, to,
 * flags), fcntl(fd, F_DUPFD, from). */
static void apply_descriptor_copy(struct call_lines *l, bool closes)
{
	const char *name = call_process_fd(l->process, (int)l->args[0]);

	if (l->result != (int)l->args[0])
		call_process_set_fd(l->process, (uint64_t)l->result, copy_or_null(name), closes);
}

static void apply_fcntl(struct call_lines *l)
{
	int fd = (int)l->args[0];

	if (l->args[1] == F_DUPFD || l->args[1] == F_DUPFD_CLOEXEC)
		apply_descriptor_copy(l, l->args[1] == F_DUPFD_CLOEXEC);
	else if (l->args[1] == F_SETFD && fd >= 0 && (uint64_t)fd < l->process->n)
		l->process->fds[fd].closes = l->args[2] & FD_CLOEXEC;
}

/* Sets the process's current directory after chdir, fchdir or getcwd. */
static void apply_dir(struct call_lines *l)
{
	if (call_is_named(l, "chdir"))
		call_process_set_dir(l->process, get_whole_path_argument(l, 0));
	else if (call_is_named(l, "fchdir"))
		call_process_set_dir(l->process,
				     copy_or_null(call_process_fd(l->process, (int)l->args[0])));
	else if (call_is_named(l, "getcwd"))
		call_process_set_dir(l->process, copy_or_null(get_argument_text(l, 0)));
}

static bool apply_process(struct call_lines *l)
{
	bool is_clone = call_is_named(l, "clone") || call_is_named(l, "clone3");
	const char *flags = call_is_named(l, "clone3") ? get_argument_text(l, 0) : NULL;

	if (is_clone &&
	    (flags ? strstr(flags, "CLONE_THREAD") != NULL : (l->args[0] & CLONE_THREAD) != 0))
		return true;
	if (!is_clone && !call_is_named(l, "fork") && !call_is_named(l, "vfork"))
		return false;
	if (l->result > 0)
		call_process_fork(l, l->process, l->result);
	return true;
}

static void call_lines_close_range(struct call_lines *l)
{
	uint64_t last = MIN(l->args[1], (uint64_t)FDS_MAX);

	for (uint64_t fd = l->args[0]; fd <= last && fd < l->process->n; fd++)
		call_process_set_fd(l->process, fd, NULL, false);
}

static char *name_of_new_descriptor(struct call_lines *l)
{
	int path = find_argument(l, CALL_PATH);
	struct strbuf b = {0};

	if (path >= 0)
		return get_whole_path_argument(l, path);
	if (!call_is_named(l, "memfd_create") || !get_argument_text(l, 0))
		return copy_or_null(kind_of_new_descriptor(l->name));
	strbuf_printf(&b, "/memfd:%s", get_argument_text(l, 0));
	return strbuf_take(&b);
}

static enum call_change find_call_change(const char *name)
{
	/* Beginnings of the names of other calls that change descriptors or the directory. */
	static const char *const others[] = {"chdir",  "clone", "close", "dup",	   "execve",
					     "fchdir", "fcntl", "fork",	 "getcwd", "vfork"};
	const struct call_row *row = call_row_find(name, strlen(name));

	if (!row)
		return CHANGES_NOTHING;
	if (row->result == CALL_FD || strchr(row->args, CALL_FD_PAIR))
		return CHANGES_DESCRIPTORS;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (str_starts(name, others[i]))
			return CHANGES_DESCRIPTORS;
	return CHANGES_NOTHING;
}

static bool changes_descriptors(struct call_lines *l)
{
	uint32_t name = table_u32(&l->s->tables[TABLE_SLICE], SLICE_NAME, l->slice);
	uint8_t *change = &l->changes[MIN(name, l->s->strings.n)];

	if (*change == CHANGE_UNKNOWN)
		*change = find_call_change(strings_get(&l->s->strings, name) + strlen("sys_"));
	return *change == CHANGES_DESCRIPTORS;
}

/* Updates the descriptors of the process after the call. */
static void call_lines_apply(struct call_lines *l)
{
	int pair;

	if (l->slice == NULL_U32 || !changes_descriptors(l))
		return;
	call_lines_read(l);
	pair = find_argument(l, CALL_FD_PAIR);
	if (!l->row || !l->process || l->is_applied || !l->has_result || l->result < 0)
		return;
	l->is_applied = true;
	if (apply_process(l))
		return;
	if (call_is_named(l, "close"))
		call_process_set_fd(l->process, (uint64_t)(int64_t)(int)l->args[0], NULL, false);
	else if (call_is_named(l, "close_range"))
		call_lines_close_range(l);
	else if (str_starts(l->name, "execve"))
		call_process_exec(l->process);
	else if (pair >= 0)
		apply_descriptor_pair(l, pair);
	else if (call_is_named(l, "dup") || call_is_named(l, "dup2") || call_is_named(l, "dup3"))
		apply_descriptor_copy(l, makes_close_on_exec(l));
	else if (str_starts(l->name, "fcntl"))
		apply_fcntl(l);
	else if (l->row->result == CALL_FD)
		call_process_set_fd(l->process, (uint64_t)l->result, name_of_new_descriptor(l),
				    makes_close_on_exec(l));
	else
		apply_dir(l);
}

void call_lines_add(struct call_lines *l, uint32_t row, uint32_t utid)
{
	call_lines_apply(l);
	l->slice = row;
	l->utid = utid;
	l->is_read = false;
}

/* ---- the line ---- */

static void put_name_of_fd(const char *name, struct strbuf *b)
{
	if (name)
		strbuf_printf(b, "<%s>", name);
}

static void put_argument(struct call_lines *l, unsigned i, struct strbuf *b)
{
	const char *text = get_argument_text(l, (int)i);
	char letter = l->row ? l->row->args[i] : CALL_HEX;

	if (text && (letter == CALL_PATH || letter == CALL_NAME || letter == CALL_PATH_OUT)) {
		strbuf_printf(b, "\"%s\"%s", text, l->cut >> i & 1 ? "..." : "");
		return;
	}
	if (text) {
		strbuf_puts(b, text);
		return;
	}
	call_value_put(l->row, l->args, i, b);
	if (letter == CALL_FD)
		put_name_of_fd(call_process_fd(l->process, (int)l->args[i]), b);
	else if (letter == CALL_DIR_FD && (int)l->args[i] == AT_FDCWD)
		put_name_of_fd(l->process ? l->process->dir : NULL, b);
	else if (letter == CALL_DIR_FD)
		put_name_of_fd(call_process_fd(l->process, (int)l->args[i]), b);
}

static void put_result(struct call_lines *l, struct strbuf *b)
{
	if (!l->has_ended) {
		strbuf_puts(b, " <unfinished ...>");
		return;
	}
	strbuf_puts(b, " = ");
	if (!l->has_result) {
		strbuf_putc(b, '?');
		return;
	}
	call_result_put(l->row, l->result, b);
	if (l->row && l->row->result == CALL_FD && l->process) {
		/* The new descriptor has a name only after the effect of the call is applied. */
		call_lines_apply(l);
		put_name_of_fd(call_process_fd(l->process, l->result), b);
	}
}

void call_lines_put(struct call_lines *l, struct strbuf *b)
{
	unsigned n;

	call_lines_read(l);
	n = MIN(call_count_args(l->row, l->args), l->n_args);
	strbuf_printf(b, "%s(", l->name);
	for (unsigned i = 0; i < n; i++) {
		strbuf_puts(b, i ? ", " : "");
		put_argument(l, i, b);
	}
	strbuf_putc(b, ')');
	put_result(l, b);
}

bool call_lines_append_path(struct call_lines *l, struct strbuf *b)
{
	_cleanup_(freep) char *path = NULL;
	const char *name;
	int arg;

	call_lines_read(l);
	arg = l->row ? call_row_path(l->row) : -1;
	path = arg >= 0 && l->process ? get_whole_path_argument(l, arg) : NULL;
	name = path;
	if (!name && l->row && (arg = find_argument(l, CALL_FD)) >= 0)
		name = call_process_fd(l->process, (int)l->args[arg]);
	if (name)
		strbuf_puts(b, name);
	return name != NULL;
}
