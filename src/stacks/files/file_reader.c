/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/files/file_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/system/helper_pair.h"
#include "stacks/files/elf_reader.h"
#include "stacks/files/file_opener.h"

#define ANSWERS_AT_ONCE 16 /* then the loop does other things */

static struct {
	struct helper_pair helpers;
	struct event *readable; /* owned; while there are users */
	TAILQ_HEAD(, file_reader_user) users;
	uint32_t last_number;
	struct file_answer answer;
	struct {
		uint32_t left, n_rules; /* rows that are still to come; the rules of their file */
		uint32_t user;
		uint64_t id, next; /* next: the least address that a row may have */
	} rows; /* of the answers that are being read */
} all = {.helpers = HELPER_PAIR_NONE, .users = TAILQ_HEAD_INITIALIZER(all.users)};

int file_reader_start(void)
{
	const struct helper_of_pair opener = {.name = "sonda-open", .run = file_opener_run};
	const struct helper_of_pair parser = {.name = "sonda-elf", .run = elf_reader_run};

	return helper_pair_start(&opener, &parser, &all.helpers);
}

/* ---- answers ---- */

static bool are_maps_valid(const struct file_answer *a)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		struct file_mapping m;

		if (a->n_bytes - at < sizeof(m))
			return false;
		memcpy(&m, a->body + at, sizeof(m));
		at += sizeof(m);
		if (m.path_len >= FILE_PATH_MAX || a->n_bytes - at < (m.path_len + 7) / 8 * 8 ||
		    m.start >= m.end || memchr(a->body + at, 0, m.path_len))
			return false;
		at += (m.path_len + 7) / 8 * 8;
	}
	return true;
}

static bool are_data_maps_valid(const struct file_answer *a)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		struct file_data_mapping d;

		if (a->n_bytes - at < sizeof(d))
			return false;
		memcpy(&d, a->body + at, sizeof(d));
		at += sizeof(d);
		if (d.m.path_len >= FILE_PATH_MAX || a->n_bytes - at < (d.m.path_len + 7) / 8 * 8 ||
		    d.m.start >= d.m.end || d.address >= FILE_NAMES_MAX ||
		    memchr(a->body + at, 0, d.m.path_len))
			return false;
		at += (d.m.path_len + 7) / 8 * 8;
	}
	return true;
}

static bool are_names_valid(const struct file_answer *a)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		uint16_t len;

		if (a->n_bytes - at < sizeof(len))
			return false;
		memcpy(&len, a->body + at, sizeof(len));
		at += sizeof(len);
		if (a->n_bytes - at < len)
			return false;
		at += len;
	}
	return true;
}

static bool are_rules_valid(const struct file_answer *a)
{
	if (a->n_bytes < sizeof(a->rules.head) || a->n > EH_RULES_MAX ||
	    a->n_bytes != sizeof(a->rules.head) + a->n * sizeof(a->rules.rules[0]) ||
	    a->rules.head.n_rows > EH_ROWS_MAX || !a->has_more != !a->rules.head.n_rows)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct unwind_rule *r = &a->rules.rules[i];

		if (r->base > UNWIND_BASE_PLT || r->fp > UNWIND_UNKNOWN || r->ra > UNWIND_AT_CFA)
			return false;
	}
	return true;
}

static bool is_row_valid(const struct unwind_row *row)
{
	return row->address >= all.rows.next &&
	       (row->next ? row->rule >= UNWIND_RULES_FIRST : row->step == 0) &&
	       row->rule < UNWIND_RULES_FIRST + all.rows.n_rules;
}

/* Checks the next answer to a request for rows, and expects what follows it: all answers to a
 * request come one after the other. */
static bool accept_rows_answer(const struct file_answer *a)
{
	if (all.rows.left == 0) {
		if (a->result < 0)
			return a->n_bytes == 0 && !a->has_more;
		if (!are_rules_valid(a))
			return false;
		all.rows.left = a->rules.head.n_rows;
		all.rows.n_rules = a->n;
		all.rows.user = a->user;
		all.rows.id = a->id;
		all.rows.next = 0;
		return true;
	}
	if (a->result < 0 || a->user != all.rows.user || a->id != all.rows.id || a->n == 0 ||
	    a->n > all.rows.left || a->n_bytes != a->n * sizeof(a->rows[0]))
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		if (!is_row_valid(&a->rows[i]))
			return false;
		all.rows.next = (uint64_t)a->rows[i].address + 1;
	}
	all.rows.left -= a->n;
	return !a->has_more == (all.rows.left == 0);
}

