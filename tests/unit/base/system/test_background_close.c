/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include "base/core/thread.h"
#include "base/system/background_close.h"
#include "unit/test.h"

static bool refuses_threads;

int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *arg), void *arg)
{
	pthread_t thread;
	int r = refuses_threads ? EAGAIN : pthread_create(&thread, NULL, run, arg);

	if (r == 0)
		pthread_detach(thread);
	return -r;
}

/* Makes a pipe, of which the writing end is to be closed. */
static int writing_end(int *ret_reader)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*ret_reader = fds[0];
	return fds[1];
}

/* The end of the pipe comes. */
static void assert_closed(int reader)
{
	struct pollfd p[] = {{.fd = reader, .events = POLLIN},
			     {.fd = background_close_finished_fd(), .events = POLLIN}};

	while (!p[0].revents) {
		assert_in_range(poll(p, 2, 60000), 1, 2);
		if (p[1].revents)
			background_close_continue();
	}
	assert_true(p[0].revents & POLLHUP);
	close(reader);
}

/* background_close.c calls setsockopt(2) before each close(2). This one waits for the pipes of which the
 * test says so, as close(2) waits for some files. */
static atomic_bool is_slow[1024];
static atomic_uint n_slow; /* threads that wait */
static sem_t go_on;

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (fd >= 0 && (size_t)fd < ARRAY_SIZE(is_slow) && is_slow[fd]) {
		n_slow++;
		while (sem_wait(&go_on) < 0)
			;
		is_slow[fd] = false;
		n_slow--;
	}
	errno = ENOTSOCK;
	return -1;
}

TEST(without_threads_it_is_closed_at_once)
{
	int reader, fd = writing_end(&reader);

	background_close(fd, 1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(background_close_count_waiting(1), 0);
	background_close(-1, 1);
	close(reader);
}

/* Returns the descriptor that the next open file gets. */
static int next_fd(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

TEST(a_failed_start_leaves_nothing_open)
{
	int before = next_fd();

	refuses_threads = true;
	assert_int_equal(background_close_start(), -EAGAIN);
	refuses_threads = false;
	assert_int_equal(background_close_finished_fd(), -1);
	assert_int_equal(next_fd(), before);
}

TEST(threads_close_all)
{
	int readers[200];

	assert_int_equal(background_close_start(), 0);
	for (size_t i = 0; i < 200; i++)
		background_close(writing_end(&readers[i]), i % 3);
	for (size_t i = 0; i < 200; i++)
		assert_closed(readers[i]);
	background_close(-1, 1);
}

/* Whatever user 1 passes, six of the eight threads are left for others. */
TEST(slow_closes_of_a_user_take_two_threads)
{
	enum { SLOW = 20, THREADS = 2 };
	int slow[SLOW], quick;

	assert_int_equal(sem_init(&go_on, 0, 0), 0);
	for (size_t i = 0; i < SLOW; i++) {
		int fd = writing_end(&slow[i]);

		assert_in_range(fd, 0, ARRAY_SIZE(is_slow) - 1);
		is_slow[fd] = true;
		background_close(fd, 1);
	}
	while (n_slow < THREADS)
		usleep(1000);
	for (uint64_t owner = 2; owner < 6; owner++) {
		background_close(writing_end(&quick), owner);
		assert_closed(quick);
	}
	assert_int_equal(n_slow, THREADS);
	assert_int_equal(background_close_count_waiting(1), SLOW);
	for (size_t i = 0; i < SLOW; i++)
		sem_post(&go_on);
	for (size_t i = 0; i < SLOW; i++)
		assert_closed(slow[i]);
}

#define MAX_TIDS 64

static size_t list_threads(pid_t pid, pid_t tids[MAX_TIDS])
{
	char path[64];
	struct dirent *d;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && n < MAX_TIDS && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			tids[n++] = atoi(d->d_name);
	if (dir)
		closedir(dir);
	return n;
}

/* Returns a process that keeps all threads from running that the caller has not started: the last
 * eight. 0: it may not. They go on when it ends. */
static pid_t stop_threads(void)
{
	pid_t pid, parent = getpid(), tids[MAX_TIDS];
	int ready[2];
	char good = 0;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		size_t n = list_threads(parent, tids);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		good = n >= 9;
		for (size_t i = n - 8; good && i < n; i++)
			good = ptrace(PTRACE_SEIZE, tids[i], 0, 0) == 0 &&
			       ptrace(PTRACE_INTERRUPT, tids[i], 0, 0) == 0 &&
			       waitpid(tids[i], NULL, __WALL) == tids[i];
		(void)!write(ready[1], &good, 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &good, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (!good) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return good ? pid : 0;
}

TEST(threads_that_do_not_run_delay_no_caller)
{
	int readers[100];
	pid_t stopper;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	stopper = stop_threads();
	if (!stopper)
		skip(); /* ptrace is not allowed here */
	alarm(60);
	for (size_t i = 0; i < 100; i++)
		background_close(writing_end(&readers[i]), i % 3);
	assert_int_equal(background_close_count_waiting(0) + background_close_count_waiting(1) +
				 background_close_count_waiting(2),
			 100);
	kill(stopper, SIGKILL);
	waitpid(stopper, NULL, 0);
	for (size_t i = 0; i < 100; i++)
		assert_closed(readers[i]);
	alarm(0);
}
