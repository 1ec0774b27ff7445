/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/usdt_notes.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "symbols/elf_sections.h"

#define NOTE_TYPE 3
static const char note_name[] = "stapsdt";

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_BYTE_ORDER ELFDATA2LSB
#else
#define OUR_BYTE_ORDER ELFDATA2MSB
#endif

/* Reads a word of the ELF class from *p, which has *left bytes. */
static bool read_address(const char **p, size_t *left, bool is_64, uint64_t *ret)
{
	size_t size = is_64 ? 8 : 4;
	uint32_t half;

	if (*left < size)
		return false;
	if (is_64) {
		memcpy(ret, *p, 8);
	} else {
		memcpy(&half, *p, 4);
		*ret = half;
	}
	*p += size;
	*left -= size;
	return true;
}

/* Sets ret_at[3] to the offsets of three strings, each ended by a NUL. Returns false unless
 * provider and name are not empty and the strings are within USDT_TEXT_MAX. */
static bool find_three_strings(const char *p, size_t len, size_t ret_at[3], size_t *ret_len)
{
	size_t at = 0;

	for (int i = 0; i < 3; i++) {
		const char *end = memchr(p + at, '\0', len - at);

		if (!end)
			return false;
		ret_at[i] = at;
		at = (size_t)(end + 1 - p);
	}
	*ret_len = at;
	return at <= USDT_TEXT_MAX && p[0] && ret_at[2] > ret_at[1] + 1;
}

/* Adds a note; one that is malformed is ignored. Returns 0 or -ENOMEM. */
static int usdt_add_note(struct usdt_notes *u, size_t caps[2], const char *p, size_t len,
			 bool is_64, uint64_t base)
{
	uint64_t address, linked_base, semaphore;
	size_t at[3], text_len;

	if (!read_address(&p, &len, is_64, &address) ||
	    !read_address(&p, &len, is_64, &linked_base) ||
	    !read_address(&p, &len, is_64, &semaphore) ||
	    !find_three_strings(p, len, at, &text_len))
		return 0;
	if (array_reserve(&u->notes, &caps[0], u->n + 1, sizeof(*u->notes)) < 0 ||
	    array_reserve(&u->texts, &caps[1], u->n_texts + text_len, 1) < 0)
		return -ENOMEM;
	memcpy(u->texts + u->n_texts, p, text_len);
	if (base) {
		address += base - linked_base;
		semaphore += semaphore ? base - linked_base : 0;
	}
	u->notes[u->n++] = (struct usdt_note){
		.address = address,
		.semaphore = semaphore,
		.provider = (uint32_t)(u->n_texts + at[0]),
		.name = (uint32_t)(u->n_texts + at[1]),
		.arguments = (uint32_t)(u->n_texts + at[2]),
	};
	u->n_texts += text_len;
	return 0;
}

static int usdt_read_section(Elf_Data *data, bool is_64, uint64_t base, struct usdt_notes *u)
{
	size_t at = 0, name, desc, caps[2] = {0, 0};
	GElf_Nhdr note;
	int r = 0;

	while (r == 0 && u->n < USDT_NOTES_MAX &&
	       (at = gelf_getnote(data, at, &note, &name, &desc)) > 0)
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(note_name) &&
		    !memcmp((char *)data->d_buf + name, note_name, sizeof(note_name)))
			r = usdt_add_note(u, caps, (char *)data->d_buf + desc, note.n_descsz, is_64,
					  base);
	return r;
}

int usdt_notes_read(int fd, struct usdt_notes *ret)
{
	struct usdt_notes u = {0};
	struct elf_sections parts;
	Elf_Data *data;
	const char *ident;
	Elf *elf;
	int r = 0;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	ident = elf ? elf_getident(elf, NULL) : NULL;
	if (!ident || elf_kind(elf) != ELF_K_ELF || ident[EI_DATA] != OUR_BYTE_ORDER) {
		elf_end(elf);
		return -ENOEXEC;
	}
	elf_sections_find(elf, &parts);
	data = parts.usdt ? elf_getdata(parts.usdt, NULL) : NULL;
	if (data && data->d_buf && data->d_size <= USDT_NOTES_BYTES)
		r = usdt_read_section(data, gelf_getclass(elf) == ELFCLASS64, parts.usdt_base, &u);
	elf_end(elf);
	if (r < 0)
		usdt_notes_deinit(&u);
	else
		*ret = u;
	return r;
}

void usdt_notes_deinit(struct usdt_notes *u)
{
	freep(&u->notes);
	freep(&u->texts);
	*u = (struct usdt_notes){0};
}
