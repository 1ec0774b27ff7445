/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: compiled_code MS HOW [NAME]
 *
 * A program with a just-in-time compiler: copies a loop into anonymous memory, runs it that long,
 * and describes it under NAME (jit_function) in a file. HOW:
 *
 *	none      no file
 *	map       /tmp/perf-PID.map
 *	moved     likewise; after half of the time the name becomes NAME_moved
 *	removed   likewise; it removes its file then, and ends at once when its time is over
 *	dump      a jitdump, which it maps
 *	link      the map is a symbolic link to another file
 *	fifo      the map is a FIFO
 *	huge      the map is a file of 10 GB
 *	stranger  the map belongs to another user
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CODE_SIZE 4096

#if defined(__x86_64__)
/* push rbp; mov rbp, rsp; mov ecx, 1000000; dec ecx; jnz -4; pop rbp; ret */
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f,
			       0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
#elif defined(__aarch64__)
/* mov w0, 1000000 in two parts; subs w0, w0, 1; b.ne -4; ret */
static const uint32_t code[] = {0x52884800, 0x72a001e0, 0x71000400, 0x54ffffe1, 0xd65f03c0};
#else
static const uint8_t code[1];
#endif

static char path[64];

static void write_map(const void *at, const char *name)
{
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "a");
	if (!f)
		exit(2);
	fprintf(f, "%lx %zx %s\n", (unsigned long)at, sizeof(code), name);
	fclose(f);
}

/* Makes the map one that must not be read. */
static void spoil_map(const char *how)
{
	char other[sizeof(path) + 8];

	snprintf(other, sizeof(other), "%s.other", path);
	if (strcmp(how, "link") == 0 && (rename(path, other) < 0 || symlink(other, path) < 0))
		exit(2);
	if (strcmp(how, "fifo") == 0 && (unlink(path) < 0 || mkfifo(path, 0600) < 0))
		exit(2);
	if (strcmp(how, "huge") == 0 && truncate(path, 10ll << 30) < 0)
		exit(2);
	if (strcmp(how, "stranger") == 0 && chown(path, 4242, 4242) < 0)
		exit(2);
}

static void remove_files(void)
{
	char other[sizeof(path) + 8];

	snprintf(other, sizeof(other), "%s.other", path);
	(void)unlink(path);
	(void)unlink(other);
}

/* Format: jitdump-specification.txt of the kernel's tools/perf */
static void write_dump(const void *at, const char *name)
{
	struct {
		uint32_t magic, version, total_size, machine, pad, pid;
		uint64_t timestamp, flags;
	} head = {0x4A695444, 1, sizeof(head), EM_X86_64, 0, (uint32_t)getpid(), 0, 0};
	struct {
		uint32_t id, total_size;
		uint64_t timestamp;
		uint32_t pid, tid;
		uint64_t vma, address, size, index;
	} load = {.pid = head.pid,
		  .tid = head.pid,
		  .vma = (uint64_t)(uintptr_t)at,
		  .address = (uint64_t)(uintptr_t)at,
		  .size = sizeof(code)};
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	f = fopen(path, "w+");
	load.total_size = (uint32_t)(sizeof(load) + strlen(name) + 1 + sizeof(code));
	if (!f ||
	    mmap(NULL, CODE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		exit(2);
	fwrite(&head, sizeof(head), 1, f);
	fwrite(&load, sizeof(load), 1, f);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(code, sizeof(code), 1, f);
	fclose(f);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void run_until(void (*function)(void), uint64_t end)
{
	while (now_ms() < end)
		function();
}

int main(int argc, char **argv)
{
	uint64_t begin = now_ms(), ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	const char *how = argc > 2 ? argv[2] : "", *name = argc > 3 ? argv[3] : "jit_function";
	char *at =
		mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char moved[256];

	if (at == MAP_FAILED)
		return 2;
	memcpy(at, code, sizeof(code));
	if (mprotect(at, CODE_SIZE, PROT_READ | PROT_EXEC) < 0)
		return 2;
	__builtin___clear_cache(at, at + sizeof(code));
	if (strcmp(how, "dump") == 0)
		write_dump(at, name);
	else if (strcmp(how, "none") != 0)
		write_map(at, name);
	spoil_map(how);
	if (strcmp(how, "moved") == 0 || strcmp(how, "removed") == 0) {
		run_until((void (*)(void))(void *)at, begin + ms / 2);
		snprintf(moved, sizeof(moved), "%s_moved", name);
		write_map(at, moved);
		if (how[0] == 'r')
			remove_files();
	}
	run_until((void (*)(void))(void *)at, begin + ms);
	if (strcmp(how, "removed") != 0)
		sleep(1); /* the recording goes on, and reads the names */
	remove_files();
	return 0;
}
