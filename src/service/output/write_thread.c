/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/write_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/thread.h"
#include "base/system/background_close.h"
#include "service/ipc/limits.h"
#include "service/output/file_helper.h"
#include "service/output/trace_record.h"

#define STACK_BYTES (64u << 10)
#define PROGRESS_BYTES (64u << 10)

struct write_thread {
	int jobs, results; /* owned: our end of each pipe */
	unsigned pending; /* results to come */
	uint64_t waits_since_ns; /* CLOCK_MONOTONIC: last result, or first job after none */
	uint64_t user;
};

enum job_kind {
	JOB_OPEN,
	JOB_WRITE,
	JOB_SYNC,
	JOB_SEND_RANGE,
	JOB_COPY,
	JOB_TRUNCATE,
	JOB_CLOSE,
	JOB_END
};

struct job {
	enum job_kind kind;
	int fd;
	uint64_t id;
	uint8_t *buf; /* JOB_WRITE: owned by the holder of the job */
	size_t cap, len;
	int from, range; /* JOB_COPY, JOB_SEND_RANGE: owned by the holder of the job */
};

/* The range of the trace in a file, as it goes through a pipe. */
struct file_range {
	off_t begin, end;
};

_Static_assert(sizeof(struct job) <= 512, "a job is one write(2) to a pipe, POSIX's PIPE_BUF");
_Static_assert(sizeof(struct file_result) <= 512, "and so is a result");

/* The threads that have not ended: all, and those of users other than root. Threads decrement them,
 * and publish nothing else with it. */
static atomic_int n_threads, n_threads_of_users;

static void count_threads(bool is_root, int n)
{
	atomic_fetch_add(&n_threads, n);
	if (!is_root)
		atomic_fetch_add(&n_threads_of_users, n);
}

static bool may_start_thread(bool is_root)
{
	return atomic_load(&n_threads) < MAX_WRITE_THREADS &&
	       (is_root || atomic_load(&n_threads_of_users) < MAX_WRITE_THREADS_OF_USERS);
}

/* ---- the thread ---- */

struct worker {
	int jobs, results; /* owned */
	bool is_root;
	struct priority_boost boost;
	struct priority_boost_state boost_state;
	/* The offset of a descriptor may differ from begin + written: the process that passed the
	 * file shares it and may move it. */
	struct open_file {
		int fd; /* -1: free */
		off_t begin; /* where the trace begins; earlier data is not ours */
		uint64_t written; /* bytes of the trace */
		struct output_file id; /* for file_helper_report_closed() */
	} files[MAX_FILE_PARTS];
};

static struct open_file *find_open_file(struct worker *w, int fd)
{
	for (size_t i = 0; i < MAX_FILE_PARTS; i++)
		if (w->files[i].fd == fd)
			return &w->files[i];
	return NULL;
}

static void count_written_bytes(struct worker *w, int fd, uint64_t bytes)
{
	struct open_file *f = find_open_file(w, fd);

	if (f)
		f->written += bytes;
}

/* Returns the offset of the descriptor, which its owner may have moved. */
static off_t file_offset(int fd)
{
	return lseek(fd, 0, SEEK_CUR);
}

static void write_thread_cut(int fd, off_t end)
{
	if (end >= 0 && ftruncate(fd, end) == 0)
		lseek(fd, end, SEEK_SET); /* resets the offset for the owner, who shares it */
}

static void write_thread_answer(const struct worker *w, const struct file_result *r);

/* Reports progress, so that a slow reader is not taken for one that has stopped. */
static void report_progress(const struct worker *w, uint64_t id)
{
	const struct file_result r = {.id = id, .kind = FILE_PROGRESS};

	write_thread_answer(w, &r);
}

/* Writes what the pipe accepts without waiting. Returns as write(2). O_NONBLOCK would also be set
 * for the pipe's owner. Before Linux 6.4, RWF_NOWAIT does not work on pipes. There, poll(2)
 * guarantees room for PIPE_BUF bytes, and the thread waits only if a peer fills the pipe after the
 * poll, or holds its lock. */
static ssize_t write_without_waiting(int fd, const uint8_t *data, size_t len)
{
	const struct iovec all = {(void *)data, len};
	ssize_t n = pwritev2(fd, &all, 1, -1, RWF_NOWAIT);

	return n < 0 && errno == EOPNOTSUPP ? write(fd, data, MIN(len, PIPE_BUF)) : n;
}

