/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/write_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "service/ipc/limits.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

#define STACK_BYTES (64u << 10)
#define PROGRESS_BYTES (64u << 10)

struct write_thread {
	int jobs; /* owned; the thread has the other ends */
	int results;
	unsigned pending; /* results to come */
	uint64_t waits_since_ns; /* CLOCK_MONOTONIC: of the last result, if any is to come */
};

enum job_kind { JOB_WRITE, JOB_SYNC, JOB_CUT, JOB_CLOSE, JOB_END };

struct job {
	enum job_kind kind;
	int fd;
	uint64_t id;
	uint8_t *buf; /* owned by whoever has the job */
	size_t cap, len;
	off_t end; /* of JOB_CUT */
};

_Static_assert(sizeof(struct job) <= 512, "a job is one write(2) to a pipe, POSIX's PIPE_BUF");
_Static_assert(sizeof(struct file_result) <= 512, "and so is a result");

/* ---- the thread ---- */

struct worker {
	int jobs, results; /* owned */
	int ended; /* borrowed: where the end of the thread is reported */
	uint8_t place; /* of the thread */
	struct priority_boost boost;
};

/* Of a buffer of records, where the last one ends that ends within the first len bytes. */
static size_t write_thread_whole(const uint8_t *records, size_t len)
{
	const uint8_t *p = records, *end = records + len, *body;
	uint64_t size;

	while (p < end) {
		body = pb_get_varint(p + 1, end, &size);
		if (!body || size > (uint64_t)(end - body))
			break;
		p = body + size;
	}
	return (size_t)(p - records);
}

/* Where the next write goes, or did: the descriptor may be shared with who passed it. */
static off_t position(int fd)
{
	return lseek(fd, 0, SEEK_CUR);
}

static void cut(int fd, off_t end)
{
	if (end >= 0 && ftruncate(fd, end) == 0)
		lseek(fd, end, SEEK_SET); /* for its owner, who may go on there */
}

static void answer(const struct worker *w, const struct file_result *r);

/* The loop is told, so that a slow reader does not look like one that has stopped. */
static void report_progress(const struct worker *w, const struct job *j, size_t before, size_t done)
{
	const struct file_result r = {.id = j->id, .is_progress = true};

	if (before / PROGRESS_BYTES != done / PROGRESS_BYTES)
		answer(w, &r);
}

/*
 * Without O_NONBLOCK, which would be its owner's too. Where the kernel has no RWF_NOWAIT for pipes (before
 * 6.4), as much as poll(2) promises to take at once: a peer that writes to the pipe in between makes the
 * thread wait. So does one that holds the lock of the pipe.
 */
static ssize_t write_at_once(int fd, const uint8_t *data, size_t len)
{
	const struct iovec all = {(void *)data, len};
	ssize_t n = pwritev2(fd, &all, 1, -1, RWF_NOWAIT);

	return n < 0 && errno == EOPNOTSUPP ? write(fd, data, MIN(len, PIPE_BUF)) : n;
}

static ssize_t write_to_pipe(const struct worker *w, const struct job *j, size_t done)
{
	struct pollfd fds[] = {{.fd = j->fd, .events = POLLOUT}, {.fd = w->jobs}};
	ssize_t n;

	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return -1;
	if (!fds[0].revents && fds[1].revents & POLLHUP) {
		errno = ECANCELED; /* nobody wants it any more */
		return -1;
	}
	n = write_at_once(j->fd, j->buf + done, j->len - done);
	if (n > 0)
		report_progress(w, j, done, done + (size_t)n);
	if (n < 0 && errno == EAGAIN)
		errno = EINTR; /* a peer was faster */
	return n;
}

static struct file_result do_write(const struct worker *w, const struct job *j)
{
	struct file_result r = {.id = j->id, .buf = j->buf, .cap = j->cap, .len = j->len};
	bool is_pipe;
	size_t done = 0;
	struct stat st;
	ssize_t n;

