/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: started_at FILE COMMAND [ARG]...
 *
 * Writes the time, ns of CLOCK_BOOTTIME, to FILE and becomes COMMAND.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	FILE *f = argc > 2 ? fopen(argv[1], "we") : NULL;
	struct timespec t;

	if (!f) {
		fprintf(stderr, "usage: started_at FILE COMMAND [ARG]...\n");
		return 2;
	}
	clock_gettime(CLOCK_BOOTTIME, &t);
	fprintf(f, "%lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	fclose(f);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