/* Returns true if the writer was freed, so no results are read any more. */
static bool jobs_pipe_is_closed(const struct worker *w)
{
	struct pollfd p = {.fd = w->jobs};

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

static ssize_t write_to_pipe(const struct worker *w, int fd, const uint8_t *data, size_t len)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLOUT}, {.fd = w->jobs}};
	ssize_t n;

	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return -1;
	if (!fds[0].revents && fds[1].revents & POLLHUP) {
		errno = ECANCELED; /* the writer was freed */
		return -1;
	}
	n = write_without_waiting(fd, data, len);
	if (n < 0 && errno == EAGAIN)
		errno = EINTR; /* a peer has filled the pipe meanwhile */
	return n;
}

/* Writes all bytes, or up to the first error. Returns the number of written bytes, and sets
 * *ret_error to 0 or -errno. */
static size_t write_bytes(const struct worker *w, const struct job *j, const uint8_t *data,
			  size_t len, int *ret_error)
{
	size_t done = 0, before;
	struct stat st;
	bool is_pipe = fstat(j->fd, &st) == 0 && S_ISFIFO(st.st_mode);
	ssize_t n;

	*ret_error = 0;
	while (done < len) {
		n = is_pipe ? write_to_pipe(w, j->fd, data + done, len - done)
			    : write(j->fd, data + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*ret_error = n < 0 ? -errno : -EIO;
			break;
		}
		before = done;
		done += (size_t)n;
		if (is_pipe && before / PROGRESS_BYTES != done / PROGRESS_BYTES)
			report_progress(w, j->id);
	}
	return done;
}

static struct file_result do_write(struct worker *w, const struct job *j)
{
	struct file_result r = {
		.id = j->id, .kind = FILE_WRITTEN, .buf = j->buf, .cap = j->cap, .len = j->len};
	size_t done = write_bytes(w, j, j->buf, j->len, &r.error);
	struct stat st;

	r.kept = r.error ? trace_records_whole(j->buf, done) : done;
	if (r.kept < done)
		write_thread_cut(j->fd, file_offset(j->fd) - (off_t)(done - r.kept));
	r.removed = fstat(j->fd, &st) == 0 && st.st_nlink == 0;
	count_written_bytes(w, j->fd, r.kept);
	return r;
}

static struct file_result do_sync(const struct job *j)
{
	struct file_result r = {.id = j->id, .kind = FILE_SYNCED};

	if (fdatasync(j->fd) < 0 && errno != EINVAL && errno != EROFS)
		r.error = -errno;
	return r;
}

/* Sends the result. Frees its buffer if the writer was freed. */
static void write_thread_answer(const struct worker *w, const struct file_result *r)
{
	ssize_t n;

	do
		n = write(w->results, r, sizeof(*r));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		free(r->buf);
}

/* Frees the results that the writer did not read, and closes the pipe. */
static void free_untaken_results(int results)
{
	struct file_result r;

	while (read(results, &r, sizeof(r)) == sizeof(r))
		free(r.buf);
	close(results);
}

/* ---- the range of the trace in a file ---- */

/* Adds the file to those that are open, with the offset at which the trace begins. */
static void add_open_file(struct worker *w, int fd)
{
	struct open_file *f = find_open_file(w, -1);
	int flags = fcntl(fd, F_GETFL);
	bool appends = flags >= 0 && flags & O_APPEND;
	struct stat st;
	off_t begin = appends && fstat(fd, &st) == 0 ? st.st_size : file_offset(fd);

	if (f)
		*f = (struct open_file){.fd = fd, .begin = MAX(begin, 0), .id = output_file_of(fd)};
}

static void close_open_file(struct worker *w, int fd)
{
	struct open_file *f = find_open_file(w, fd);

	close(fd);
	if (!f)
		return;
	f->fd = -1;
	if (f->id.ino != 0)
		file_helper_report_closed(&f->id);
}

static void do_truncate(struct worker *w, int fd)
{
	struct open_file *f = find_open_file(w, fd);

	if (!f || f->written == 0)
		return;
	write_thread_cut(fd, f->begin);
	f->written = 0;
}

/* ---- copies ---- */

static struct file_result do_send_range(struct worker *w, const struct job *j)
{
	const struct open_file *f = find_open_file(w, j->fd);
	struct file_range range = {0};

	/* Without the range the copy fails. */
	if (f) {
		range = (struct file_range){f->begin, f->begin + (off_t)f->written};
		(void)!write(j->range, &range, sizeof(range));
	}
	close(j->range);
	return (struct file_result){.id = j->id, .kind = FILE_RANGE_SENT};
}