	is_pipe = fstat(j->fd, &st) == 0 && S_ISFIFO(st.st_mode);
	while (done < j->len) {
		n = is_pipe ? write_to_pipe(w, j, done)
			    : write(j->fd, j->buf + done, j->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r.error = n < 0 ? -errno : -EIO;
			break;
		}
		done += (size_t)n;
	}
	r.kept = r.error ? write_thread_whole(j->buf, done) : done;
	if (r.kept < done)
		cut(j->fd, position(j->fd) - (off_t)(done - r.kept));
	r.removed = fstat(j->fd, &st) == 0 && st.st_nlink == 0;
	return r;
}

static struct file_result do_sync(const struct job *j)
{
	struct file_result r = {.id = j->id};

	if (fdatasync(j->fd) < 0 && errno != EINVAL && errno != EROFS)
		r.error = -errno;
	return r;
}

/* With nobody there to take it, the buffer is ours. */
static void answer(const struct worker *w, const struct file_result *r)
{
	ssize_t n;

	do
		n = write(w->results, r, sizeof(*r));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		free(r->buf);
}

/* The results that nobody takes any more. */
static void drain(int results)
{
	struct file_result r;

	while (read(results, &r, sizeof(r)) == sizeof(r))
		free(r.buf);
	close(results);
}

static void do_job(const struct worker *w, const struct job *j)
{
	struct file_result r;

	switch (j->kind) {
	case JOB_WRITE:
		r = do_write(w, j);
		break;
	case JOB_SYNC:
		r = do_sync(j);
		break;
	case JOB_CUT:
		cut(j->fd, j->end);
		return;
	case JOB_CLOSE:
		close(j->fd);
		return;
	case JOB_END:
		drain(j->fd);
		return;
	}
	answer(w, &r);
}

/* The thread may have inherited the priority of the loop, which is not its own. Where the kernel refuses
 * the priority, the thread runs without. */
static void take_priority(struct priority_boost_state *s, struct priority_boost boost)
{
	const struct sched_param usual = {0};

	(void)sched_setscheduler(0, SCHED_OTHER, &usual);
	(void)priority_boost_apply(s, boost);
}

static void *run(void *ctx)
{
	struct worker *w = ctx;
	struct priority_boost_state boost = {0};
	struct job j;
	ssize_t n;

	take_priority(&boost, w->boost);
	while ((n = read(w->jobs, &j, sizeof(j))) == sizeof(j) || (n < 0 && errno == EINTR)) {
		priority_boost_tick(&boost);
		if (n > 0)
			do_job(w, &j);
	}
	close(w->jobs);
	close(w->results);
	while (write(w->ended, &w->place, sizeof(w->place)) < 0 && errno == EINTR)
		;
	free(w);
	return NULL;
}

/* ---- jobs ---- */

static int put(struct write_thread *w, const struct job *j)
{
	ssize_t n;

	do
		n = write(w->jobs, j, sizeof(*j));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (j->kind == JOB_WRITE || j->kind == JOB_SYNC) {
		if (!w->pending++)
			w->waits_since_ns = clock_mono_ns();
	}
	return 0;
}

/* ---- its life ---- */

/*
 * The threads by user, as quota.h shares other things out: a quarter for root, and a user may have half of
 * what the other users leave, a quarter of all at most. A thread counts until it has ended, which only
 * the thread knows: it writes its place into the pipe.
 */
static struct {
	int ended, tell; /* the pipe; -1: not open */
	struct {
		bool taken, of_root;
		uint64_t user;
	} places[MAX_WRITE_THREADS];
} threads = {.ended = -1, .tell = -1};

_Static_assert(MAX_WRITE_THREADS <= UINT8_MAX, "a place is a byte in the pipe");

static int take_ended(void)
{
	uint8_t place;
	int p[2];

	if (threads.ended < 0) {
		if (pipe2(p, O_CLOEXEC) < 0 || fcntl(p[0], F_SETFL, O_NONBLOCK) < 0)
			return -errno;
		threads.ended = p[0];
		threads.tell = p[1];
	}
	while (read(threads.ended, &place, sizeof(place)) == sizeof(place))
		threads.places[place].taken = false;
	return 0;
}

