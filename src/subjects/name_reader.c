/* SPDX-License-Identifier: Apache-2.0 */
#include "subjects/name_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/event_loop/event_free.h"
#include "base/system/helper_pair.h"
#include "base/system/sanitizer.h"

#define ANSWERS_AT_ONCE 16 /* then the loop does other things */
#define ENTRIES_MAX 65536 /* of a directory; the rest is not read */
#define PARSER_MEMORY (64ull << 20) /* bytes of address space beyond those it starts with */

/* To both processes: the second one gets it once for each file, with the file's descriptor. */
struct name_request {
	uint32_t user, file; /* file: enum runtime_file; RUNTIME_FILE_NONE: all files were passed */
	uint64_t id;
	struct container_key key;
};

struct name_answer {
	uint32_t user;
	int32_t result; /* 0 or -errno */
	uint64_t id;
	struct container_names names;
};

/* ---- the first process: opens ---- */

/* Finds the home directory of a user in /etc/passwd; "" if the user is not listed. */
static void find_home_dir(const char *root, uint32_t uid, char *ret, size_t size)
{
	char path[PATH_MAX], text[65536], number[16];
	_cleanup_(closep) int fd = -1;
	struct span rest, line;
	ssize_t n;

	*ret = '\0';
	snprintf(path, sizeof(path), "%s/etc/passwd", root);
	snprintf(number, sizeof(number), "%u", uid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	rest = (struct span){text, (size_t)MAX(n, 0)};
	/* NAME:PASSWORD:UID:GID:TEXT:HOME:SHELL */
	while (span_next_line(&rest, &line)) {
		struct span column = {0};
		bool is_user = false;

		for (unsigned i = 0; i < 6 && line.p; i++) {
			const char *colon = memchr(line.p, ':', line.len);
			size_t len = colon ? (size_t)(colon - line.p) : line.len;

			column = (struct span){line.p, len};
			is_user |= i == 2 && span_is(column, number);
			line = colon ? (struct span){colon + 1, line.len - len - 1}
				     : (struct span){0};
		}
		if (!is_user || column.len >= size)
			continue;
		memcpy(ret, column.p, column.len);
		ret[column.len] = '\0';
		return;
	}
}

/* Follows the last part of a path, which may be a link to another name in the directory of the
 * machines. */
static void follow_machine_link(char *path, size_t size)
{
	char name[CONTAINER_NAME_SIZE], *slash = strrchr(path, '/');
	ssize_t n = readlink(path, name, sizeof(name) - 1);

	if (n <= 0 || !slash)
		return;
	name[n] = '\0';
	if (!strchr(name, '/') && strlen(name) < size - (size_t)(slash + 1 - path))
		strcpy(slash + 1, name);
}

/* Returns a descriptor, or a negative number if it is not a file that may be read. */
static int open_runtime_file(const char *path, enum runtime_file kind, uint32_t uid)
{
	_cleanup_(closep) int found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool is_dir = runtime_file_is_dir(kind);
	struct stat st;

	if (found < 0 || fstat(found, &st) < 0)
		return -1;
	if (is_dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode) || st.st_size > RUNTIME_FILE_MAX)
		return -1;
	if (st.st_uid != 0 && st.st_uid != uid && st.st_uid != geteuid())
		return -1;
	return helper_open_found(found, is_dir ? O_DIRECTORY : 0);
}

/* Sends the request with each file that can be opened, then once more without a file, as its end.
 * Returns 0 or -errno. */
static int send_runtime_files(const char *root, struct name_request *q, int to)
{
	char home[PATH_MAX] = "", path[PATH_MAX];
	enum runtime_file kind;
	int r;

	q->key.id[sizeof(q->key.id) - 1] = '\0';
	q->key.namespace[sizeof(q->key.namespace) - 1] = '\0';
	q->key.scope[sizeof(q->key.scope) - 1] = '\0';
	if (q->key.uid)
		find_home_dir(root, q->key.uid, home, sizeof(home));
	for (unsigned n = 0;; n++) {
		_cleanup_(closep) int fd = -1;

		kind = runtime_file_path(&q->key, n, root, home, path, sizeof(path));
		if (kind == RUNTIME_FILE_NONE)
			break;
		if (kind == RUNTIME_FILE_MACHINE)
			follow_machine_link(path, sizeof(path));
		fd = open_runtime_file(path, kind, q->key.uid);
		q->file = kind;
		r = fd < 0 ? 0 : helper_send(to, q, sizeof(*q), fd, 0);
		if (r < 0)
			return r;
	}
	q->file = RUNTIME_FILE_NONE;
	return helper_send(to, q, sizeof(*q), -1, 0);
}