/* Returns true if the answer is valid. Counts the rows that are still to come. */
static bool accept_answer(const struct file_answer *a, size_t len)
{
	if (len < FILE_ANSWER_HEAD || a->n_bytes != len - FILE_ANSWER_HEAD)
		return false;
	if (all.rows.left && a->kind != FILE_REQUEST_ROWS)
		return false;
	switch (a->kind) {
	case FILE_REQUEST_MAPS:
		return are_maps_valid(a);
	case FILE_REQUEST_ELF:
		return a->result < 0 ||
		       (a->n_bytes == sizeof(a->elf) && a->elf.n_build_id <= ELF_BUILD_ID_MAX &&
			a->elf.n_segments <= ELF_SEGMENTS_MAX &&
			a->elf.n_data <= ELF_SEGMENTS_MAX &&
			memchr(a->elf.debug_link, '\0', sizeof(a->elf.debug_link)) &&
			!strchr(a->elf.debug_link, '/'));
	case FILE_REQUEST_PERF_MAP:
	case FILE_REQUEST_JITDUMP:
		return a->n_bytes == 0;
	case FILE_REQUEST_NAMES:
		return are_names_valid(a);
	case FILE_REQUEST_DATA_MAPS:
		return are_data_maps_valid(a);
	case FILE_REQUEST_ROWS:
		return accept_rows_answer(a);
	default:
		return false;
	}
}

static void file_reader_handle_end(void)
{
	struct file_reader_user *u, *next;

	event_freep(&all.readable);
	helper_pair_close(&all.helpers);
	all.rows.left = 0;
	all.answer = (struct file_answer){.kind = FILE_REQUEST_CLOSE_ALL, .result = -EPIPE};
	for (u = TAILQ_FIRST(&all.users); u; u = next) {
		next = TAILQ_NEXT(u, link);
		u->answered(u->ctx, &all.answer);
	}
}

/* Reads an answer and passes it to its user. Returns false if none has arrived, or if the reader or
 * its last user has been freed. */
static bool file_reader_read_answer(void)
{
	const struct iovec part = {&all.answer, sizeof(all.answer)};
	ssize_t n = helper_receive(all.helpers.parser.fd, &part, 1, 0, NULL);
	struct file_reader_user *u;

	if (n == -EAGAIN)
		return false;
	if (n <= 0 || !accept_answer(&all.answer, (size_t)n)) {
		file_reader_handle_end();
		return false;
	}
	TAILQ_FOREACH (u, &all.users, link) {
		if (u->number == all.answer.user) {
			u->answered(u->ctx, &all.answer);
			break;
		}
	}
	return all.readable != NULL;
}

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
	for (int i = 0; i < ANSWERS_AT_ONCE && file_reader_read_answer(); i++)
		;
}

/* ---- users ---- */

bool file_reader_is_alive(void)
{
	return helper_pair_is_alive(&all.helpers);
}

int file_reader_join(struct file_reader_user *u, struct event_base *loop)
{
	if (!file_reader_is_alive())
		return -ENOTSUP;
	if (!all.readable) {
		all.readable = event_new(loop, all.helpers.parser.fd, EV_READ | EV_PERSIST,
					 on_readable, NULL);
		if (!all.readable || event_add(all.readable, NULL) < 0) {
			event_freep(&all.readable);
			return -ENOMEM;
		}
	}
	u->number = ++all.last_number ? all.last_number : ++all.last_number;
	TAILQ_INSERT_TAIL(&all.users, u, link);
	return 0;
}

static bool send_request(const void *q, size_t len)
{
	return helper_pair_request(&all.helpers, q, len);
}

void file_reader_leave(struct file_reader_user *u)
{
	const struct file_request close_all = {.kind = FILE_REQUEST_CLOSE_ALL};

	if (!u->number)
		return;
	TAILQ_REMOVE(&all.users, u, link);
	u->number = 0;
	if (!TAILQ_EMPTY(&all.users))
		return;
	event_freep(&all.readable);
	(void)send_request(&close_all, FILE_REQUEST_HEAD);
}

/* ---- requests ---- */

bool file_reader_request_maps(const struct file_reader_user *u, int32_t pid, int32_t tid)
{
	const struct file_request q = {.kind = FILE_REQUEST_MAPS,
				       .user = u->number,
				       .id = (uint64_t)(uint32_t)pid,
				       .pid = pid,
				       .tid = tid};

	return send_request(&q, FILE_REQUEST_HEAD);
}

/* Sends a request about addresses. */
static bool send_address_request(struct file_request *q, const uint64_t *addresses, uint32_t n)
{
	q->n = MIN(n, (uint32_t)FILE_NAMES_MAX);
	memcpy(q->addresses, addresses, q->n * sizeof(*addresses));
	return send_request(q, FILE_REQUEST_HEAD + q->n * sizeof(*addresses));
}

