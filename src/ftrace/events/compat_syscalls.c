/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings are read one after the other, and the kernel often migrates a thread in execve:
 *
 *	CPU 0                    exit 11   enter 295 ...     read first
 *	CPU 1   ...  enter 59                                earlier, but read later
 *
 * So each fact about a thread has a time. Number 11 is execve in the 32-bit table and munmap in
 * the 64-bit table; an exit with number 11 is a munmap if its entry has that number, too. A thread
 * that is wrongly taken for COMPAT becomes NATIVE at its first argument of more than 32 bits.
 *
 * The replaced records:
 *
 *	bytes              8        16                                       64
 *	sys_enter          [ id    ][ args, 8 bytes each                     ]
 *	compat_sys_enter   [id ][ name                   ][ args, 4 bytes each]
 *	                   8   12                        40                  64
 *	sys_exit           [ id    ][ ret    ]
 *	compat_sys_exit    [id ][ret ]
 */
#include "ftrace/events/compat_syscalls.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/open_table.h"
#include "base/system/outside_reads.h"
#include "base/system/syscall_names.h"

/* KERNEL_MARK is a file of /proc that exists if the kernel runs 32-bit programs; "": not checked.
 * EXEC_SHOWS_SIZE: arch/x86/kernel/process_64.c makes a new program return from an execve with the
 * number in the program's own table. */
#ifdef __x86_64__
#define KERNEL_MARK "sys/abi/vsyscall32"
#define EXEC_SHOWS_SIZE true
#else
#define KERNEL_MARK ""
#define EXEC_SHOWS_SIZE false
#endif

enum state { UNSEEN, GONE, NATIVE, COMPAT };

struct compat_thread {
	uint32_t tid; /* 0: free */
	uint16_t state;
	int16_t last; /* number of the current call; -1: none */
	uint64_t since; /* time of the exec that led to this state */
	uint64_t ended; /* time of its end; later records belong to another thread; 0: running */
};

struct compat_threads {
	const char *proc_root; /* borrowed */
	struct compat_thread *threads; /* owned: a hash table of COMPAT_THREADS_MAX entries */
	size_t n;
	uint64_t since; /* time of the record at which the table was last cleared */
	struct compat_numbers {
		int execve, execveat, exit, exit_group; /* negative: none */
	} numbers[2]; /* of the 64-bit table and the 32-bit table */
	bool exec_shows_size; /* EXEC_SHOWS_SIZE */
};

struct compat_call {
	uint64_t time; /* ns */
	uint32_t tid;
	int64_t nr;
	int64_t ret; /* result of the call at its exit */
	bool wide; /* an argument had more than 32 bits at the entry */
};

#define COMPAT_NUMBERS 512u /* above the highest number of every 32-bit table */
#define COMPAT_NAME_LEN 28

struct compat_decoder {
	struct compat_syscalls ids;
	struct compat_threads threads;
	uint8_t record[COMPAT_ENTER_LEN]; /* replacement of the latest record */
	char names[COMPAT_NUMBERS][COMPAT_NAME_LEN]; /* without a NUL if the name fills the array */
};

/* ---- the table ---- */

static void look_up_syscall_numbers(struct compat_numbers *n, bool compat)
{
	*n = (struct compat_numbers){
		.execve = syscall_number("execve", compat),
		.execveat = syscall_number("execveat", compat),
		.exit = syscall_number("exit", compat),
		.exit_group = syscall_number("exit_group", compat),
	};
}

/* proc_root is borrowed. Returns 0, -ENOMEM, or -EOPNOTSUPP if the kernel runs no 32-bit programs
 * or the numbers of its system calls are unknown. */
static int compat_threads_init(struct compat_threads *t, const char *proc_root)
{
	char path[4096];

	*t = (struct compat_threads){.proc_root = proc_root};
	snprintf(path, sizeof(path), "%s/" KERNEL_MARK, proc_root ? proc_root : "");
	if (!proc_root || access(path, F_OK) < 0)
		return -EOPNOTSUPP;
	look_up_syscall_numbers(&t->numbers[0], false);
	look_up_syscall_numbers(&t->numbers[1], true);
	if (t->numbers[0].execve < 0 || t->numbers[1].execve < 0)
		return -EOPNOTSUPP;
	t->exec_shows_size = EXEC_SHOWS_SIZE;
	t->threads = calloc(COMPAT_THREADS_MAX, sizeof(*t->threads));
	return t->threads ? 0 : -ENOMEM;
}

