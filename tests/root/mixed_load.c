/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: mixed_load DIR SECONDS
 *
 * A bit of everything that kernels have tracepoints for, again and again, with a rest in between so
 * that no kind drowns the others: processes, signals, files, locks, pipes, sockets, memory, timers,
 * futexes, epoll, io_uring. Works in a directory of its own below DIR, and leaves nothing there.
 * SIGTERM ends it sooner.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_ended;

static void on_signal(int number)
{
	is_ended |= number == SIGTERM;
}

static void rest(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void processes(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_NAME, "renamed");
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	if (child > 0) {
		setpriority(PRIO_PROCESS, (id_t)child, 5);
		kill(child, SIGUSR1);
		waitpid(child, NULL, 0);
	}
}

static void files(void)
{
	char buf[8192];
	int fd = open("a", O_CREAT | O_RDWR | O_TRUNC, 0600), other;

	if (fd < 0)
		return;
	memset(buf, 'x', sizeof(buf));
	for (int i = 0; i < 4; i++)
		if (write(fd, buf, sizeof(buf)) < 0)
			break;
	flock(fd, LOCK_EX);
	fcntl(fd, F_SETLK, &(struct flock){.l_type = F_RDLCK, .l_len = 10});
	flock(fd, LOCK_UN);
	fsync(fd);
	fallocate(fd, 0, 1 << 16, 4096);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (pread(fd, buf, sizeof(buf), 0) < 0 || ftruncate(fd, 100))
		perror("files");
	other = open("b", O_CREAT | O_WRONLY, 0600);
	lseek(fd, 0, SEEK_SET);
	sendfile(other, fd, NULL, 100);
	close(other);
	close(fd);
	rename("b", "c");
	if (symlink("c", "d") < 0 || link("c", "e") < 0)
		perror("links");
	mkdir("f", 0700);
	rmdir("f");
	unlink("c");
	unlink("d");
	unlink("e");
	unlink("a");
}

static void direct_io(void)
{
	static char buf[4096] __attribute__((aligned(4096)));
	int fd = open("direct", O_CREAT | O_RDWR | O_DIRECT | O_SYNC, 0600);

	if (fd < 0)
		return;
	for (int i = 0; i < 4; i++)
		if (pwrite(fd, buf, sizeof(buf), i * 4096L) < 0 ||
		    pread(fd, buf, sizeof(buf), i * 4096L) < 0)
			break;
	close(fd);
	unlink("direct");
}

static void pipes(void)
{
	int down[2], up[2];
	char c = 0;
	pid_t child;

	if (pipe(down) || pipe(up))
		return;
	child = fork();
	if (!child) {
		while (read(down[0], &c, 1) == 1 && write(up[1], &c, 1) == 1)
			if (c == 49)
				_exit(0);
		_exit(1);
	}
	for (c = 0; child > 0 && c < 50; c++)
		if (write(down[1], &c, 1) != 1 || read(up[0], &c, 1) != 1)
			break;
	for (int i = 0; i < 2; i++) {
		close(down[i]);
		close(up[i]);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* TCP or UDP over the loopback, of IPv4 or IPv6. */
static void internet(int family, int type)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	struct sockaddr_in four = {.sin_family = AF_INET};
	struct sockaddr *address = family == AF_INET ? (void *)&four : (void *)&six;
	socklen_t len = family == AF_INET ? sizeof(four) : sizeof(six);
	int here = socket(family, type, 0), there = socket(family, type, 0), got = -1;
	char buf[2000] = {0};

	four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(here, address, len) || getsockname(here, address, &len))
		goto out;
	if (type == SOCK_STREAM)
		listen(here, 1);
	if (connect(there, address, len))
		goto out;
	got = type == SOCK_STREAM ? accept(here, NULL, NULL) : dup(here);
	for (int i = 0; i < 4; i++)
		if (send(there, buf, sizeof(buf), 0) < 0 || recv(got, buf, sizeof(buf), 0) < 0)
			break;
out:
	close(got);
	close(here);
	close(there);
}

static void sockets(void)
{
	int pair[2];
	char c = 0;

	internet(AF_INET, SOCK_STREAM);
	internet(AF_INET6, SOCK_STREAM);
	internet(AF_INET, SOCK_DGRAM);
	internet(AF_INET6, SOCK_DGRAM);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	if (write(pair[0], &c, 1) != 1 || read(pair[1], &c, 1) != 1)
		perror("sockets");
	close(pair[0]);
	close(pair[1]);
}

static void memory(void)
{
	size_t len = 1 << 18;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	for (size_t i = 0; i < len; i += 4096)
		p[i] = 1;
	mprotect(p, 4096, PROT_READ);
	madvise(p, len, MADV_DONTNEED);
	p = mremap(p, len, 2 * len, MREMAP_MAYMOVE);
	if (p != MAP_FAILED)
		munmap(p, 2 * len);
}

static void timers(void)
{
	struct itimerspec soon = {.it_value.tv_nsec = 100000};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	timer_t timer;

	setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 100}, NULL);
	if (!timer_create(CLOCK_REALTIME, NULL, &timer)) {
		timer_settime(timer, 0, &soon, NULL);
		rest(300);
		timer_delete(timer);
	}
	timerfd_settime(fd, 0, &soon, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
	epoll_wait(epoll, &e, 1, 10);
	close(epoll);
	close(fd);
}

static void odds_and_ends(void)
{
	int word = 0, watch = inotify_init();
	cpu_set_t all, one;

	syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
	inotify_add_watch(watch, ".", IN_CREATE);
	close(watch);
	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < 4; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	sched_setaffinity(0, sizeof(all), &all);
	sched_yield();
}

/* One no-op through a ring, where the kernel has them. */
static void ring(void)
{
	struct io_uring_params p = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	struct io_uring_sqe *sqes;
	char *sq;

	if (fd < 0)
		return;
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  IORING_OFF_SQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    IORING_OFF_SQES);
	if (sq != MAP_FAILED && sqes != MAP_FAILED) {
		sqes[0] = (struct io_uring_sqe){.opcode = IORING_OP_NOP, .user_data = 0x1234567890};
		*(unsigned *)(sq + p.sq_off.array) = 0;
		__atomic_store_n((unsigned *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
		syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		munmap(sq, p.sq_off.array + p.sq_entries * 4);
		munmap(sqes, p.sq_entries * sizeof(*sqes));
	}
	close(fd);
}

int main(int argc, char **argv)
{
	void (*const kinds[])(void) = {processes, files,  direct_io, pipes,	   sockets,
				       memory,	  timers, ring,	     odds_and_ends};
	char dir[] = "load-XXXXXX";
	time_t end;

	if (argc != 3 || chdir(argv[1]) || !mkdtemp(dir) || chdir(dir)) {
		fprintf(stderr, "usage: %s DIR SECONDS\n", argv[0]);
		return 2;
	}
	signal(SIGALRM, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGPIPE, SIG_IGN);
	for (end = time(NULL) + atoi(argv[2]); !is_ended && time(NULL) < end; rest(2000))
		for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			kinds[i]();
	if (chdir("..") || rmdir(dir))
		return 1;
	return 0;
}