bool file_reader_request_data_maps(const struct file_reader_user *u, int32_t pid, int32_t tid,
				   const uint64_t *addresses, uint32_t n)
{
	struct file_request q = {.kind = FILE_REQUEST_DATA_MAPS,
				 .user = u->number,
				 .id = (uint64_t)(uint32_t)pid,
				 .pid = pid,
				 .tid = tid};

	return send_address_request(&q, addresses, n);
}

/* Sends a request about a mapped file. */
static bool send_file_request(struct file_request *q, const struct file_mapping *m,
			      const char *path)
{
	size_t len = strnlen(path, sizeof(q->path) - 1);

	q->start = m->start;
	q->end = m->end;
	q->inode = m->inode;
	q->major = m->major;
	q->minor = m->minor;
	memcpy(q->path, path, len);
	q->path[len] = '\0';
	return send_request(q, FILE_REQUEST_HEAD + len + 1);
}

bool file_reader_request_elf(const struct file_reader_user *u, uint64_t id, int32_t pid,
			     const struct file_mapping *m, const char *path)
{
	struct file_request q = {.kind = FILE_REQUEST_ELF, .user = u->number, .id = id, .pid = pid};

	return send_file_request(&q, m, path);
}

/* Appends a path and its NUL if it fits. Returns the new length. */
__attribute__((format(printf, 3, 4))) static size_t add_path(struct file_request *q, size_t len,
							     const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(q->path + len, sizeof(q->path) - len, format, args);
	va_end(args);
	return n > 0 && (size_t)n < sizeof(q->path) - len ? len + (size_t)n + 1 : len;
}

/* Requests the debug file by the paths that gdb(1) tries. */
bool file_reader_request_debug_file(const struct file_reader_user *u, int32_t pid, uint32_t file,
				    const struct elf_facts *elf, const char *path)
{
	struct file_request q = {
		.kind = FILE_REQUEST_DEBUG_FILE, .user = u->number, .pid = pid, .file = file};
	const char *slash = strrchr(path, '/'), *link = elf->debug_link;
	int dir = slash ? (int)(slash - path) : 0;
	char hex[2 * ELF_BUILD_ID_MAX + 1];
	size_t len = 0;

	for (uint32_t i = 0; i < elf->n_build_id; i++)
		sprintf(hex + 2 * i, "%02x", elf->build_id[i]);
	if (elf->n_build_id > 1)
		len = add_path(&q, len, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	if (link[0] && slash) {
		len = add_path(&q, len, "%.*s/%s", dir, path, link);
		len = add_path(&q, len, "%.*s/.debug/%s", dir, path, link);
		len = add_path(&q, len, "/usr/lib/debug%.*s/%s", dir, path, link);
	}
	return len == 0 || send_request(&q, FILE_REQUEST_HEAD + len);
}

bool file_reader_request_perf_map(const struct file_reader_user *u, uint64_t id,
				  const struct file_reader_process *p)
{
	const struct file_request q = {.kind = FILE_REQUEST_PERF_MAP,
				       .user = u->number,
				       .id = id,
				       .pid = p->pid,
				       .pid_inside = p->pid_inside,
				       .uid = p->uid,
				       .started = p->started,
				       .has_ended = p->has_ended};

	return send_request(&q, FILE_REQUEST_HEAD);
}

bool file_reader_request_jitdump(const struct file_reader_user *u, uint64_t id,
				 const struct file_reader_process *p, const struct file_mapping *m,
				 const char *path)
{
	struct file_request q = {.kind = FILE_REQUEST_JITDUMP,
				 .user = u->number,
				 .id = id,
				 .pid = p->pid,
				 .start = m->start,
				 .end = m->end,
				 .inode = m->inode,
				 .major = m->major,
				 .minor = m->minor,
				 .uid = p->uid,
				 .started = p->started,
				 .has_ended = p->has_ended};

	return send_request(&q, FILE_REQUEST_HEAD + add_path(&q, 0, "%s", path));
}

bool file_reader_request_rows(const struct file_reader_user *u, uint64_t id, uint32_t file,
			      int32_t pid, const struct file_mapping *m, const char *path)
{
	struct file_request q = {
		.kind = FILE_REQUEST_ROWS, .user = u->number, .id = id, .pid = pid, .file = file};

	return m ? send_file_request(&q, m, path) : send_request(&q, FILE_REQUEST_HEAD);
}

bool file_reader_request_names(const struct file_reader_user *u, uint64_t id, uint32_t file,
			       const uint64_t *addresses, uint32_t n)
{
	struct file_request q = {
		.kind = FILE_REQUEST_NAMES, .user = u->number, .id = id, .file = file};

	return send_address_request(&q, addresses, n);
}
