/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: replay_NAME DIR
 *
 * The main of a fuzz target without a fuzzer: gives it each file of the directory, and an input of
 * no bytes. Speaks TAP. When the target dies, the last line on stderr names the input.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __attribute__((weak)) LLVMFuzzerInitialize(int *argc, char ***argv);

static const char *input = "(start)"; /* the one that is on */

static void on_death(int number)
{
	if (write(STDERR_FILENO, "input: ", 7) < 0 ||
	    write(STDERR_FILENO, input, strlen(input)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
		_exit(1);
	signal(number, SIG_DFL);
	raise(number);
}

/* Gives the input to the target at the end of a mapping: reading behind it is a fault in every
 * build. */
static bool replay_bytes(FILE *f, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), readable = (size + page - 1) / page * page;
	uint8_t *memory = mmap(NULL, readable + page, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *input_end = memory + readable;
	bool good;

	if (memory == MAP_FAILED)
		return false;
	good = mprotect(input_end, page, PROT_NONE) == 0 &&
	       fread(input_end - size, 1, size, f) == size;
	if (good)
		LLVMFuzzerTestOneInput(input_end - size, size);
	munmap(memory, readable + page);
	return good;
}

static bool replay(const char *path)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	bool good = f && fstat(fileno(f), &st) == 0 && replay_bytes(f, (size_t)st.st_size);

	if (!good)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	if (f)
		fclose(f);
	return good;
}

int main(int argc, char **argv)
{
	static const int deaths[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM};
	struct dirent **files;
	unsigned n_inputs = 0;
	bool good = true;
	int n;

	if (argc != 2)
		return 2;
	for (unsigned i = 0; i < sizeof(deaths) / sizeof(*deaths); i++)
		signal(deaths[i], on_death);
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	n = scandir(argv[1], &files, NULL, alphasort);
	if (n < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	input = "(no bytes)";
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 0; i < n; i++) {
		char path[4096];

		if (files[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", argv[1], files[i]->d_name);
			input = path;
			good = replay(path) && good;
			n_inputs++;
		}
		free(files[i]);
	}
	free(files);
	good = good && n_inputs > 0;
	printf("%s 1 - %u inputs of the corpus are replayed\n1..1\n", good ? "ok" : "not ok",
	       n_inputs);
	return good ? 0 : 1;
}