static void name_opener_run(int fd, int other, void *ctx)
{
	static const unsigned needed[] = {CAP_DAC_READ_SEARCH};
	static const char *const calls[] = {"geteuid", "read", "readlink", "readlinkat", NULL};
	static struct name_request q;
	const char *root = ctx;

	helper_confine_opener(needed, ARRAY_SIZE(needed), calls);
	while (helper_receive(fd, &(struct iovec){&q, sizeof(q)}, 1, -1, NULL) == sizeof(q) &&
	       send_runtime_files(root, &q, other) == 0)
		;
}

/* ---- the second process: parses ---- */

/* Searches the entries of a directory. Returns true if one is about the container. Closes fd. */
static bool name_parser_read_dir(const struct name_request *q, int fd,
				 struct container_names *names)
{
	DIR *dir = fdopendir(fd); /* takes ownership of fd */
	struct dirent *e;
	bool found = false;

	if (!dir) {
		close(fd);
		return false;
	}
	for (unsigned n = 0; n < ENTRIES_MAX && !found && (e = readdir(dir)); n++)
		found = runtime_file_parse_entry(q->file, e->d_name, q->key.id, names);
	closedir(dir);
	return found;
}

/* Reads a file or a directory and closes fd. Returns true if the container is in it, and adds its
 * names. */
static bool name_parser_read_file(const struct name_request *q, int fd,
				  struct container_names *names)
{
	static char text[RUNTIME_FILE_MAX + 1];
	size_t len = 0;
	ssize_t n;

	if (runtime_file_is_dir(q->file))
		return name_parser_read_dir(q, fd, names);
	while (len < sizeof(text) && (n = read(fd, text + len, sizeof(text) - len)) > 0)
		len += (size_t)n;
	close(fd);
	return len <= RUNTIME_FILE_MAX &&
	       runtime_file_parse(q->file, (struct span){text, len}, q->key.id, names);
}

static void name_parser_confine(void)
{
	static const char *const calls[] = {
		"brk",		"close",   "exit_group", "fcntl",      "fstat", "getdents64",
		"lseek",	"munmap",  "mremap",	 "newfstatat", "read",	"recvmsg",
		"rt_sigreturn", "sendmsg", "write",	 NULL,
	};
	static const struct syscall_without memory[] = {
		{"mmap", 2, PROT_EXEC},
		{"mmap2", 2, PROT_EXEC},
		{NULL, 0, 0},
	};
	const struct syscall_list list = {.allowed = calls, .without = memory, .is_whole = true};
	const struct rlimit limit = {PARSER_MEMORY, PARSER_MEMORY};

	if (!BUILT_WITH_SANITIZER)
		(void)setrlimit(RLIMIT_DATA, &limit);
	(void)helper_confine(NULL, 0, &list);
}

/* Reads requests, each with its files, and sends one answer to each. */
static void name_parser_run(int fd, int other, void *ctx)
{
	static struct name_request q;
	struct name_answer a = {.result = -ENOENT};
	int file = -1;

	name_parser_confine();
	while (helper_receive(other, &(struct iovec){&q, sizeof(q)}, 1, -1, &file) == sizeof(q)) {
		if (q.file != RUNTIME_FILE_NONE) {
			if (file >= 0 && name_parser_read_file(&q, TAKE_FD(file), &a.names))
				a.result = 0;
			continue;
		}
		closep(&file);
		a.user = q.user;
		a.id = q.id;
		if (helper_send(fd, &a, sizeof(a), -1, 0) < 0)
			return;
		a = (struct name_answer){.result = -ENOENT};
	}
}

/* ---- this process ---- */