/* Waits for the range that the thread of the source sends. Returns 0, -ECANCELED if the writer was
 * freed before, -EIO if the source has sent none, or another -errno. */
static int read_range(const struct worker *w, int range, struct file_range *ret)
{
	struct pollfd fds[] = {{.fd = range, .events = POLLIN}, {.fd = w->jobs}};

	while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		if (errno != EINTR)
			return -errno;
	if (!fds[0].revents)
		return -ECANCELED;
	return read(range, ret, sizeof(*ret)) == sizeof(*ret) ? 0 : -EIO;
}

/* Appends the range of j->from to the file. Adds the bytes written to *ret_kept, even if an error
 * follows. Returns 0, -ECANCELED after write_thread_free(), or another -errno. */
static int copy_range(struct worker *w, const struct job *j, struct file_range range,
		      uint64_t *ret_kept)
{
	_cleanup_(freep) uint8_t *buf = malloc(FILE_BATCH_BYTES);
	int r = buf ? 0 : -ENOMEM;
	size_t done;
	ssize_t n;

	while (r == 0 && range.begin < range.end) {
		if (jobs_pipe_is_closed(w))
			return -ECANCELED;
		n = pread(j->from, buf,
			  (size_t)MIN(range.end - range.begin, (off_t)FILE_BATCH_BYTES),
			  range.begin);
		if (n <= 0)
			return n < 0 ? -errno : -EIO; /* the file was truncated */
		done = write_bytes(w, j, buf, (size_t)n, &r);
		count_written_bytes(w, j->fd, done);
		*ret_kept += done;
		range.begin += n;
		report_progress(w, j->id);
		priority_boost_tick(&w->boost_state);
	}
	return r;
}

static struct file_result do_copy(struct worker *w, const struct job *j)
{
	struct file_result r = {.id = j->id, .kind = FILE_COPIED};
	struct file_range range = {0};

	r.error = read_range(w, j->range, &range);
	if (r.error == 0)
		r.error = copy_range(w, j, range, &r.kept);
	close(j->from);
	close(j->range);
	return r;
}

static void execute_job(struct worker *w, const struct job *j)
{
	struct file_result r;

	switch (j->kind) {
	case JOB_OPEN:
		add_open_file(w, j->fd);
		return;
	case JOB_WRITE:
		r = do_write(w, j);
		break;
	case JOB_SYNC:
		r = do_sync(j);
		break;
	case JOB_SEND_RANGE:
		r = do_send_range(w, j);
		break;
	case JOB_COPY:
		r = do_copy(w, j);
		break;
	case JOB_TRUNCATE:
		do_truncate(w, j->fd);
		return;
	case JOB_CLOSE:
		close_open_file(w, j->fd);
		return;
	case JOB_END:
		free_untaken_results(j->fd);
		return;
	}
	write_thread_answer(w, &r);
}

/* Sets the priority of this thread. It may have inherited that of the loop, so it first resets its
 * policy. Without permission for the boost, it runs with the usual policy. */
static void apply_priority(struct priority_boost_state *s, struct priority_boost boost)
{
	const struct sched_param usual = {0};

	(void)sched_setscheduler(0, SCHED_OTHER, &usual);
	(void)priority_boost_apply(s, boost);
}

static void *write_thread_run(void *ctx)
{
	struct worker *w = ctx;
	struct job j;
	ssize_t n;

	apply_priority(&w->boost_state, w->boost);
	while ((n = read(w->jobs, &j, sizeof(j))) == sizeof(j) || (n < 0 && errno == EINTR)) {
		priority_boost_tick(&w->boost_state);
		if (n > 0)
			execute_job(w, &j);
	}
	close(w->jobs);
	close(w->results);
	count_threads(w->is_root, -1);
	free(w);
	return NULL;
}

/* ---- jobs ---- */

static int write_thread_send_job(struct write_thread *w, const struct job *j)
{
	ssize_t n;

	do
		n = write(w->jobs, j, sizeof(*j));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (j->kind == JOB_WRITE || j->kind == JOB_SYNC || j->kind == JOB_SEND_RANGE ||
	    j->kind == JOB_COPY) {
		if (!w->pending++)
			w->waits_since_ns = clock_mono_ns();
	}
	return 0;
}

/* ---- life ---- */

