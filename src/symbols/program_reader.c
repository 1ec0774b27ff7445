/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/program_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "symbols/program_search.h"

#define DEBUG_PATH_MAX 4096

static int program_reader_send_request(struct program_reader *r, uint32_t kind, const char *name,
				       int fd)
{
	struct program_request q = {.kind = kind};

	if (strlen(name) >= sizeof(q.name))
		return -ENAMETOOLONG;
	strcpy(q.name, name);
	return helper_send(r->process.fd, &q, sizeof(q), fd, 0);
}

static int receive_facts(struct program_reader *r, struct elf_facts *ret)
{
	struct program_facts_answer a;
	ssize_t n = helper_receive(r->process.fd, &(struct iovec){&a, sizeof(a)}, 1,
				   PROGRAM_READER_WAIT_MS, NULL);

	if (n != (ssize_t)sizeof(a))
		return n < 0 ? (int)n : -EPIPE;
	if (a.elf.n_build_id > ELF_BUILD_ID_MAX ||
	    !memchr(a.elf.debug_link, '\0', sizeof(a.elf.debug_link)) ||
	    strchr(a.elf.debug_link, '/'))
		return -EBADMSG;
	*ret = a.elf;
	return a.result;
}

/* ---- the separate debug file ---- */

/* Opens a debug file and passes it to the reader. Returns false unless it has been accepted. Only
 * root and the owner of a file may decide what its functions are called, so the debug file must
 * belong to one of them. */
static bool try_debug_file(struct program_reader *r, uid_t owner, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool try_debug_file(struct program_reader *r, uid_t owner, const char *format, ...)
{
	_cleanup_(closep) int fd = -1;
	char path[DEBUG_PATH_MAX];
	struct elf_facts facts;
	struct stat st;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(path) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == owner) &&
	       program_reader_send_request(r, PROGRAM_REQUEST_DEBUG_FILE, "", fd) == 0 &&
	       receive_facts(r, &facts) == 0;
}

/* Looks for a debug file at the paths that gdb(1) tries. Returns true if one has been accepted. */
static bool find_debug_file(struct program_reader *r, uid_t owner, const struct elf_facts *elf,
			    const char *path)
{
	const char *slash = strrchr(path, '/'), *link = elf->debug_link;
	int dir = slash ? (int)(slash - path) : 0;
	char hex[2 * ELF_BUILD_ID_MAX + 1];

	for (uint32_t i = 0; i < elf->n_build_id; i++)
		sprintf(hex + 2 * i, "%02x", elf->build_id[i]);
	if (elf->n_build_id > 1 &&
	    try_debug_file(r, owner, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2))
		return true;
	return link[0] && slash &&
	       (try_debug_file(r, owner, "%.*s/%s", dir, path, link) ||
		try_debug_file(r, owner, "%.*s/.debug/%s", dir, path, link) ||
		try_debug_file(r, owner, "/usr/lib/debug%.*s/%s", dir, path, link));
}

/* ---- the process ---- */

static const char *program_error_text(int error)
{
	switch (error) {
	case -ENOEXEC:
		return "not an ELF file";
	case -EPIPE:
		return "the process that read it exited: the file is malformed, or needs too much "
		       "memory";
	case -EAGAIN:
		return "the process that reads it does not answer";
	default:
		return strerror(-error);
	}
}

int program_reader_start(const char *path, struct program_reader *ret, struct err_text *e)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct program_search_ctx ctx = {.program = fd};
	struct program_reader r = {0};
	struct elf_facts facts;
	struct stat st;
	int error;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, -errno, "%.200s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%.200s: not a file", path);
	error = helper_process_start("sonda-symbols", program_search_run, &ctx, fd, &r.process);
	if (error)
		return err_set(e, error, "%.200s: cannot start the helper that reads the file: %s",
			       path, strerror(-error));
	error = program_reader_send_request(&r, PROGRAM_REQUEST_FACTS, "", -1);
	if (!error)
		error = receive_facts(&r, &facts);
	if (error) {
		program_reader_stop(&r);
		return err_set(e, error, "%.200s: %s", path, program_error_text(error));
	}
	r.machine = facts.machine;
	r.is_stripped = facts.is_stripped && !find_debug_file(&r, st.st_uid, &facts, path);
	*ret = r;
	return 0;
}

void program_reader_stop(struct program_reader *r)
{
	if (r->process.pid <= 0)
		return;
	closep(&r->process.fd);
	kill(r->process.pid, SIGKILL);
	waitpid(r->process.pid, NULL, 0);
	r->process.pid = 0;
}

/* ---- items ---- */

/* Returns false unless the answer has three strings and is of a kind that was requested. */
static bool program_item_read(const struct program_answer *a, ssize_t n, uint32_t request,
			      struct program_item *ret)
{
	const char *at = a->text, *end = a->text + a->text_len;

	if (a->text_len > sizeof(a->text) || (size_t)n != PROGRAM_ANSWER_HEAD + a->text_len ||
	    (request == PROGRAM_REQUEST_USDT) != (a->kind == PROGRAM_USDT) ||
	    a->kind > PROGRAM_SUGGESTION)
		return false;
	*ret = (struct program_item){.kind = a->kind,
				     .address = a->address,
				     .offset = a->offset,
				     .semaphore = a->semaphore,
				     .has_no_code = a->has_no_code,
				     .is_chosen_at_load = a->is_chosen_at_load};
	for (int i = 0; i < 3; i++) {
		ret->texts[i] = at;
		at = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
		if (!at)
			return false;
		at++;
	}
	return at == end;
}

/* Sends a request and reads all its answers. See program_reader_find_function() for fn and the
 * result. */
static int program_reader_request_each_item(struct program_reader *r, uint32_t kind,
					    const char *name, program_item_fn *fn, void *ctx,
					    struct err_text *e)
{
	static struct program_answer a;
	const struct iovec part = {&a, sizeof(a)};
	int error = program_reader_send_request(r, kind, name, -1), stopped = 0;
	struct program_item item;

	while (!error) {
		ssize_t n = helper_receive(r->process.fd, &part, 1, PROGRAM_READER_WAIT_MS, NULL);

		if (n <= 0)
			error = n < 0 ? (int)n : -EPIPE;
		else if ((size_t)n < PROGRAM_ANSWER_HEAD)
			error = -EBADMSG;
		else if (a.is_end && a.result >= 0)
			return stopped;
		else if (a.is_end)
			error = a.result;
		else if (!program_item_read(&a, n, kind, &item))
			error = -EBADMSG;
		else if (!stopped) /* the other answers are read, so that the next request works */
			stopped = fn(ctx, &item);
	}
	return err_set(e, error, "%s", program_error_text(error));
}

int program_reader_find_function(struct program_reader *r, const char *name, program_item_fn *fn,
				 void *ctx, struct err_text *e)
{
	return program_reader_request_each_item(r, PROGRAM_REQUEST_FUNCTION, name, fn, ctx, e);
}

int program_reader_list_functions(struct program_reader *r, const char *pattern,
				  program_item_fn *fn, void *ctx, struct err_text *e)
{
	return program_reader_request_each_item(r, PROGRAM_REQUEST_FUNCTIONS, pattern, fn, ctx, e);
}

int program_reader_list_usdt(struct program_reader *r, const char *pattern, program_item_fn *fn,
			     void *ctx, struct err_text *e)
{
	return program_reader_request_each_item(r, PROGRAM_REQUEST_USDT, pattern, fn, ctx, e);
}