static struct {
	struct helper_pair helpers;
	struct event *readable; /* owned; while there are users with a loop */
	TAILQ_HEAD(, name_reader_user) users;
	uint32_t last_number;
} all = {.helpers = HELPER_PAIR_NONE, .users = TAILQ_HEAD_INITIALIZER(all.users)};

int name_reader_start(const char *root)
{
	const struct helper_of_pair opener = {
		.name = "sonda-name-open", .run = name_opener_run, .ctx = (void *)root};
	const struct helper_of_pair parser = {.name = "sonda-names", .run = name_parser_run};

	return helper_pair_start(&opener, &parser, &all.helpers);
}

static bool are_names_valid(const struct container_names *n)
{
	const char *const texts[] = {n->name, n->image, n->pod, n->namespace};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (*texts[i] && !container_name_is_valid(texts[i]))
			return false;
	return memchr(n->pod_uid, '\0', sizeof(n->pod_uid)) &&
	       (!*n->pod_uid || container_name_is_valid(n->pod_uid));
}

static void name_reader_handle_end(void)
{
	static const struct container_names none;
	struct name_reader_user *u, *next;

	event_freep(&all.readable);
	helper_pair_close(&all.helpers);
	for (u = TAILQ_FIRST(&all.users); u; u = next) {
		next = TAILQ_NEXT(u, link);
		u->n_pending = 0;
		u->answered(u->ctx, 0, -EPIPE, &none);
	}
}

void name_reader_stop(void)
{
	name_reader_handle_end();
}

/* Handles one reply of the helper. Returns false if none has arrived. */
static bool name_reader_read_answer(void)
{
	struct name_answer a;
	const struct iovec part = {&a, sizeof(a)};
	struct name_reader_user *u;
	ssize_t n;

	if (all.helpers.parser.fd < 0)
		return false;
	n = helper_receive(all.helpers.parser.fd, &part, 1, 0, NULL);
	if (n == -EAGAIN)
		return false;
	if (n != sizeof(a) || a.result > 0 || !are_names_valid(&a.names)) {
		name_reader_handle_end();
		return false;
	}
	TAILQ_FOREACH (u, &all.users, link) {
		if (u->number == a.user) {
			u->n_pending--;
			u->answered(u->ctx, a.id, a.result, &a.names);
			break;
		}
	}
	return true;
}

static void name_reader_on_readable(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	(void)ctx;
	for (int i = 0; i < ANSWERS_AT_ONCE && name_reader_read_answer(); i++)
		;
}

int name_reader_join(struct name_reader_user *u, struct event_base *loop)
{
	if (!helper_pair_is_alive(&all.helpers))
		return -ENOTSUP;
	if (loop && !all.readable) {
		all.readable = event_new(loop, all.helpers.parser.fd, EV_READ | EV_PERSIST,
					 name_reader_on_readable, NULL);
		if (!all.readable || event_add(all.readable, NULL) < 0) {
			event_freep(&all.readable);
			return -ENOMEM;
		}
	}
	u->number = ++all.last_number ? all.last_number : ++all.last_number;
	u->n_pending = 0;
	TAILQ_INSERT_TAIL(&all.users, u, link);
	return 0;
}

void name_reader_leave(struct name_reader_user *u)
{
	if (!u->number)
		return;
	TAILQ_REMOVE(&all.users, u, link);
	u->number = 0;
	u->n_pending = 0;
	if (TAILQ_EMPTY(&all.users))
		event_freep(&all.readable);
}

bool name_reader_send_request(struct name_reader_user *u, uint64_t id,
			      const struct container_key *key)
{
	const struct name_request q = {.user = u->number, .id = id, .key = *key};

	if (!u->number || u->n_pending >= NAME_REQUESTS_MAX ||
	    !helper_pair_request(&all.helpers, &q, sizeof(q)))
		return false;
	u->n_pending++;
	return true;
}

bool name_reader_wait(unsigned ms)
{
	struct pollfd answer = {.fd = all.helpers.parser.fd, .events = POLLIN};

	if (all.helpers.parser.fd < 0)
		return false;
	coroutine_block_begin();
	(void)poll(&answer, 1, (int)ms);
	coroutine_block_end();
	return name_reader_read_answer();
}