static int open_pipes(struct write_thread *w, struct worker *worker)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	worker->jobs = p[0];
	w->jobs = p[1];
	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	w->results = p[0];
	worker->results = p[1];
	if (fcntl(w->jobs, F_SETFL, O_NONBLOCK) < 0 || fcntl(w->results, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int write_thread_new(uint64_t user, bool is_root, struct priority_boost boost,
		     struct write_thread **ret)
{
	struct write_thread *w;
	struct worker *worker;
	int r = -ENOMEM;

	if (!may_start_thread(is_root))
		return -EUSERS;
	w = malloc(sizeof(*w));
	worker = malloc(sizeof(*worker));
	if (w && worker) {
		*w = (struct write_thread){.jobs = -1, .results = -1, .user = user};
		*worker = (struct worker){
			.jobs = -1, .results = -1, .is_root = is_root, .boost = boost};
		for (size_t i = 0; i < MAX_FILE_PARTS; i++)
			worker->files[i].fd = -1;
		count_threads(is_root, 1);
		r = open_pipes(w, worker);
		if (r == 0)
			r = thread_start(NULL, STACK_BYTES, write_thread_run, worker);
		if (r == 0) {
			*ret = w;
			return 0;
		}
		count_threads(is_root, -1);
		closep(&worker->jobs);
		closep(&worker->results);
		write_thread_free(TAKE_PTR(w));
	}
	free(w);
	free(worker);
	return r;
}

void write_thread_free(struct write_thread *w)
{
	if (!w)
		return;
	if (w->results >= 0 &&
	    write_thread_send_job(w, &(struct job){.kind = JOB_END, .fd = w->results}) < 0)
		close(w->results);
	closep(&w->jobs);
	free(w);
}

int write_thread_fd(const struct write_thread *w)
{
	return w->results;
}

/* ---- jobs and results ---- */

int write_thread_add_file(struct write_thread *w, int fd)
{
	return write_thread_send_job(w, &(struct job){.kind = JOB_OPEN, .fd = fd});
}

int write_thread_write(struct write_thread *w, uint64_t id, int fd, uint8_t *buf, size_t cap,
		       size_t len)
{
	return write_thread_send_job(
		w,
		&(struct job){
			.kind = JOB_WRITE, .fd = fd, .id = id, .buf = buf, .cap = cap, .len = len});
}

int write_thread_sync(struct write_thread *w, uint64_t id, int fd)
{
	return write_thread_send_job(w, &(struct job){.kind = JOB_SYNC, .fd = fd, .id = id});
}

int write_thread_send_range(struct write_thread *w, uint64_t id, int fd, int range)
{
	return write_thread_send_job(
		w, &(struct job){.kind = JOB_SEND_RANGE, .fd = fd, .id = id, .range = range});
}

int write_thread_copy(struct write_thread *w, uint64_t id, int fd, int from, int range)
{
	return write_thread_send_job(
		w,
		&(struct job){.kind = JOB_COPY, .fd = fd, .id = id, .from = from, .range = range});
}

void write_thread_truncate(struct write_thread *w, int fd)
{
	(void)write_thread_send_job(w, &(struct job){.kind = JOB_TRUNCATE, .fd = fd});
}

void write_thread_close(struct write_thread *w, int fd)
{
	if (write_thread_send_job(w, &(struct job){.kind = JOB_CLOSE, .fd = fd}) < 0)
		background_close(fd, w->user);
}

int write_thread_next_result(struct write_thread *w, struct file_result *ret)
{
	ssize_t n;

	do
		n = read(w->results, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(*ret))
		return 0;
	w->pending -= ret->kind != FILE_PROGRESS;
	w->waits_since_ns = clock_mono_ns();
	return 1;
}

unsigned write_thread_pending(const struct write_thread *w)
{
	return w->pending;
}

uint64_t write_thread_stalled_ms(const struct write_thread *w)
{
	return w->pending ? (clock_mono_ns() - w->waits_since_ns) / NS_PER_MS : 0;
}

int write_thread_wait(struct write_thread *w, int timeout_ms)
{
	struct pollfd p = {.fd = w->results, .events = POLLIN};
	uint64_t begin = clock_mono_ns();
	int left = timeout_ms, n;

	while ((n = poll(&p, 1, left)) < 0 && errno == EINTR)
		if (timeout_ms > 0)
			left = MAX(timeout_ms - (int)((clock_mono_ns() - begin) / NS_PER_MS), 0);
	return n > 0 ? 0 : -ETIMEDOUT;
}
