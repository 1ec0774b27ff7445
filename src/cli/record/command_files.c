/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/command_files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"

#define SCRIPTS_MAX 2 /* an interpreter can be a script, too */
#define PAGE 4096 /* bytes mapped of each file; sonda-probes reads the smallest mappings first */

#ifdef __aarch64__
#define LOADER "/lib/ld-linux-aarch64.so.1"
#else
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#endif

/* Writes the path that execvp() would try: the name if it has a '/', which is not checked, else a
 * program in PATH. Returns false if there is none. ret has PATH_MAX bytes. */
static bool find_program(const char *name, char *ret)
{
	const char *path = getenv("PATH"), *end;
	struct stat st;

	if (strchr(name, '/'))
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
	for (path = path ? path : "/bin:/usr/bin";; path = end + 1) {
		end = strchrnul(path, ':');
		if (snprintf(ret, PATH_MAX, "%.*s/%s", (int)(end - path), path, name) < PATH_MAX &&
		    stat(ret, &st) == 0 && S_ISREG(st.st_mode) && access(ret, X_OK) == 0)
			return true;
		if (!*end)
			return false;
	}
}

/* Maps the first page of the file, and reads its first bytes. Returns the bytes read, or -1. */
static ssize_t map_file(const char *path, char *ret, size_t size)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return -1;
	return pread(fd, ret, size, 0);
}

/* Maps the library that a line of the loader names: "NAME => PATH (ADDRESS)" or "PATH
 * (ADDRESS)". */
static void map_library(char *line)
{
	char *path = strchr(line, '/'), *end = strstr(line, " (0x"), begin[1];

	if (!path || !end || path > end)
		return;
	*end = '\0';
	(void)map_file(path, begin, sizeof(begin));
}

static void run_loader(const char *program, int to)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(to, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execl(LOADER, LOADER, "--list", program, NULL);
	_exit(127);
}

/* Maps the libraries of a program. The loader lists them as it will find them when the program
 * begins. */
static void map_libraries(const char *program)
{
	char line[PATH_MAX + 64];
	int out[2];
	FILE *lines;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0)
		run_loader(program, out[1]);
	close(out[1]);
	lines = pid > 0 ? fdopen(out[0], "r") : NULL;
	while (lines && fgets(line, sizeof(line), lines))
		map_library(line);
	if (lines)
		fclose(lines);
	else
		close(out[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* Returns the interpreter that the first line of a script names; of "#!/usr/bin/env NAME" that is
 * NAME. NULL: it is no script. The result points into text, which is changed. */
static char *find_interpreter(char *text)
{
	char *rest = text + 2, *name;

	if (strncmp(text, "#!", 2) != 0)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	name = strtok_r(rest, " \t", &rest);
	if (name && strcmp(name, "/usr/bin/env") == 0)
		name = strtok_r(NULL, " \t", &rest);
	return name;
}

void command_files_map(const char *command)
{
	char path[PATH_MAX], begin[PATH_MAX + 1];
	const char *name = command;

	for (int i = 0; name && i <= SCRIPTS_MAX && find_program(name, path); i++) {
		ssize_t n = map_file(path, begin, sizeof(begin) - 1);

		if (n < 0)
			return;
		begin[n] = '\0';
		name = find_interpreter(begin);
		if (!name)
			map_libraries(path);
	}
}
