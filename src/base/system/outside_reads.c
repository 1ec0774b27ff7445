/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	this process               socket pair                child
 *	request  kind, path  ------ one message ------>       open, read; readlink; or stat
 *	answer   <----------------- one message ------        result, bytes
 *
 * The child works on one request at a time. An answer that comes after its caller has given up is
 * dropped; until then the child is busy, and every other request fails at once.
 *
 * The child checks only the length and the kind of a request. The parent has the same privileges,
 * except what its Landlock domain forbids. So an attacker in the parent gains only what ptrace(2)
 * would show.
 */
#include "base/system/outside_reads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/helper_process.h"

enum kind { READ_FILE, READ_LINK, READ_STAT, RUN_AS };

struct request {
	uint32_t kind;
	uint32_t size; /* limit of the answer in bytes, at most OUTSIDE_READ_MAX */
	struct priority_boost boost; /* boost of RUN_AS, which has no answer */
	char path[256]; /* with a NUL */
};

/* An answer begins with an int32_t: the number of bytes that follow, or -errno. */
#define ANSWER_HEAD sizeof(int32_t)

static struct helper_process child = {.fd = -1};
static bool is_busy; /* an answer is pending */
static bool is_timely;

/* ---- in either process ---- */

/* Reads the first `size` bytes of a file, which the kernel may return in pieces. Returns the number
 * of bytes, or -errno if none was read. */
static ssize_t read_whole_file(const char *path, char *buf, size_t size)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf + len, size - len);
		len += (size_t)MAX(n, 0);
	} while (n > 0 && len < size);
	return n < 0 && !len ? -errno : (ssize_t)len;
}

static ssize_t execute_request(const struct request *q, void *buf, size_t size)
{
	ssize_t n;

	switch (q->kind) {
	case READ_FILE:
		return read_whole_file(q->path, buf, size);
	case READ_LINK:
		n = readlink(q->path, buf, size);
		return n < 0 ? -errno : n;
	case READ_STAT:
		if (size < sizeof(struct stat))
			return -EINVAL;
		return stat(q->path, buf) < 0 ? -errno : (ssize_t)sizeof(struct stat);
	case RUN_AS:
		break;
	}
	return -EINVAL;
}

/* ---- the child ---- */

static void outside_reads_serve(int fd)
{
	static struct {
		int32_t result;
		char bytes[OUTSIDE_READ_MAX];
	} a;
	struct priority_boost_state boost = {0};
	struct request q;

	for (;;) {
		if (helper_receive(fd, &(struct iovec){&q, sizeof(q)}, 1, -1, NULL) != sizeof(q))
			_exit(0); /* the parent has ended */
		priority_boost_tick(&boost);
		if (q.kind == RUN_AS) {
			(void)priority_boost_apply(&boost, q.boost);
			continue;
		}
		q.path[sizeof(q.path) - 1] = '\0';
		a.result = (int32_t)execute_request(&q, a.bytes, MIN(q.size, sizeof(a.bytes)));
		if (helper_send(fd, &a, ANSWER_HEAD + (size_t)MAX(a.result, 0), -1, 0) < 0)
			_exit(0);
	}
}

/* Drops the rights that the child does not need. If the kernel refuses a restriction, the child
 * keeps those rights. */
static void outside_reads_confine(void)
{
	static const unsigned needed[] = {CAP_DAC_READ_SEARCH, CAP_SYS_NICE, CAP_SYS_PTRACE};
	static const char *const calls[] = {
		"clock_gettime",
		"clock_nanosleep",
		"close",
		"exit_group",
		"getpriority",
		"newfstatat",
		"read",
		"readlink",
		"readlinkat",
		"recvmsg",
		"rt_sigreturn",
		"sched_getscheduler",
		"sched_getparam",
		"sendmsg",
		"stat",
		"write",
		NULL,
	};
	static const struct syscall_without reading[] = {
		{"open", 1, O_ACCMODE | O_CREAT | O_TRUNC},
		{"openat", 2, O_ACCMODE | O_CREAT | O_TRUNC},
		{"sched_setscheduler", 0, UINT32_MAX}, /* of the child itself */
		{"setpriority", 1, UINT32_MAX}, /* of the child, its process group or its user */
		{NULL, 0, 0},
	};
	const struct syscall_list list = {.allowed = calls, .without = reading, .is_whole = true};

	(void)helper_confine(needed, ARRAY_SIZE(needed), &list);
}

static void outside_reads_run_child(int fd, void *ctx)
{
	outside_reads_confine();
	outside_reads_serve(fd);
}

int outside_reads_start(void)
{
	return helper_process_start("sonda-reads", outside_reads_run_child, NULL, -1, &child);
}

pid_t outside_reads_pid(void)
{
	return child.pid;
}

/* ---- requests ---- */

/* Returns the number of bytes of the answer at buf, -EAGAIN if it is late (is_busy stays set then),
 * or -errno. */
static ssize_t outside_reads_receive_answer(void *buf, size_t size, int wait_ms)
{
	int32_t result;
	const struct iovec parts[] = {{&result, sizeof(result)}, {buf, size}};
	ssize_t n = helper_receive(child.fd, parts, ARRAY_SIZE(parts), wait_ms, NULL);

	if (n == -EAGAIN)
		return n;
	is_busy = false;
	if (n < (ssize_t)ANSWER_HEAD)
		return -EPIPE;
	return result < 0 ? result : n - (ssize_t)ANSWER_HEAD;
}

static ssize_t outside_reads_request(enum kind kind, const char *path, void *buf, size_t size,
				     int wait_ms)
{
	struct request q = {.kind = kind, .size = (uint32_t)MIN(size, OUTSIDE_READ_MAX)};
	char ignored;

	if (strlen(path) >= sizeof(q.path))
		return -ENAMETOOLONG;
	strcpy(q.path, path);
	if (child.fd < 0)
		return execute_request(&q, buf, size);
	if (is_busy && outside_reads_receive_answer(&ignored, sizeof(ignored), 0) == -EAGAIN)
		return -EAGAIN;
	if (helper_send(child.fd, &q, sizeof(q), -1, 0) < 0)
		return -EPIPE;
	is_busy = true;
	return outside_reads_receive_answer(buf, size, wait_ms);
}

ssize_t outside_read(const char *path, void *buf, size_t size, int wait_ms)
{
	return outside_reads_request(READ_FILE, path, buf, size, wait_ms);
}

ssize_t outside_readlink(const char *path, char *buf, size_t size, int wait_ms)
{
	return outside_reads_request(READ_LINK, path, buf, size, wait_ms);
}

int outside_stat(const char *path, struct stat *ret)
{
	ssize_t n = outside_reads_request(READ_STAT, path, ret, sizeof(*ret), OUTSIDE_READ_LONG_MS);

	return n < 0 ? (int)n : n == sizeof(*ret) ? 0 : -EIO;
}

void outside_reads_set_timely(bool yes)
{
	is_timely = yes;
}

bool outside_reads_are_timely(void)
{
	return is_timely;
}

void outside_reads_boost(struct priority_boost boost)
{
	const struct request q = {.kind = RUN_AS, .boost = boost};

	if (child.fd >= 0)
		(void)helper_send(child.fd, &q, sizeof(q), -1, MSG_DONTWAIT);
}