/* ---- one thread ---- */

/* Reads from auxv whether a program is a 32-bit one. In a 64-bit program each word is a small
 * number, so one half of it is 0. In a 32-bit program the halves are a type and its value, an
 * address or flags. */
static enum state read_word_size(const struct compat_threads *t, uint32_t tid)
{
	uint32_t halves[2];
	char path[4096];

	snprintf(path, sizeof(path), "%s/%u/auxv", t->proc_root, tid);
	if (outside_read(path, halves, sizeof(halves), OUTSIDE_READ_SHORT_MS) != sizeof(halves))
		return GONE;
	return halves[0] && halves[1] ? COMPAT : NATIVE;
}

/* Returns the state of the thread that makes the call. Begins a new one if the thread is new, or
 * the last one with its id has ended; then nothing is known of it. */
static struct compat_thread *compat_threads_find(struct compat_threads *t,
						 const struct compat_call *c)
{
	struct compat_thread *thread;

	if (t->n >= COMPAT_THREADS_MAX / 4 * 3 ||
	    (c->time > t->since && c->time - t->since > COMPAT_THREADS_NS)) {
		memset(t->threads, 0, COMPAT_THREADS_MAX * sizeof(*t->threads));
		t->n = 0;
		t->since = c->time;
	}
	thread = &t->threads[OPEN_TABLE_FIND(COMPAT_THREADS_MAX, c->tid * 0x9e3779b1u, at,
					     !t->threads[at].tid || t->threads[at].tid == c->tid)];
	if (thread->tid != c->tid) {
		t->n++;
		*thread = (struct compat_thread){.tid = c->tid, .last = -1};
	}
	if (thread->ended && c->time > thread->ended)
		*thread = (struct compat_thread){.tid = c->tid, .last = -1};
	return thread;
}

static bool is_exec_number(const struct compat_numbers *n, int64_t nr)
{
	return nr >= 0 && (nr == n->execve || nr == n->execveat);
}

/* compat_threads_enter() handles the entry of a call, compat_threads_exit() the exit; call them in
 * the order of the ring. Both return true if the call belongs to a 32-bit program. The exit of an
 * execve that changes the program from 32 to 64 bits, or back, counts for the table of its entry:
 * compat_threads_exit() sets c->nr to execve's number there. */
static bool compat_threads_enter(struct compat_threads *t, const struct compat_call *c)
{
	struct compat_thread *thread = compat_threads_find(t, c);
	const struct compat_numbers *n;
	enum state now;

	if (c->time < thread->since)
		return thread->state != COMPAT;
	/* If the last call is an execve, its exit is in another ring and is read later or never. */
	if (thread->state == UNSEEN ||
	    is_exec_number(&t->numbers[thread->state == COMPAT], thread->last)) {
		now = read_word_size(t, c->tid);
		if (now != GONE || thread->state == UNSEEN)
			thread->state = (uint16_t)now;
	}
	if (c->wide && thread->state == COMPAT)
		thread->state = NATIVE;
	n = &t->numbers[thread->state == COMPAT];
	thread->last = (int16_t)c->nr;
	if (c->nr == n->exit || c->nr == n->exit_group)
		thread->ended = c->time;
	return thread->state == COMPAT;
}

/* Returns true if c is the exit of an execve after which the thread uses the other system call
 * table. Sets thread->state to the state before the execve if the thread was not seen before. */
