/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: cpu_time PID
 *
 * Prints the CPU time that a process has taken, in ns: of its threads that have ended, too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/clock.h"

int main(int argc, char **argv)
{
	clockid_t id;

	if (argc != 2 || clock_getcpuclockid((pid_t)atoi(argv[1]), &id))
		return 1;
	printf("%" PRIu64 "\n", clock_ns(id));
	return 0;
}
