/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	service                    socket pair                  sonda-files
 *	                          <--- answer ---               it has confined itself
 *	CREATE path, user         ---- request -->              openat, fchown
 *	                          <--- answer, descriptor ---
 *	REMOVE path, user, file   ---- request -->              unlinkat
 *	                          <--- answer ---
 *	CLOSED file               ---- request -->              close
 *	END                       ---- request -->              unlink of the sockets' files
 *	the service is killed     ---- end of file -->          ftruncate of open files
 *
 * SIGKILL can end a write(2) of the service at any byte. So the child keeps a descriptor of each
 * file that it has created and that the service has open. If the service is killed, the child
 * truncates these files to whole packets.
 *
 * The child does not trust the service. With a forged request, an attacker who controls the service
 * can create a new file below the directory for any user, or remove a file whose inode the attacker
 * knows.
 */
#include "service/output/file_helper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/caps.h"
#include "base/system/helper_process.h"
#include "base/system/landlock.h"
#include "base/system/sanitizer.h"
#include "base/system/syscall_filter.h"
#include "service/ipc/limits.h"
#include "service/output/trace_record.h"

#define OPEN_FILE "; an open file can be passed instead"
#define NO_DIR                                                                                     \
	"output_path: this service creates no files, because it was started without "              \
	"--output-dir" OPEN_FILE

enum kind { CREATE, REMOVE, CLOSED, END };

struct request {
	uint32_t kind;
	uint32_t user;
	struct output_file file;
	char path[PATH_MAX]; /* below the directory, with a NUL */
};

struct answer {
	int32_t result; /* 0 or -errno */
	struct err_text reason;
};

static struct helper_process child = {.fd = -1};
static char dir_path[PATH_MAX]; /* with a slash at the end; "": none */
/* The socket of the child, for threads that close files; -1: none. file_helper_end() does not close
 * it, because a thread that hangs may use it later. */
static atomic_int closed_socket = -1;

/* ---- the child: its state ---- */