/* Returns the place, -EDQUOT if the user has its share, or -EUSERS if there is none. */
static int take_place(uint64_t user, bool is_root)
{
	unsigned of_user = 0, of_others = 0, left = MAX_WRITE_THREADS - MAX_WRITE_THREADS / 4;
	int r = take_ended(), place = -EUSERS;

	if (r < 0)
		return r;
	for (int i = 0; i < (int)MAX_WRITE_THREADS; i++) {
		if (!threads.places[i].taken)
			place = i;
		else if (threads.places[i].user == user)
			of_user++;
		else if (!threads.places[i].of_root)
			of_others++;
	}
	left -= MIN(left, of_others);
	if (!is_root && of_user >= MIN(MAX_WRITE_THREADS / 4, (left + 1) / 2))
		return -EDQUOT;
	if (place >= 0) {
		threads.places[place].taken = true;
		threads.places[place].of_root = is_root;
		threads.places[place].user = user;
	}
	return place;
}

/* Signals are the loop's; but one that the kernel raises for a system call stays where it is. */
static int start(struct worker *w)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int r;

	if (pthread_attr_init(&attr))
		return -ENOMEM;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attr, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

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
	struct write_thread *w = malloc(sizeof(*w));
	struct worker *worker = malloc(sizeof(*worker));
	int place = take_place(user, is_root), r = place < 0 ? place : -ENOMEM;

	if (w && worker && place >= 0) {
		*w = (struct write_thread){.jobs = -1, .results = -1};
		*worker = (struct worker){-1, -1, threads.tell, (uint8_t)place, boost};
		r = open_pipes(w, worker);
		if (r == 0)
			r = start(worker);
		if (r == 0) {
			*ret = w;
			return 0;
		}
		closep(&worker->jobs);
		closep(&worker->results);
		write_thread_free(TAKE_PTR(w));
	}
	if (place >= 0)
		threads.places[place].taken = false;
	free(w);
	free(worker);
	return r;
}

void write_thread_free(struct write_thread *w)
{
	if (!w)
		return;
	if (w->results >= 0 && put(w, &(struct job){.kind = JOB_END, .fd = w->results}) < 0)
		close(w->results);
	closep(&w->jobs);
	free(w);
}

int write_thread_fd(const struct write_thread *w)
{
	return w->results;
}

/* ---- jobs and results ---- */

int write_thread_write(struct write_thread *w, uint64_t id, int fd, uint8_t *buf, size_t cap,
		       size_t len)
{
	return put(
		w,
		&(struct job){
			.kind = JOB_WRITE, .fd = fd, .id = id, .buf = buf, .cap = cap, .len = len});
}

int write_thread_sync(struct write_thread *w, uint64_t id, int fd)
{
	return put(w, &(struct job){.kind = JOB_SYNC, .fd = fd, .id = id});
}

void write_thread_cut(struct write_thread *w, int fd, off_t end)
{
	(void)put(w, &(struct job){.kind = JOB_CUT, .fd = fd, .end = end});
}

void write_thread_close(struct write_thread *w, int fd)
{
	if (put(w, &(struct job){.kind = JOB_CLOSE, .fd = fd}) < 0)
		close(fd);
}

int write_thread_next(struct write_thread *w, struct file_result *ret)
{
	ssize_t n;

	do
		n = read(w->results, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(*ret))
		return 0;
	w->pending -= !ret->is_progress;
	w->waits_since_ns = clock_mono_ns();
	return 1;
}

unsigned write_thread_pending(const struct write_thread *w)
{
	return w->pending;
}

uint64_t write_thread_waits_ms(const struct write_thread *w)
{
	return w->pending ? (clock_mono_ns() - w->waits_since_ns) / NS_PER_MS : 0;
}

int write_thread_wait(struct write_thread *w, int timeout_ms)
{
	struct pollfd p = {.fd = w->results, .events = POLLIN};

	return poll(&p, 1, timeout_ms) > 0 ? 0 : -ETIMEDOUT;
}