static bool detect_table_change(const struct compat_threads *t, struct compat_thread *thread,
				const struct compat_call *c)
{
	bool seen = thread->state != UNSEEN;

	if (!seen)
		thread->state = (uint16_t)read_word_size(t, c->tid);
	if (!t->exec_shows_size || c->ret || c->nr == thread->last)
		return false;
	if (thread->state == COMPAT && !seen && c->nr == t->numbers[1].execve) {
		thread->state = NATIVE; /* the state before the execve */
		return true; /* /proc showed the state after it */
	}
	if (thread->state == COMPAT)
		return c->nr == t->numbers[0].execve;
	return c->nr == t->numbers[1].execve && (seen || thread->state == GONE);
}

static bool compat_threads_exit(struct compat_threads *t, struct compat_call *c)
{
	struct compat_thread *thread = compat_threads_find(t, c);
	bool compat;

	if (c->time < thread->since)
		return thread->state != COMPAT;
	if (detect_table_change(t, thread, c)) {
		compat = thread->state == COMPAT;
		c->nr = is_exec_number(&t->numbers[compat], thread->last)
				? thread->last
				: t->numbers[compat].execve;
		thread->state = compat ? NATIVE : COMPAT;
		thread->since = c->time;
	} else {
		compat = thread->state == COMPAT;
		if (!t->exec_shows_size && !c->ret && is_exec_number(&t->numbers[compat], c->nr))
			thread->ended = c->time; /* its new state must be read from /proc */
	}
	if (c->nr == thread->last || is_exec_number(&t->numbers[compat], c->nr))
		thread->last = -1;
	return compat;
}

#define GROUP "raw_syscalls"
#define N_ARGS 6

/* Event ids that only the tracer mmiotrace uses, which exists at the top level only:
 * kernel/trace/trace.h, enum trace_type. */
#define ENTER_ID 7
#define EXIT_ID 8

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define ARG(n, at) "\tfield:unsigned int arg" #n ";\toffset:" #at ";\tsize:4;\tsigned:0;\n"

static const char enter_format[] =
	"name: compat_sys_enter\nID: 7\nformat:\n" COMMON
	"\tfield:int id;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:char name[28];\toffset:12;\tsize:28;\tsigned:0;\n" ARG(0, 40) ARG(1, 44) ARG(2, 48)
		ARG(3, 52) ARG(4, 56) ARG(5, 60) "\nprint fmt: \"\"\n";
static const char exit_format[] = "name: compat_sys_exit\nID: 8\nformat:\n" COMMON
				  "\tfield:int id;\toffset:8;\tsize:4;\tsigned:1;\n"
				  "\tfield:int ret;\toffset:12;\tsize:4;\tsigned:1;\n"
				  "\nprint fmt: \"\"\n";

#define NO_ID UINT32_MAX

static struct compat_decoder *to_compat_decoder(struct compat_syscalls *c)
{
	return container_of(c, struct compat_decoder, ids);
}

/* ---- setup ---- */

/* Returns true if the event has the format above. */
static bool compat_syscalls_is_known(const struct compiled_event *ev, enum field_type second,
				     uint16_t len)
{
	const struct field_op *ops = ev->ops;

	return ev->kind == COMPILED_FIELDS && ev->pid_offset == 4 && ev->n_ops == 2 &&
	       ops[0].type == FIELD_S64 && ops[0].offset == 8 && ops[1].type == second &&
	       ops[1].offset == 16 && ev->min_len == len;
}

static uint32_t find_event_id(const struct event_table *table, const char *name,
			      enum field_type second, uint16_t len)
{
	const struct compiled_event *ev = event_table_find_named(table, GROUP, name);

	return ev && compat_syscalls_is_known(ev, second, len) ? ev->id : NO_ID;
}

static int compat_syscalls_add_event(struct event_table *table, const char *name, const char *text,
				     const struct event_table_options *options)
{
	_cleanup_(freep) char *format = strdup(text);
	uint16_t id;

	if (!format)
		return -ENOMEM;
	return event_table_add(table, GROUP, name, format, options, &id);
}

/* Adds the events that have an id. Returns 0, -ENOMEM, or an enum event_table_error; on failure no
 * event is added. */