/* Writes the directory of the path into buf. */
static void copy_dir_of_path(const char *path, char buf[static PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		snprintf(buf, PATH_MAX, ".");
	else
		snprintf(buf, PATH_MAX, "%.*s", (int)MAX(slash - path, 1), path);
}

static int restrict_to_dirs(const struct file_helper_options *o)
{
	static char paths[FILE_HELPER_REMOVES][PATH_MAX];
	struct landlock_path writable[FILE_HELPER_REMOVES + 1];
	size_t n = 0;
	int r;

	for (; n < o->n_remove; n++) {
		copy_dir_of_path(o->remove[n].path, paths[n]);
		writable[n] = (struct landlock_path){paths[n], true};
	}
	if (o->output_dir)
		writable[n++] = (struct landlock_path){o->output_dir, true};
	r = landlock_restrict_files(writable, n);
	return r == -ENOSYS ? 0 : r;
}

static int restrict_system_calls(const struct file_helper_options *o)
{
	static const char *const ending[] = {
		"close",      "exit_group", "fstat",	    "fstat64", "fstatat64", "lstat",
		"newfstatat", "read",	    "rt_sigreturn", "recvmsg", "sendmsg",   "statx",
		"unlink",     "unlinkat",   "write",	    NULL,
	};
	static const char *const making[] = {
		"close",	"exit_group", "fchown",	    "fchown32",	 "fcntl",	"fcntl64",
		"fstat",	"fstat64",    "fstatat64",  "ftruncate", "ftruncate64", "geteuid",
		"geteuid32",	"lstat",      "newfstatat", "openat",	 "pread64",	"read",
		"rt_sigreturn", "recvmsg",    "sendmsg",    "statx",	 "unlink",	"unlinkat",
		"write",	NULL,
	};
	const struct syscall_list list = {.allowed = o->output_dir ? making : ending,
					  .is_whole = true};
	int r = syscall_filter_install(&list);

	return r == -ENOSYS ? 0 : r;
}

static int file_helper_confine(const struct file_helper_options *o, int dir, struct err_text *e)
{
	static const unsigned chown[] = {CAP_CHOWN};
	int r = caps_keep_only(chown, o->output_dir ? 1 : 0);

	umask(0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (r == 0)
		r = restrict_to_dirs(o);
	if (r < 0)
		return err_set(e, r, "cannot drop privileges: %s", strerror(-r));
	if (dir >= 0 && faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return err_set(e, -errno,
			       "--output-dir %.300s: user %u may not create files there: %s",
			       o->output_dir, (unsigned)geteuid(), strerror(errno));
	r = restrict_system_calls(o);
	return r < 0 ? err_set(e, r, "cannot install the system call filter: %s", strerror(-r)) : 0;
}

/* ---- the child: files that the service has open ---- */

static struct created_file {
	int fd; /* owned; 0: the entry is free */
	struct output_file id;
} created[MAX_WRITE_THREADS * MAX_FILE_PARTS];

static void add_created_file(int fd)
{
	for (size_t i = 0; i < ARRAY_SIZE(created); i++) {
		if (created[i].fd > 0)
			continue;
		created[i].fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		created[i].id = output_file_of(fd);
		return;
	}
}

static void close_created_file(const struct output_file *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(created); i++)
		if (created[i].fd > 0 && created[i].id.ino == id->ino &&
		    created[i].id.dev == id->dev)
			close(TAKE_FD(created[i].fd));
}

/* Truncates a file to whole packets. Where packets are large, reads only their lengths. */
static void cut_to_whole_packets(int fd)
{
	static uint8_t buf[64u << 10];
	off_t end = 0;
	size_t whole;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return;
	while (end < st.st_size && (n = pread(fd, buf, sizeof(buf), end)) > 0) {
		uint64_t first = trace_record_len(buf, buf + n);

		if (first == 0 || first > (uint64_t)(st.st_size - end))
			break;
		whole = trace_records_whole(buf, (size_t)n);
		end += whole ? (off_t)whole : (off_t)first;
	}
	if (end < st.st_size)
		(void)!ftruncate(fd, end);
}

/* ---- the child: requests ---- */

static void remove_socket_files(const struct file_helper_options *o)
{
	struct stat st;

	for (size_t i = 0; i < o->n_remove; i++)
		if (lstat(o->remove[i].path, &st) == 0 && st.st_ino == o->remove[i].file.ino &&
		    st.st_dev == o->remove[i].file.dev)
			unlink(o->remove[i].path);
}

/* Sends an answer, with the descriptor `passed` (-1: none). Returns false if that fails. */
static bool send_answer(int fd, const struct answer *a, int passed)
{
	return helper_send(fd, a, sizeof(*a), passed, 0) == 0;
}

static bool serve_request(int fd, int dir, struct request *q)
{
	_cleanup_(closep) int made = -1;
	struct answer a = {.result = -EINVAL};

	if (q->kind == CLOSED || q->kind == REMOVE)
		close_created_file(&q->file);
	if (q->kind == CLOSED)
		return true; /* this request has no answer */
	q->path[sizeof(q->path) - 1] = '\0';
	if (q->kind == CREATE && dir >= 0) {
		a.result = output_dir_create(dir, q->path, q->user, &a.reason, &made);
		if (made >= 0)
			add_created_file(made);
	} else if (q->kind == REMOVE && dir >= 0) {
		output_dir_remove(dir, q->path, q->user, &q->file);
		a.result = 0;
	}
	return send_answer(fd, &a, made);
}

struct child_start {
	const struct file_helper_options *options;
	int dir; /* -1: none */
};

static void file_helper_run_child(int fd, void *ctx)
{
	static struct request q;
	const struct child_start *s = ctx;
	struct answer a = {0};

	/* The child must outlive the service, and notices the end of the service by the end of its
	 * socket. */
	(void)prctl(PR_SET_PDEATHSIG, 0);
	if (!s->options->no_sandbox && !BUILT_WITH_SANITIZER)
		a.result = file_helper_confine(s->options, s->dir, &a.reason);
	else
		umask(0);
	if (!send_answer(fd, &a, -1) || a.result < 0)
		_exit(1);
	while (helper_receive(fd, &(struct iovec){&q, sizeof(q)}, 1, -1, NULL) == sizeof(q)) {
		if (q.kind == END) {
			remove_socket_files(s->options);
			_exit(0);
		}
		if (!serve_request(fd, s->dir, &q))
			break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(created); i++)
		if (created[i].fd > 0)
			cut_to_whole_packets(created[i].fd);
	_exit(0);
}

/* ---- the service ---- */

static int file_helper_receive_reply(struct answer *ret, int *ret_fd)
{
	const struct iovec part = {ret, sizeof(*ret)};
	ssize_t n = helper_receive(child.fd, &part, 1, -1, ret_fd);

	return n == sizeof(*ret) ? 0 : n == -ETOOMANYREFS ? -EMFILE : -EPIPE;
}

static int open_dir(const char *path, struct err_text *e, int *ret_fd)
{
	size_t len;

	if (path[0] != '/' ||
	    snprintf(dir_path, sizeof(dir_path), "%s/", path) >= (int)sizeof(dir_path))
		return err_set(e, -EINVAL, "--output-dir '%.300s' is not an absolute path", path);
	for (len = strlen(dir_path); len > 1 && dir_path[len - 2] == '/'; len--)
		dir_path[len - 1] = '\0';
	*ret_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? err_set(e, -errno, "--output-dir %.300s: %s", path, strerror(errno))
			   : 0;
}

int file_helper_start(const struct file_helper_options *o, struct err_text *e)
{
	_cleanup_(closep) int dir = -1;
	struct child_start s = {.options = o};
	struct answer a = {0};
	int fd, r = 0;

	assert(o->n_remove <= FILE_HELPER_REMOVES);
	if (o->output_dir) {
		r = open_dir(o->output_dir, e, &dir);
		if (r < 0)
			return r;
	}
	s.dir = dir;
	r = helper_process_start("sonda-files", file_helper_run_child, &s, dir, &child);
	if (r == 0)
		r = file_helper_receive_reply(&a, &fd);
	if (r < 0)
		return err_set(e, r, "cannot start the file helper process: %s", strerror(-r));
	if (o->output_dir)
		atomic_store(&closed_socket, child.fd);
	return a.result < 0 ? err_set(e, a.result, "%s", a.reason.text) : 0;
}

void file_helper_end(void)
{
	static const struct request end = {.kind = END};
	struct answer a = {0};
	int fd;

	if (child.fd < 0)
		return;
	if (helper_send(child.fd, &end, sizeof(end), -1, 0) == 0)
		(void)file_helper_receive_reply(&a, &fd);
	if (atomic_exchange(&closed_socket, -1) < 0)
		close(child.fd);
	else
		shutdown(child.fd, SHUT_RDWR);
	while (waitpid(child.pid, NULL, 0) < 0 && errno == EINTR)
		;
	child = (struct helper_process){.fd = -1};
	dir_path[0] = '\0';
}

/* Sets the user and the path of the request. Returns 0, or -EPERM and sets e. */
static int make_request(struct request *q, const char *path, uid_t user, struct err_text *e)
{
	size_t len = strlen(dir_path);

	if (child.fd < 0 || len == 0)
		return err_set(e, -EPERM, NO_DIR);
	if (strncmp(path, dir_path, len) != 0)
		return err_set(
			e, -EPERM,
			"output_path %.200s is not below %.200s, the only directory in which "
			"this service creates files (--output-dir)" OPEN_FILE,
			path, dir_path);
	q->user = user;
	snprintf(q->path, sizeof(q->path), "%s", path + len);
	return 0;
}

static bool is_permission_error(int r)
{
	return r == -EACCES || r == -EPERM || r == -EROFS;
}

/* Sends a request and waits for the answer. Returns 0 and the descriptor that came with it, if any;
 * or -errno and sets e. */
static int file_helper_request(const struct request *q, struct err_text *e, int *ret_fd)
{
	struct answer a = {0};
	int r = helper_send(child.fd, q, sizeof(*q), -1, 0) < 0
			? -EPIPE
			: file_helper_receive_reply(&a, ret_fd);

	if (r == -EMFILE)
		return err_set(e, r, "output_path: the service has too many open files");
	if (r < 0)
		return err_set(e, r, "output_path: the file helper process has exited");
	if (a.result < 0)
		return err_set(e, a.result, "output_path %.200s%.200s: %s%s", dir_path, q->path,
			       a.reason.text, is_permission_error(a.result) ? OPEN_FILE : "");
	return 0;
}

int file_helper_create(const char *path, uid_t user, struct err_text *e, int *ret_fd)
{
	static struct request q;
	int r;

	q = (struct request){.kind = CREATE};
	r = make_request(&q, path, user, e);
	if (r == 0)
		r = file_helper_request(&q, e, ret_fd);
	return r == 0 && *ret_fd < 0
		       ? err_set(e, -EPIPE,
				 "output_path: the file helper process sent no descriptor")
		       : r;
}

void file_helper_remove(const char *path, uid_t user, const struct output_file *file)
{
	static struct request q;
	int fd;

	q = (struct request){.kind = REMOVE, .file = *file};
	if (make_request(&q, path, user, NULL) == 0)
		(void)file_helper_request(&q, NULL, &fd);
}

void file_helper_report_closed(const struct output_file *file)
{
	const struct request closed = {.kind = CLOSED, .file = *file};
	int fd = atomic_load(&closed_socket);

	if (fd >= 0)
		(void)helper_send(fd, &closed, sizeof(closed), -1, 0);
}
