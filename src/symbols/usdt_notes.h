/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The static probes (USDT) of a program: its notes in .note.stapsdt, which <sys/sdt.h> makes. Each
 * place in the code has a note of its own, and several places may have the same name. The file is
 * hostile: libelf reads it, limits bound what is kept.
 *
 *	name "stapsdt", type 3
 *	place, base, semaphore     three words of the ELF class
 *	"provider" NUL "name" NUL "8@%rdi -4@12(%rsp)" NUL
 *
 * The addresses are those that the linker gave. If the file was moved since (prelink), the section
 * .stapsdt.base is at another address than `base`, by which the others moved too. The semaphore is
 * a counter in the program's memory: the program computes the arguments only while it is not 0.
 */
#define USDT_NOTES_MAX 65536 /* further ones are ignored */
#define USDT_NOTES_BYTES (16u << 20) /* of notes; a larger section is ignored */
#define USDT_TEXT_MAX 1024 /* bytes of the three strings; a note with longer ones is ignored */

struct usdt_note {
	uint64_t address; /* in the ELF file's address space */
	uint64_t semaphore; /* likewise; 0: it has none */
	uint32_t provider, name, arguments; /* offsets in texts */
};

struct usdt_notes {
	struct usdt_note *notes; /* owned; in the order of the file */
	size_t n;
	char *texts; /* owned; a NUL ends each */
	size_t n_texts; /* bytes */
};

/* Reads the notes of an open file, which the caller keeps. Returns 0, also if there are none;
 * -ENOEXEC if it is not an ELF file in the byte order of this machine; or -ENOMEM. */
int usdt_notes_read(int fd, struct usdt_notes *ret);
/* A zeroed struct is allowed. */
void usdt_notes_deinit(struct usdt_notes *u);
