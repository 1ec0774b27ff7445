/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/proc_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/outside_reads.h"
#include "base/text/str.h"

/*
 * Every file is opened relative to a descriptor and read with one call: the kernel generates the
 * text at the read. Opening and closing takes a third of the time for status and three quarters for
 * a small file. So files that are read repeatedly may stay open; their number is limited because
 * each one uses kernel memory.
 */

/* The longest path is "4194304/oom_score_adj". */
#define PATH_SIZE 48
/* A status has about 1.5 kB. */
#define READ_SIZE 4096
/* The buffer keeps at most this size between two files. */
#define TEXT_KEEP (64u << 10)

static const char *const names[PROC_FILES] = {
	[PROC_FILE_STATUS] = "status",
	[PROC_FILE_STAT] = "stat",
	[PROC_FILE_STATM] = "statm",
	[PROC_FILE_CMDLINE] = "cmdline",
	[PROC_FILE_COMM] = "comm",
	[PROC_FILE_OOM_SCORE_ADJ] = "oom_score_adj",
	[PROC_FILE_SMAPS_ROLLUP] = "smaps_rollup",
	[PROC_FILE_DMABUF_RSS] = "dmabuf_rss",
	[PROC_FILE_IO] = "io",
	[PROC_FILE_SCHEDSTAT] = "schedstat",
	[PROC_FILE_CGROUP] = "cgroup",
};

/* Files that all struct proc_files of this process keep open; PROC_KEPT_MAX limits their number. */
static unsigned n_cached;

const char *proc_file_name(enum proc_file file)
{
	return names[file];
}

static bool shows_own_pid_namespace(struct proc_files *f);

int proc_files_init(struct proc_files *f, const char *root)
{
	long hz = sysconf(_SC_CLK_TCK);
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*f = (struct proc_files){
		.root = fd,
		.path = strdup(root),
		.ns_per_tick = NS_PER_S / (uint64_t)(hz > 0 ? hz : 100),
	};
	if (!f->path) {
		closep(&f->root);
		return -ENOMEM;
	}
	f->own_numbers = shows_own_pid_namespace(f);
	return 0;
}

void proc_files_deinit(struct proc_files *f)
{
	closep(&f->root);
	free(f->path);
	strbuf_deinit(&f->text);
}

/* ---- errors ---- */

/* Finds out whether the task has exited or the kernel lacks the file, by looking into /proc/self,
 * and marks a file that the kernel lacks as absent. */
static void detect_absent_file(struct proc_files *f, enum proc_file file)
{
	struct proc_errors *t = &f->errors[file];
	char path[PATH_SIZE];

	if (t->looked)
		return;
	t->looked = true;
	snprintf(path, sizeof(path), "self/%s", names[file]);
	if (faccessat(f->root, "self/status", F_OK, 0) != 0 ||
	    faccessat(f->root, path, F_OK, 0) == 0)
		return;
	t->absent = true;
	t->error = -ENOENT;
}

/* Counts r if it is an error other than that the task has exited. Returns r. */
static int count_error(struct proc_files *f, enum proc_file file, int r)
{
	if (r == -ENOENT)
		detect_absent_file(f, file);
	/* A command line that could not be read in time is read again later. */
	if (r >= 0 || r == -ENOENT || r == -ESRCH || (r == -EAGAIN && file == PROC_FILE_CMDLINE))
		return r;
	f->errors[file].count++;
	f->errors[file].error = r;
	return r;
}

/* ---- reading ---- */

/* Reads up to max bytes; *ret_more: the file may have more. A read that returns less than its
 * buffer was the last: /proc generates the whole text before it returns the first byte. */
