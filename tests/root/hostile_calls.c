/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_calls DIR: system calls whose strings and addresses are hostile: bytes that are no
 * text, strings of the greatest length, absent and unmapped memory, memory that another thread
 * changes. Prints "absent ADDRESS" and "unmapped ADDRESS": where these strings are.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4096

static void hostile_calls_open(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
}

static void open_hostile_bytes(void)
{
	static const char *const paths[] = {
		"\xff\xfe/\xc3(\xe2\x82",
		"\33[31mred\33[0m",
		"line\nline\r\n",
		"quote\"back\\slash",
		"\1"
		"2",
		"\x7f\x80",
		"",
		"tab\tbell\a",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		hostile_calls_open(paths[i]);
}

static void open_long_paths(void)
{
	static char path[2 * PATH_BYTES];

	for (size_t len = PATH_BYTES - 2; len <= PATH_BYTES + 1; len++) {
		memset(path, 'x', len);
		path[len] = '\0';
		hostile_calls_open(path);
	}
}

/* A page of a file that no process has touched is not in the page tables until the call itself
 * reads it. */
static void open_absent_path(const char *dir)
{
	char name[PATH_BYTES];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at;
	int fd;

	snprintf(name, sizeof(name), "%s/absent", dir);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)page) < 0 || write(fd, "absent path", 12) != 12)
		return;
	at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("absent %p\n", (void *)at);
	fflush(stdout);
	hostile_calls_open(at);
	munmap(at, page);
	printf("unmapped %p\n", (void *)at);
	fflush(stdout);
	hostile_calls_open(at);
	close(fd);
}

/* A string that ends at the end of the last mapped page; and one that does not end there. */
static void open_at_end_of_page(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(at + page, page);
	memcpy(at + page - 5, "edge", 5);
	hostile_calls_open(at + page - 5);
	memcpy(at + page - 5, "beyon", 5);
	hostile_calls_open(at + page - 5);
}

static char changing[64];
static volatile int stops;

static void *change(void *unused)
{
	(void)unused;
	while (!stops) {
		memset(changing, 'a', 60);
		memset(changing, 'b', 60);
	}
	return NULL;
}

static void open_changing_path(void)
{
	pthread_t thread;

	memset(changing, 'a', 60);
	pthread_create(&thread, NULL, change, NULL);
	for (unsigned i = 0; i < 200; i++)
		access(changing, F_OK);
	stops = 1;
	pthread_join(thread, NULL);
}

static void connect_to(int domain, int type, const void *address, socklen_t len)
{
	int fd = socket(domain, type | SOCK_CLOEXEC, 0);

	(void)!connect(fd, address, len);
	(void)!bind(fd, address, len);
	close(fd);
}

static void connect_everywhere(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
	struct sockaddr_nl nl = {.nl_family = AF_NETLINK, .nl_pid = 12345, .nl_groups = 0x10};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct sockaddr short_one = {.sa_family = AF_INET};

	in.sin_addr.s_addr = htonl(0x7f000001);
	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	connect_to(AF_INET, SOCK_STREAM, &in, sizeof(in));
	connect_to(AF_INET6, SOCK_STREAM, &in6, sizeof(in6));
	connect_to(AF_NETLINK, SOCK_RAW, &nl, sizeof(nl));
	strcpy(un.sun_path, "/nonexistent/\33[31m");
	connect_to(AF_UNIX, SOCK_STREAM, &un, sizeof(un));
	memcpy(un.sun_path, "\0abstract\0\xff", 11);
	connect_to(AF_UNIX, SOCK_STREAM, &un, offsetof(struct sockaddr_un, sun_path) + 11);
	memset(un.sun_path, 'z', sizeof(un.sun_path));
	connect_to(AF_UNIX, SOCK_STREAM, &un, sizeof(un));
	connect_to(AF_UNIX, SOCK_STREAM, &un, offsetof(struct sockaddr_un, sun_path));
	connect_to(AF_INET, SOCK_STREAM, &short_one, 1);
	connect_to(AF_INET, SOCK_STREAM, &in, 100000);
}

static void execute(char *const *argv)
{
	int status;
	pid_t child = fork();

	if (!child) {
		syscall(SYS_execve, argv[0], argv, NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
}

int main(int argc, char **argv)
{
	char *several[] = {(char *)"/bin/true", (char *)"a \33[31m", (char *)"", (char *)"\xff\n",
			   NULL};

	if (argc != 2)
		return 2;
	open_hostile_bytes();
	open_long_paths();
	open_absent_path(argv[1]);
	open_at_end_of_page();
	open_changing_path();
	connect_everywhere();
	execute(several);
	return 0;
}
