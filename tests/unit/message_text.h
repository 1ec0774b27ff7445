/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <ctype.h>
#include <inttypes.h>

#include "base/text/str.h"
#include "unit/test.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * Messages of protos/ as text, for tests that write or read packets:
 *
 *	message_put(&m.enc, "TracePacket", "timestamp: %u track_event { type: 3 name: 'a' }", 5);
 *	assert_message("TracePacket", data, len, "timestamp: 5 track_event { type: 3 name: 'a' }");
 *
 * Fields are written in the order of the text. A value is a number, a string in single quotes with
 * the escapes \\, \' and \xNN, or numbers in brackets for a packed field. A name that is a number is
 * the field of that number, which protos/ need not have.
 */
static const struct message_row {
	const char *message, *field, *type;
	uint32_t number;
	bool packed;
} message_rows[] = {
#include "gen/message_rows.h"
};

/* The field of a message by its name, or by its number if name is NULL; NULL: there is none. */
static inline const struct message_row *message_find(const char *message, const char *name,
						     uint32_t number)
{
	static size_t
		last; /* the rows of a message follow each other: begin where the last one was */

	for (size_t i = 0; i < ARRAY_SIZE(message_rows); i++) {
		const struct message_row *r = &message_rows[(last + i) % ARRAY_SIZE(message_rows)];

		if ((name ? !strcmp(r->field, name) : r->number == number) &&
		    !strcmp(r->message, message)) {
			last = (size_t)(r - message_rows);
			while (last && !strcmp(message_rows[last - 1].message, message))
				last--;
			return r;
		}
	}
	return NULL;
}

/* The message that a field contains, by the scope of its own one; "": another type, or no field. */
static inline const char *message_of_field(const struct message_row *field)
{
	char scope[256], name[512];

	if (!field || islower(field->type[0]))
		return "";
	for (snprintf(scope, sizeof(scope), "%s", field->message);; *strrchr(scope, '.') = '\0') {
		snprintf(name, sizeof(name), "%s.%s", scope, field->type);
		for (size_t i = 0; i < ARRAY_SIZE(message_rows); i++)
			if (!strcmp(message_rows[i].message, name))
				return message_rows[i].message;
		if (!strchr(scope, '.'))
			return field->type;
	}
}

/* ---- writing ---- */

/* Reads a string behind its quote. Returns its length; the caller frees *ret. */
static inline size_t message_get_string(const char **at, char **ret)
{
	char *to = *ret = malloc(strlen(*at) + 1);

	for (; **at && **at != '\''; ++*at) {
		unsigned byte = (unsigned char)**at;

		if (byte == '\\') {
			byte = (unsigned char)*++*at;
			if (byte == 'x' && sscanf(*at + 1, "%2x", &byte) == 1)
				*at += 2;
		}
		*to++ = (char)byte;
	}
	++*at;
	return (size_t)(to - *ret);
}

static inline void message_put_number(struct pb_enc *e, uint32_t number, const char *type,
				      const char **at)
{
	bool is_fixed = strstr(type, "fixed");
	char *end;

	if (!strcmp(type, "double") || !strcmp(type, "float")) {
		double d = strtod(*at, &end);
		float f = (float)d;
		uint32_t bits;

		memcpy(&bits, &f, sizeof(bits));
		if (*type == 'd')
			pb_enc_double(e, number, d);
		else
			pb_enc_fixed32(e, number, bits);
	} else {
		uint64_t v = **at == '-' ? (uint64_t)strtoll(*at, &end, 0) : strtoull(*at, &end, 0);

		if (!strcmp(type, "sint32") || !strcmp(type, "sint64"))
			pb_enc_sint(e, number, (int64_t)v);
		else if (is_fixed && strstr(type, "32"))
			pb_enc_fixed32(e, number, (uint32_t)v);
		else if (is_fixed)
			pb_enc_fixed64(e, number, v);
		else
			pb_enc_u64(e, number, v);
	}
	if (end == *at)
		fail_msg("no number: %s", *at);
	*at = end;
}

