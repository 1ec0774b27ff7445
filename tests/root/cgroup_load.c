/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: cgroup_load CGROUP MIB PROCESSES CPU_MS
 *
 * Joins a control group, takes MIB of memory, becomes PROCESSES processes and uses CPU_MS of CPU
 * time; then says "ready", and all of them sleep until stdin ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void join(const char *cgroup)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1) {
		perror(path);
		exit(1);
	}
	close(fd);
}

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void use_cpu(long ms)
{
	long end = cpu_ms() + ms;

	while (cpu_ms() <= end)
		;
}

static void wait_for_end(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	size_t bytes;
	char *memory;

	if (argc != 5)
		return 2;
	bytes = strtoul(argv[2], NULL, 10) << 20;
	join(argv[1]);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	memset(memory, 1, bytes);
	for (int i = atoi(argv[3]); i > 1; i--) {
		pid_t pid = fork();

		if (pid == 0) {
			wait_for_end();
			_exit(0);
		}
		if (pid < 0)
			return 1;
	}
	use_cpu(atol(argv[4]));
	puts("ready");
	fflush(stdout);
	wait_for_end();
	while (wait(NULL) > 0)
		;
	return 0;
}