static int add_compat_events(const struct compat_syscalls *ids, struct event_table *table,
			     const struct event_table_options *options)
{
	int r = 0;

	if (ids->enter_id != NO_ID)
		r = compat_syscalls_add_event(table, "compat_sys_enter", enter_format, options);
	if (!r && ids->exit_id != NO_ID)
		r = compat_syscalls_add_event(table, "compat_sys_exit", exit_format, options);
	if (r) {
		event_table_remove(table, ENTER_ID);
		event_table_remove(table, EXIT_ID);
	}
	return r;
}

int compat_syscalls_new(const char *proc_root, const struct event_table_options *options,
			struct event_table *table, struct compat_syscalls **ret)
{
	uint32_t enter_id =
		find_event_id(table, "sys_enter", FIELD_ULONG64_ARRAY, COMPAT_ENTER_LEN);
	uint32_t exit_id = find_event_id(table, "sys_exit", FIELD_S64, COMPAT_EXIT_LEN);
	struct compat_decoder *c;
	int r;

	if ((enter_id == NO_ID && exit_id == NO_ID) || options->no_generic)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->ids = (struct compat_syscalls){enter_id, exit_id};
	r = compat_threads_init(&c->threads, proc_root);
	if (!r)
		r = add_compat_events(&c->ids, table, options);
	if (r) {
		compat_syscalls_free(&c->ids);
		return r == -ENOMEM ? r : 0;
	}
	for (uint32_t nr = 0; nr < COMPAT_NUMBERS; nr++)
		syscall_compat_name(nr, c->names[nr], COMPAT_NAME_LEN);
	*ret = &c->ids;
	return 0;
}

struct compat_syscalls *compat_syscalls_free(struct compat_syscalls *c)
{
	if (c)
		free(to_compat_decoder(c)->threads.threads);
	free(c);
	return NULL;
}

/* ---- records ---- */

static void store32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
}

static void store64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

/* Sets the id and copies the other common fields from the original. */
static const uint8_t *set_common_fields(struct compat_decoder *c, const uint8_t *other, uint16_t id)
{
	memcpy(c->record, other, 8);
	memcpy(c->record, &id, sizeof(id));
	return c->record;
}

const uint8_t *compat_syscalls_enter(struct compat_syscalls *ids, uint64_t time,
				     const uint8_t *record)
{
	struct compat_decoder *c = to_compat_decoder(ids);
	struct compat_call call = {
		.time = time,
		.tid = load32(record + 4),
		.nr = (int64_t)load64(record + 8),
	};
	uint64_t args[N_ARGS], all = 0;

	memcpy(args, record + 16, sizeof(args));
	for (unsigned i = 0; i < N_ARGS; i++)
		all |= args[i];
	call.wide = all >> 32;
	if (!compat_threads_enter(&c->threads, &call))
		return record;
	store32(c->record + 8, (uint32_t)call.nr);
	memset(c->record + 12, 0, COMPAT_NAME_LEN);
	if (call.nr >= 0 && call.nr < COMPAT_NUMBERS)
		memcpy(c->record + 12, c->names[call.nr], COMPAT_NAME_LEN);
	for (unsigned i = 0; i < N_ARGS; i++)
		store32(c->record + 40 + 4 * i, (uint32_t)args[i]);
	return set_common_fields(c, record, ENTER_ID);
}

const uint8_t *compat_syscalls_leave(struct compat_syscalls *ids, uint64_t time,
				     const uint8_t *record)
{
	struct compat_decoder *c = to_compat_decoder(ids);
	struct compat_call call = {
		.time = time,
		.tid = load32(record + 4),
		.nr = (int64_t)load64(record + 8),
		.ret = (int64_t)load64(record + 16),
	};
	const int64_t nr = call.nr;

	if (compat_threads_exit(&c->threads, &call)) {
		store32(c->record + 8, (uint32_t)call.nr);
		store32(c->record + 12, (uint32_t)call.ret);
		return set_common_fields(c, record, EXIT_ID);
	}
	if (call.nr == nr)
		return record;
	store64(c->record + 8, (uint64_t)call.nr);
	store64(c->record + 16, (uint64_t)call.ret);
	return set_common_fields(c, record, (uint16_t)ids->exit_id);
}
