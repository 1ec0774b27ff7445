/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: pass_sockets systemd|android PRODUCER CONSUMER COMMAND [ARGUMENT...]
 *
 * Opens the two sockets (paths) as systemd or Android's init would, starts the command with them,
 * and prints what it says on NOTIFY_SOCKET when it is ready. Then waits for its end, which a
 * SIGTERM asks it for, and ends as it does. The sockets stay.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;

static void pass_on(int number)
{
	kill(child, number);
}

static void die(const char *what)
{
	perror(what);
	exit(99);
}

static int bound_socket(int type, const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		die(path);
	return fd;
}

static void set_number(const char *variable, long n)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", n);
	setenv(variable, text, 1);
}

/* The descriptors are 3 and 4, as systemd passes them. */
static void run_command(const char *how, int producer, int consumer, char **argv)
{
	if (dup2(producer, 103) < 0 || dup2(consumer, 104) < 0 || dup2(103, 3) < 0 ||
	    dup2(104, 4) < 0)
		die("dup2");
	closefrom(5);
	if (strcmp(how, "systemd") == 0) {
		set_number("LISTEN_PID", getpid());
		set_number("LISTEN_FDS", 2);
	} else {
		set_number("ANDROID_SOCKET_traced_producer", 3);
		set_number("ANDROID_SOCKET_traced_consumer", 4);
	}
	execv(argv[0], argv);
	die(argv[0]);
}

int main(int argc, char **argv)
{
	char notify[100], text[100];
	int producer, consumer, ready, status;
	ssize_t n;

	if (argc < 5)
		return 99;
	producer = bound_socket(SOCK_STREAM, argv[2]);
	consumer = bound_socket(SOCK_STREAM, argv[3]);
	if (strcmp(argv[1], "systemd") == 0 && (listen(producer, 5) < 0 || listen(consumer, 5) < 0))
		die("listen");
	snprintf(notify, sizeof(notify), "%.80s.notify", argv[2]);
	ready = bound_socket(SOCK_DGRAM, notify);
	setenv("NOTIFY_SOCKET", notify, 1);
	child = fork();
	if (child == 0)
		run_command(argv[1], producer, consumer, argv + 4);
	signal(SIGTERM, pass_on);
	n = recv(ready, text, sizeof(text) - 1, 0);
	unlink(notify);
	if (n > 0) {
		text[n] = '\0';
		fputs(text, stdout);
		fflush(stdout);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
