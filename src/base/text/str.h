/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Text. str.c: growing strings, comparisons, nearest word, text made safe to print, JSON strings,
 * base64. str_number.c: numbers for display.
 */

/* A growing string, always NUL-terminated once anything was added. Zero-initialise;
 * strbuf_deinit frees. */
struct strbuf {
	char *s; /* owned; NULL while empty */
	size_t len;
	size_t cap;
	bool failed; /* an allocation failed: the content is cut. Sticky until clear or deinit */
};

void strbuf_deinit(struct strbuf *b);
void strbuf_clear(struct strbuf *b);
void strbuf_add(struct strbuf *b, const void *s, size_t n);
void strbuf_puts(struct strbuf *b, const char *s);
void strbuf_putc(struct strbuf *b, char c);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns room for n bytes and a NUL after the content; the caller writes there and adds to len.
 * Returns NULL if memory runs out. */
char *strbuf_reserve(struct strbuf *b, size_t n);
/* Empties the buffer and returns its string, which the caller frees. Returns NULL if this or an
 * earlier allocation failed. */
char *strbuf_take(struct strbuf *b);

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* As fnmatch(3) without special treatment of '/' or '.'. Returns true if s matches. */
bool str_glob(const char *pattern, const char *s);

/* Parses the whole string as a decimal number. Returns 0, -EINVAL (not a number, a sign, other
 * text) or -ERANGE. */
int str_to_u64(const char *s, uint64_t *ret_v);
int str_to_u32(const char *s, uint32_t *ret_v);

/* Returns true if a kernel release ("6.1.0-13-amd64") is of this version or later. */
bool str_is_release_from(const char *release, unsigned major, unsigned minor);

/* Durations: "10" and "10s" are seconds; also ms, m, h. Sizes: "512", "512k", "512kb" and "512KiB"
 * are KiB; also m and g in the same spellings, in upper or lower case. A fraction is allowed
 * ("1.5s"); the result is rounded up. Return 0, -EINVAL or -ERANGE. */
int str_to_duration_ms(const char *s, uint32_t *ret_ms);
int str_to_size_kb(const char *s, uint32_t *ret_kb);
/* "1.5" and "1.5s" are seconds; also ns, us, ms, m, h. The result is rounded down. Returns 0,
 * -EINVAL or -ERANGE. */
int str_to_time_ns(const char *s, int64_t *ret_ns);

/* Writes "1,204,331" to buf and returns buf. */
char *str_thousands(uint64_t v, char buf[static 32]);
#define STR_COUNT_SIZE 64
/* Writes "1 packet", "2,048 packets" or "3 processes" to buf and returns buf. noun: the
 * singular. */
char *str_count(uint64_t n, const char *noun, char buf[static STR_COUNT_SIZE]);
/* Writes "21.4 MiB" to buf and returns buf: units of 1024, three significant digits. "64 MiB" and
 * "999 B" are exact. */
char *str_bytes(uint64_t v, char buf[static 32]);

/* Finds the candidate with the smallest edit distance to word (insert, delete, replace, swap of
 * neighbours); of equally near ones, the first in the alphabet. The result is NULL if the distance
 * is more than a third of the word's length, or the word is longer than 64 bytes. word and
 * candidates are borrowed. */
#define STR_NEAREST_SIZE 65 /* the longest word and a NUL */
struct str_nearest {
	const char *word;
	const char *best;
	unsigned best_distance;
};
void str_nearest_init(struct str_nearest *n, const char *word);
void str_nearest_try(struct str_nearest *n, const char *candidate);
/* For candidates that are freed before the end: copies the nearest one to best. Pass the same best
 * to all calls. */
void str_nearest_try_copy(struct str_nearest *n, const char *candidate,
			  char best[static STR_NEAREST_SIZE]);
const char *str_nearest_get(const struct str_nearest *n);

/* Makes text of other processes safe to print: puts '?' in place of control characters, characters
 * that change the direction of text, and bytes that are not UTF-8. ASCII control characters listed
 * in keep ("" or "\n") stay. */
void str_make_plain(char *s, size_t len, const char *keep);
/* Appends text that str_make_plain() made safe to print. */
void strbuf_put_plain(struct strbuf *b, const char *text);
/* Appends a word of a command that the user may copy into a shell. It is quoted if necessary; bytes
 * that are not safe to print become escapes in $'', which bash and zsh understand. */
void strbuf_put_word(struct strbuf *b, const char *word);
#define STR_WORD_SIZE 512
/* The same into buf, which it returns; "FILE" for a word that does not fit. */
const char *str_word(const char *word, char buf[static STR_WORD_SIZE]);

/* Appends a JSON string with its quotation marks. Control characters, and those that change the
 * direction of text, become escapes; bytes that are not UTF-8 become '?'. */
void strbuf_put_json(struct strbuf *b, const char *text);
void strbuf_put_json_n(struct strbuf *b, const char *text, size_t len);
/* Appends a character (a number up to 0x1fffff) as UTF-8. */
void strbuf_put_utf8(struct strbuf *b, uint32_t c);
/* Appends bytes in base64 (RFC 4648). */
void strbuf_put_base64(struct strbuf *b, const void *data, size_t len);

/* Returns the length in bytes of the printable character (ASCII or UTF-8) that begins at s, in a
 * text of len > 0 bytes; 0 if none begins there. */
size_t str_printable_len(const char *s, size_t len);
/* The same for any character, including control characters. */
size_t str_utf8_len(const char *s, size_t len);