static int read_fd(struct strbuf *b, int fd, size_t max, bool *ret_more)
{
	if (b->cap > TEXT_KEEP)
		strbuf_deinit(b);
	strbuf_clear(b);
	for (;;) {
		size_t room = MIN(max - b->len, (size_t)READ_SIZE);
		char *to = strbuf_reserve(b, READ_SIZE);
		ssize_t n;

		if (!to)
			return -ENOMEM;
		n = pread(fd, to, room, (off_t)b->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		b->len += (size_t)n;
		if ((size_t)n < room || room == 0) {
			*ret_more = room == 0;
			return 0;
		}
	}
}

static int open_at(struct proc_files *f, int dir, const char *path, enum proc_file file)
{
	int fd;

	if (f->errors[file].absent)
		return -ENOENT;
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static size_t max_file_size(enum proc_file file)
{
	return file == PROC_FILE_STATUS	   ? PROC_STATUS_FILE_MAX
	       : file == PROC_FILE_CMDLINE ? PROC_CMDLINE_FILE_MAX
					   : READ_SIZE;
}

/* Reads a file, up to max_file_size(file). Returns 0 or -errno; -EFBIG for a status that is larger,
 * because it must be complete. */
static int proc_files_read_text(struct proc_files *f, int fd, enum proc_file file)
{
	bool more = false;
	int r = read_fd(&f->text, fd, max_file_size(file), &more);

	return r == 0 && more && file == PROC_FILE_STATUS ? -EFBIG : r;
}

/* Returns true if /proc shows our own pid namespace: NSpid has our id in the namespace of /proc
 * first, and in our own last. */
static bool shows_own_pid_namespace(struct proc_files *f)
{
	_cleanup_(closep) int fd = openat(f->root, "self/status", O_RDONLY | O_CLOEXEC);
	struct proc_status s;

	return fd >= 0 && proc_files_read_text(f, fd, PROC_FILE_STATUS) == 0 &&
	       proc_status_parse(f->text.s, f->text.len, &s) == 0 && s.pid == getpid() &&
	       proc_status_has(&s, PROC_STATUS_NSPID) && s.n_nspid == 0;
}

/* Returns true for files that need ptrace(2) permission or whose read takes a lock of the process:
 * another process reads them (base/system/outside_reads.h). */
static bool is_read_by_helper(enum proc_file file)
{
	return file == PROC_FILE_IO || file == PROC_FILE_SMAPS_ROLLUP ||
	       (file == PROC_FILE_CMDLINE && outside_reads_are_timely());
}

static int read_by_helper(struct proc_files *f, int32_t pid, enum proc_file file)
{
	int wait_ms = file == PROC_FILE_CMDLINE ? OUTSIDE_READ_SHORT_MS : OUTSIDE_READ_LONG_MS;
	size_t size = READ_SIZE;
	char path[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%.200s/%d/%s", f->path, pid, names[file]);
	for (;; size = max_file_size(file)) {
		char *to;

		strbuf_clear(&f->text);
		to = strbuf_reserve(&f->text, size);
		if (!to)
			return -ENOMEM;
		n = outside_read(path, to, size, wait_ms);
		if (n < 0)
			return (int)n;
		f->text.len = (size_t)n;
		if ((size_t)n < size || size >= max_file_size(file))
			return 0;
	}
}

/* Reads the file of a task in a directory (/proc, or /proc/PID/task). */
static int proc_files_read_file(struct proc_files *f, int dir, int32_t tid, enum proc_file file)
{
	_cleanup_(closep) int fd = -1;
	char path[PATH_SIZE];

	if (is_read_by_helper(file) && outside_reads_pid())
		return count_error(f, file, read_by_helper(f, tid, file));
	snprintf(path, sizeof(path), "%d/%s", tid, names[file]);
	fd = open_at(f, dir, path, file);
	return count_error(f, file, fd < 0 ? fd : proc_files_read_text(f, fd, file));
}

static int parse_status(struct proc_files *f, int r, struct proc_status *ret)
{
	if (r == 0)
		r = count_error(f, PROC_FILE_STATUS,
				proc_status_parse(f->text.s, f->text.len, ret));
	return r;
}

static int parse_number(struct proc_files *f, int r, enum proc_file file, int64_t *ret_v)
{
	if (r == 0)
		r = count_error(f, file, proc_number_parse(f->text.s, f->text.len, ret_v));
	return r;
}

int proc_files_read_status(struct proc_files *f, int32_t pid, struct proc_status *ret)
{
	return parse_status(f, proc_files_read_file(f, f->root, pid, PROC_FILE_STATUS), ret);
}

int proc_files_read_thread_status(struct proc_files *f, const struct pid_list *threads, int32_t tid,
				  struct proc_status *ret)
{
	return parse_status(f, proc_files_read_file(f, threads->fd, tid, PROC_FILE_STATUS), ret);
}

int proc_files_read_thread_comm(struct proc_files *f, const struct pid_list *threads, int32_t tid,
				struct proc_name *ret)
{
	int r = proc_files_read_file(f, threads->fd, tid, PROC_FILE_COMM);

	if (r == 0)
		proc_comm_parse(f->text.s, f->text.len, ret);
	return r;
}

int proc_files_read_stat(struct proc_files *f, int32_t pid, struct proc_stat *ret)
{
	int r = proc_files_read_file(f, f->root, pid, PROC_FILE_STAT);

	if (r == 0)
		r = count_error(f, PROC_FILE_STAT, proc_stat_parse(f->text.s, f->text.len, ret));
	return r;
}

int proc_files_read_smaps(struct proc_files *f, int32_t pid, struct proc_smaps *ret)
{
	int r = proc_files_read_file(f, f->root, pid, PROC_FILE_SMAPS_ROLLUP);

	if (r < 0)
		return r;
	proc_smaps_parse(f->text.s, f->text.len, ret);
	return count_error(f, PROC_FILE_SMAPS_ROLLUP, ret->has ? 0 : -EBADMSG);
}

int proc_files_read_number(struct proc_files *f, int32_t pid, enum proc_file file, int64_t *ret_v)
{
	return parse_number(f, proc_files_read_file(f, f->root, pid, file), file, ret_v);
}

int proc_files_read_cmdline(struct proc_files *f, int32_t pid, const char **ret_text,
			    size_t *ret_len)
{
	int r = proc_files_read_file(f, f->root, pid, PROC_FILE_CMDLINE);

	if (r < 0)
		return r;
	*ret_text = f->text.s;
	*ret_len = f->text.len;
	return 0;
}

int proc_files_read_io(struct proc_files *f, int32_t pid, struct proc_io *ret)
{
	int r = proc_files_read_file(f, f->root, pid, PROC_FILE_IO);

	return r < 0 ? r : count_error(f, PROC_FILE_IO, proc_io_parse(f->text.s, f->text.len, ret));
}

int proc_files_read_cgroup(struct proc_files *f, int32_t pid, struct span *ret_path)
{
	int r = proc_files_read_file(f, f->root, pid, PROC_FILE_CGROUP);

	return r < 0 ? r
		     : count_error(f, PROC_FILE_CGROUP,
				   proc_cgroup_parse(f->text.s, f->text.len, ret_path));
}

int proc_files_read_thread_schedstat(struct proc_files *f, const struct pid_list *threads,
				     int32_t tid, struct proc_schedstat *ret)
{
	int r = proc_files_read_file(f, threads->fd, tid, PROC_FILE_SCHEDSTAT);

	return r < 0 ? r
		     : count_error(f, PROC_FILE_SCHEDSTAT,
				   proc_schedstat_parse(f->text.s, f->text.len, ret));
}

/* A kernel without CONFIG_SCHED_INFO has no schedstat file, or one with three zeros. */
bool proc_files_has_run(struct proc_files *f, int32_t pid, const struct proc_status *s)
{
	struct proc_schedstat sched;
	struct proc_status status;
	char name[PATH_SIZE], text[128];
	ssize_t n;
	int fd;

	if (s && s->has_switched)
		return true;
	snprintf(name, sizeof(name), "%d/%s", pid, proc_file_name(PROC_FILE_SCHEDSTAT));
	fd = openat(f->root, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	n = read(fd, text, sizeof(text));
	close(fd);
	if (n <= 0 || proc_schedstat_parse(text, (size_t)n, &sched) < 0)
		return true;
	if (sched.run_ns || sched.wait_ns || sched.slices)
		return true;
	return !s && proc_files_read_status(f, pid, &status) == 0 && status.has_switched;
}

/* ---- files that stay open ---- */

void proc_cached_close(struct proc_cached_file *k)
{
	if (k->fd < 0)
		return;
	close(k->fd);
	k->fd = -1;
	n_cached--;
}

static bool may_keep_file_open(void)
{
	struct rlimit l;

	return n_cached < PROC_KEPT_MAX && getrlimit(RLIMIT_NOFILE, &l) == 0 &&
	       n_cached < l.rlim_cur / 4;
}

/* Reads a file and keeps it open. Returns 0, -errno, or -EMFILE if the file may not stay open. */
static int read_cached(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
		       enum proc_file file)
{
	char path[PATH_SIZE];
	int r;

	if (k->fd < 0) {
		if (!may_keep_file_open())
			return -EMFILE;
		snprintf(path, sizeof(path), "%d/%s", pid, names[file]);
		r = open_at(f, f->root, path, file);
		if (r < 0)
			return count_error(f, file, r);
		k->fd = r;
		n_cached++;
	}
	r = count_error(f, file, proc_files_read_text(f, k->fd, file));
	if (r < 0)
		proc_cached_close(k);
	return r;
}

/* Reads the file and keeps it open; above the limit of open files it closes it again. */
static int read_cached_or_open(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
			       enum proc_file file)
{
	int r = read_cached(f, k, pid, file);

	return r == -EMFILE ? proc_files_read_file(f, f->root, pid, file) : r;
}

int proc_files_read_cached_status(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
				  struct proc_status *ret)
{
	return parse_status(f, read_cached_or_open(f, k, pid, PROC_FILE_STATUS), ret);
}

int proc_files_read_cached_number(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
				  enum proc_file file, int64_t *ret_v)
{
	return parse_number(f, read_cached_or_open(f, k, pid, file), file, ret_v);
}

int proc_files_read_cached_text(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
				enum proc_file file, const char **ret_text, size_t *ret_len)
{
	int r = read_cached(f, k, pid, file);

	if (r < 0)
		return r;
	*ret_text = f->text.s;
	*ret_len = f->text.len;
	return 0;
}
