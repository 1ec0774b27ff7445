/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static probes in files that this test makes, well formed and not. Those that the assembler makes
 * are in test_program_reader.c.
 */
#include "symbols/usdt_notes.h"
#include "unit/symbols/elf_image.h"

struct note {
	const char *owner; /* name of the note */
	uint32_t type;
	uint64_t words[3]; /* place, base, semaphore */
	size_t n_words;
	const char *texts;
	size_t n_texts; /* bytes */
};

#define TEXTS(text) text, sizeof(text)
#define NOTE(place, base, semaphore, text)                                                         \
	{                                                                                          \
		"stapsdt", 3, {place, base, semaphore}, 3, TEXTS(text)                             \
	}

/* Appends a note to the section, whose words are of the class of the file. Returns its bytes. */
static size_t put_note(struct image *f, const struct note *n)
{
	char bytes[4096];
	size_t len = 0, word = f->is_32 ? 4 : 8;
	Elf64_Nhdr head = {.n_namesz = (Elf64_Word)strlen(n->owner) + 1,
			   .n_descsz = (Elf64_Word)(n->n_words * word + n->n_texts),
			   .n_type = n->type};

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), "stapsdt\0", 8);
	memcpy(bytes + sizeof(head), n->owner, strlen(n->owner));
	len = sizeof(head) + 8;
	for (size_t i = 0; i < n->n_words; i++, len += word)
		memcpy(bytes + len, &n->words[i], word);
	memcpy(bytes + len, n->texts, n->n_texts);
	len += (n->n_texts + 3) / 4 * 4;
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
	return len;
}

/* An image with a section of these notes, which the caller ends and frees. */
static struct image *notes_image(const struct note *notes, size_t n, bool is_32)
{
	struct image *f = image_new(IMAGE_MAX);
	Elf64_Shdr *h;

	f->is_32 = is_32;
	h = image_add(f, ".note.stapsdt", SHT_NOTE, "", 0);
	for (size_t i = 0; i < n; i++)
		h->sh_size += put_note(f, &notes[i]);
	return f;
}

/* Ends the image, reads its notes, and frees it. */
static struct usdt_notes read_notes_of(struct image *f)
{
	_cleanup_(closep) int fd = -1;
	struct usdt_notes u;

	image_end(f);
	fd = image_file(f);
	assert_int_equal(usdt_notes_read(fd, &u), 0);
	free(f);
	return u;
}

static const struct note good[] = {
	NOTE(0x1000, 0x800, 0x4000, "ruby\0method__entry\0-4@%edi 8@%rsi"),
	NOTE(0x1010, 0x800, 0, "ruby\0gc\0"),
	NOTE(0x1020, 0x800, 0, "ruby\0gc\0"),
};

TEST(notes_are_read_in_the_order_of_the_file_for_both_classes)
{
	for (int is_32 = 0; is_32 < 2; is_32++) {
		struct usdt_notes u = read_notes_of(notes_image(good, ARRAY_SIZE(good), is_32));

		assert_int_equal(u.n, 3);
		for (size_t i = 0; i < u.n; i++) {
			assert_int_equal(u.notes[i].address, good[i].words[0]);
			assert_int_equal(u.notes[i].semaphore, good[i].words[2]);
			assert_string_equal(u.texts + u.notes[i].provider, "ruby");
			assert_string_equal(u.texts + u.notes[i].name, i ? "gc" : "method__entry");
			assert_string_equal(u.texts + u.notes[i].arguments,
					    i ? "" : "-4@%edi 8@%rsi");
		}
		usdt_notes_deinit(&u);
		assert_int_equal(u.n, 0);
	}
}

/* Tools that prelink a file move its sections, and do not change the notes. */
TEST(addresses_move_with_the_section_that_marks_the_base)
{
	static const uint64_t bases[][3] = {
		{0x10800, 0x11000, 0x14000}, {0x700, 0xf00, 0x3f00}, {0x800, 0x1000, 0x4000}};

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		struct image *f = notes_image(good, 2, false);
		struct usdt_notes u;

		image_add(f, ".stapsdt.base", SHT_PROGBITS, "", 1)->sh_addr = bases[i][0];
		u = read_notes_of(f);
		assert_int_equal(u.notes[0].address, bases[i][1]);
		assert_int_equal(u.notes[0].semaphore, bases[i][2]);
		assert_int_equal(u.notes[1].semaphore, 0); /* it has none */
		usdt_notes_deinit(&u);
	}
}

