/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: probed N        calls a function N times: call i with i, "text i", 1000 * i and {"text i", "", "last"};
 *                        it gives 7 * i
 *        probed offset   prints where the function's code lies in this file, as uprobe_events wants it
 *        probed word     prints where a word of its data lies in this file; waits for the end of its input, and fails
 *                        if another process has changed the word
 */
#include <inttypes.h>
#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned short word __attribute__((section(".data"))) = 0;

__attribute__((noinline)) int known(int a, const char *text, uint64_t b, const char *const *words);

/* Its arguments are in the registers of the calling convention when it begins. */
__attribute__((noinline)) int known(int a, const char *text, uint64_t b, const char *const *words)
{
	__asm__ volatile("" : : "r"(text), "r"(b), "r"(words) : "memory");
	return 7 * a;
}

/* The segment that the address lies in tells how far the file is from memory. */
static int print_offset(struct dl_phdr_info *info, size_t size, void *address)
{
	uintptr_t at = (uintptr_t)address - info->dlpi_addr;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || at < p->p_vaddr || at >= p->p_vaddr + p->p_memsz)
			continue;
		printf("0x%" PRIxPTR "\n", (uintptr_t)(at - p->p_vaddr + p->p_offset));
		return 1;
	}
	return 0;
}

/* While a probe counts there: it takes back what it has added. */
static int is_changed_before_the_end(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	int changed = 0;

	do
		changed |= word != 0;
	while (poll(&in, 1, 10) == 0);
	return changed;
}

int main(int argc, char **argv)
{
	int (*volatile function)(int, const char *, uint64_t, const char *const *) = known;
	char text[32];
	const char *const words[] = {text, "", "last"};
	int sum = 0;

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "offset"))
		return !dl_iterate_phdr(print_offset, (void *)known);
	if (!strcmp(argv[1], "word")) {
		if (!dl_iterate_phdr(print_offset, (void *)&word))
			return 1;
		fflush(stdout);
		return is_changed_before_the_end();
	}
	for (int i = 0; i < atoi(argv[1]); i++) {
		snprintf(text, sizeof(text), "text %d", i);
		sum += function(i, text, 1000 * (uint64_t)i, words);
	}
	return sum < 0;
}
