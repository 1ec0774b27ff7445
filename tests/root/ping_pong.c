/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: ping_pong ROUNDS [ROUNDS_PER_SECOND]
 *
 * A load of the scheduler: two processes that hand a byte to each other and back, ROUNDS times,
 * without a rate as fast as they can. Ends early when either is killed.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long rounds = argc >= 2 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long rate = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;
	struct timespec pause = {.tv_nsec = rate ? 999999999 / (long)rate : 0};
	int ends[2];
	pid_t child;
	char byte = 0;

	if (!rounds || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 2;
	child = fork();
	if (child < 0)
		return 2;
	/* Each has its end alone, so that it sees that the other one is gone. */
	close(ends[child ? 0 : 1]);
	if (!child) {
		while (read(ends[0], &byte, 1) == 1 && send(ends[0], &byte, 1, MSG_NOSIGNAL) == 1)
			;
		_exit(0);
	}
	for (; rounds; rounds--) {
		if (send(ends[1], &byte, 1, MSG_NOSIGNAL) != 1 || read(ends[1], &byte, 1) != 1)
			return 1;
		if (rate)
			nanosleep(&pause, NULL);
	}
	close(ends[1]);
	waitpid(child, NULL, 0);
	return 0;
}