#define LETTERS_8 "abcdefgh"
#define LETTERS_64 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8 LETTERS_8
#define LETTERS_512                                                                                \
	LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64 LETTERS_64

TEST(malformed_notes_are_ignored_and_the_next_one_is_read)
{
	static const struct note bad[] = {
		{"stapsdt", 4, {1, 0, 0}, 3, TEXTS("a\0b\0")}, /* another type */
		{"stapsdu", 3, {1, 0, 0}, 3, TEXTS("a\0b\0")}, /* another owner */
		{"stap", 3, {1, 0, 0}, 3, TEXTS("a\0b\0")},
		{"stapsdt", 3, {1, 0, 0}, 0, "", 0},
		{"stapsdt", 3, {1, 0, 0}, 2, "", 0},
		{"stapsdt", 3, {1, 0, 0}, 3, "", 0},
		{"stapsdt",
		 3,
		 {1, 0, 0},
		 3,
		 "a\0b\0"
		 "c",
		 5}, /* without the last NUL */
		{"stapsdt", 3, {1, 0, 0}, 3, "a\0b", 4}, /* without the third string */
		{"stapsdt", 3, {1, 0, 0}, 3, TEXTS("\0b\0")}, /* no provider */
		{"stapsdt", 3, {1, 0, 0}, 3, TEXTS("a\0\0")}, /* no name */
		{"stapsdt", 3, {1, 0, 0}, 3, TEXTS("a\0b\0" LETTERS_512 LETTERS_512)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct note both[] = {bad[i], good[1]};
		struct usdt_notes u = read_notes_of(notes_image(both, 2, false));

		if (u.n != 1 || u.notes[0].address != good[1].words[0])
			fail_msg("case %zu: %zu notes", i, u.n);
		usdt_notes_deinit(&u);
	}
}

/* The size of a note, or of the section, reaches beyond the section or the file. */
TEST(sizes_that_lie_are_not_followed)
{
	static const struct {
		size_t at; /* of a word in the last note */
		uint32_t value, expected; /* notes */
	} cases[] = {{0, UINT32_MAX, 1}, {4, UINT32_MAX, 1}, {4, 1 << 20, 1}, {4, 25, 1}};
	struct image *f;
	struct usdt_notes u;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		f = notes_image(good + 1, 2, false);
		memcpy(f->bytes + f->len - f->sections[1].sh_size / 2 + cases[i].at,
		       &cases[i].value, 4);
		u = read_notes_of(f);
		assert_int_equal(u.n, cases[i].expected);
		usdt_notes_deinit(&u);
	}
	f = notes_image(good, 3, false);
	f->sections[1].sh_size = 1 << 30;
	u = read_notes_of(f);
	assert_int_equal(u.n, 0);
}

/* Beyond the limits: the section, the notes. */
TEST(notes_have_limits)
{
	size_t room = USDT_NOTES_BYTES + IMAGE_MAX;
	struct image *f = image_new(room);
	struct usdt_notes u;
	Elf64_Shdr *h = image_add(f, ".note.stapsdt", SHT_NOTE, "", 0);

	while (h->sh_size <= USDT_NOTES_BYTES)
		h->sh_size += put_note(f, &good[1]);
	u = read_notes_of(f);
	assert_int_equal(u.n, 0);
	f = image_new(room);
	h = image_add(f, ".note.stapsdt", SHT_NOTE, "", 0);
	for (size_t i = 0; i < USDT_NOTES_MAX + 10; i++)
		h->sh_size += put_note(f, &good[1]);
	u = read_notes_of(f);
	assert_int_equal(u.n, USDT_NOTES_MAX);
	usdt_notes_deinit(&u);
}

TEST(files_without_notes_and_those_that_are_not_ours)
{
	struct image *f = image_new(IMAGE_MAX);
	struct usdt_notes u = read_notes_of(f);
	int fd = file_of("#!/bin/sh\n", 10);

	assert_int_equal(u.n, 0);
	usdt_notes_deinit(&u);
	assert_int_equal(usdt_notes_read(fd, &u), -ENOEXEC);
	close(fd);
	f = notes_image(good, 3, false);
	image_end(f);
	f->bytes[EI_DATA] = ELFDATA2MSB;
	fd = image_file(f);
	assert_int_equal(usdt_notes_read(fd, &u), -ENOEXEC);
	close(fd);
	free(f);
}
