/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static probes of a program: an ELF file with its notes, or the arguments of a note. The first byte
 * chooses. The strings of a note lie in the table and are not longer than USDT_TEXT_MAX; what comes of
 * an argument is a register, memory at one, or a constant, and of a known type.
 */
#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/probes/usdt_args.h"
#include "symbols/usdt_notes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_args(const char *text)
{
	static const uint32_t machines[] = {EM_X86_64, EM_AARCH64, EM_RISCV};
	struct usdt_arg args[USDT_ARGS_MAX];

	for (int m = 0; m < 3; m++) {
		size_t n = usdt_args_parse(text, machines[m], args);

		assert(n <= USDT_ARGS_MAX);
		for (size_t i = 0; i < n; i++) {
			if (!args[i].fetch[0])
				continue;
			assert(args[i].type.name && machines[m] != EM_RISCV);
			assert(strlen(args[i].fetch) < sizeof(args[i].fetch));
			assert(strspn(args[i].fetch,
				      "%+-\\()0123456789abcdefghijklmnopqrstuvwxyz") ==
			       strlen(args[i].fetch));
		}
	}
}

static void check_notes(const uint8_t *data, size_t size)
{
	struct usdt_notes u = {0};
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (usdt_notes_read(fd, &u) == 0) {
		assert(u.n <= USDT_NOTES_MAX && u.n_texts <= USDT_NOTES_BYTES);
		for (size_t i = 0; i < u.n; i++) {
			const struct usdt_note *note = &u.notes[i];

			assert(note->provider < note->name && note->name < note->arguments &&
			       note->arguments < u.n_texts);
			assert(strlen(u.texts + note->provider) +
				       strlen(u.texts + note->arguments) <
			       USDT_TEXT_MAX);
			check_args(u.texts + note->arguments);
		}
		usdt_notes_deinit(&u);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size && data[0] == 'a') {
		text = malloc(size);
		memcpy(text, data + 1, size - 1);
		text[size - 1] = '\0';
		check_args(text);
		free(text);
	} else if (size) {
		check_notes(data + 1, size - 1);
	}
	return 0;
}