/* Returns what follows the "}" of the message. */
static inline const char *message_put_text(struct pb_enc *e, const char *message, const char *at)
{
	char name[64];
	int len;

	while (at += strspn(at, " \n"), *at && *at != '}') {
		const struct message_row *f;
		uint32_t number;

		if (sscanf(at, "%63[a-z0-9_]%n", name, &len) != 1)
			fail_msg("no field: %s", at);
		f = isdigit(*name) ? NULL : message_find(message, name, 0);
		if (!f && !isdigit(*name))
			fail_msg("%s has no field %s", message, name);
		number = f ? f->number : (uint32_t)atoi(name);
		at += len;
		at += strspn(at, ": ");
		if (*at == '{') {
			pb_enc_open(e, number);
			at = message_put_text(e, message_of_field(f), at + 1);
			pb_enc_close(e);
		} else if (*at == '\'') {
			char *s;
			size_t n = (++at, message_get_string(&at, &s));

			pb_enc_bytes(e, number, s, n);
			free(s);
		} else if (*at == '[') {
			pb_enc_open(e, number);
			for (at++; *at != ']'; at += strspn(at, ", ")) {
				uint8_t bytes[10], *to = bytes;
				char *end;

				to = pb_put_varint(to, *at == '-' ? (uint64_t)strtoll(at, &end, 0)
								  : strtoull(at, &end, 0));
				pb_enc_raw(e, bytes, (size_t)(to - bytes));
				at = end;
			}
			pb_enc_close(e);
			at++;
		} else {
			message_put_number(e, number, f ? f->type : "uint64", &at);
		}
	}
	return *at ? at + 1 : at;
}

/* Appends the fields of the text to a message of that type. */
static inline void message_put(struct pb_enc *e, const char *message, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static inline void message_put(struct pb_enc *e, const char *message, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	assert_true(vasprintf(&text, fmt, ap) >= 0);
	va_end(ap);
	message_put_text(e, message, text);
	free(text);
}

/* The same for a message in memory of its own, which pb_mem_deinit() frees. */
#define message_make(m, message, ...)                                                              \
	do {                                                                                       \
		assert_int_equal(pb_mem_init(m), 0);                                               \
		message_put(&(m)->enc, message, __VA_ARGS__);                                      \
	} while (0)

/* ---- reading ---- */

static inline void message_print(struct strbuf *b, const char *message, const void *data,
				 size_t len);

static inline void message_print_value(struct strbuf *b, const struct message_row *r,
				       const struct pb_field *f)
{
	const char *type = r ? r->type : "string";
	struct pb_packed packed;
	uint64_t v;

	if (!f->data && !strcmp(type, "double")) {
		double d;

		memcpy(&d, &f->u64, sizeof(d));
		strbuf_printf(b, ": %g", d);
	} else if (!f->data && !strcmp(type, "float")) {
		float d;

		memcpy(&d, &(uint32_t){(uint32_t)f->u64}, sizeof(d));
		strbuf_printf(b, ": %g", (double)d);
	} else if (!f->data) {
		v = str_starts(type, "sint") ? (uint64_t)pb_unzigzag(f->u64) : f->u64;
		strbuf_printf(b, *type == 'u' ? ": %" PRIu64 : ": %" PRId64, v);
	} else if (r && r->packed) {
		strbuf_puts(b, ": [");
		packed = pb_packed_of(f);
		for (bool first = true; pb_packed_next(&packed, &v); first = false)
			strbuf_printf(b, *type == 'u' ? "%s%" PRIu64 : "%s%" PRId64,
				      first ? "" : ", ", v);
		strbuf_puts(b, "]");
	} else if (*message_of_field(r)) {
		strbuf_puts(b, " { ");
		message_print(b, message_of_field(r), f->data, f->len);
		strbuf_puts(b, f->len ? " }" : "}");
	} else {
		strbuf_puts(b, ": '");
		for (size_t i = 0; i < f->len; i++)
			if (f->data[i] == '\'' || f->data[i] == '\\')
				strbuf_printf(b, "\\%c", f->data[i]);
			else
				strbuf_printf(b, isprint(f->data[i]) ? "%c" : "\\x%02x",
					      f->data[i]);
		strbuf_puts(b, "'");
	}
}

static inline void message_print(struct strbuf *b, const char *message, const void *data,
				 size_t len)
{
	const char *blank = "";
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	for (; pb_dec_next(&d, &f); blank = " ") {
		const struct message_row *r = message_find(message, NULL, f.id);

		if (r)
			strbuf_printf(b, "%s%s", blank, r->field);
		else
			strbuf_printf(b, "%s%u", blank, f.id);
		message_print_value(b, r, &f);
	}
	if (!pb_dec_ok(&d))
		strbuf_printf(b, "%sinvalid", blank);
}

/* The text of a message, in memory that the fourth call from now overwrites. */
static inline const char *message_text(const char *message, const void *data, size_t len)
{
	static struct strbuf texts[4];
	static unsigned turn;
	struct strbuf *b = &texts[turn++ % 4];

	strbuf_clear(b);
	strbuf_puts(b, "");
	message_print(b, message, data, len);
	assert_false(b->failed);
	return b->s;
}

#define assert_message(message, data, len, want)                                                   \
	assert_string_equal(message_text(message, data, len), want)
