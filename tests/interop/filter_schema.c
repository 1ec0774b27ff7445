/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: filter_schema [-MESSAGE.FIELD | +MESSAGE.FIELD]... <DESCRIPTORS
 *        filter_schema words NUMBER...
 *
 * Prints the bytecode of a trace filter, as a string of a config's text. The first form makes it of
 * a FileDescriptorSet (protoc --descriptor_set_out --include_imports): all fields of all messages
 * that a perfetto.protos.Trace leads to stay, but for those with a minus; of a message with a plus
 * only those. Strings are marked for the rules. The second one takes the words as they are, and
 * adds the sum.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

#define TYPE_STRING 9
#define TYPE_MESSAGE 11
#define MAX_MESSAGES 4096
#define MAX_WORDS 65536

struct message {
	char name[256]; /* ".perfetto.protos.Trace" */
	struct pb_field body; /* its DescriptorProto */
	int index; /* in the bytecode; -1: not reached yet */
};

struct field {
	uint32_t number, type;
	struct pb_field name, type_name;
};

static struct message messages[MAX_MESSAGES];
static int n_messages, order[MAX_MESSAGES], n_order;
static uint32_t words[MAX_WORDS];
static size_t n_words;

/* ---- the schema ---- */

static void add_message(const char *package, const struct pb_field *body)
{
	struct message *m = &messages[n_messages];
	struct pb_field f;
	struct pb_dec d;

	if (++n_messages == MAX_MESSAGES)
		exit(2);
	m->body = *body;
	m->index = -1;
	pb_dec_init(&d, body->data, body->len);
	while (pb_dec_next(&d, &f))
		if (f.id == 1)
			snprintf(m->name, sizeof(m->name), "%s.%.*s", package, (int)f.len, f.data);
	pb_dec_init(&d, body->data, body->len);
	while (pb_dec_next(&d, &f))
		if (f.id == 3)
			add_message(m->name, &f);
}

static void add_file(const struct pb_field *file)
{
	char package[256] = "";
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, file->data, file->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == 2)
			snprintf(package, sizeof(package), ".%.*s", (int)f.len, f.data);
		else if (f.id == 4)
			add_message(package, &f);
	}
}

static struct message *find(const char *name, size_t len)
{
	for (int i = 0; i < n_messages; i++)
		if (strlen(messages[i].name) == len && !memcmp(messages[i].name, name, len))
			return &messages[i];
	fprintf(stderr, "no message %.*s\n", (int)len, name);
	exit(2);
}

/* The number of the message in the bytecode, which it gets when it is first asked for. */
static uint32_t reach(struct message *m)
{
	if (m->index < 0) {
		m->index = n_order;
		order[n_order++] = (int)(m - messages);
	}
	return (uint32_t)m->index;
}

/* ---- the bytecode ---- */

static void put(uint32_t word)
{
	if (n_words == MAX_WORDS)
		exit(2);
	words[n_words++] = word;
}

static bool is_left_out(const struct message *m, const struct field *f, char **names, int n)
{
	const char *message = strrchr(m->name, '.') + 1;
	size_t len = strlen(message);
	bool has_only = false;

	for (int i = 0; i < n; i++) {
		const char *name = names[i] + 1;

		if (strncmp(name, message, len) != 0 || name[len] != '.')
			continue;
		if (strlen(name + len + 1) == f->name.len &&
		    !memcmp(name + len + 1, f->name.data, f->name.len))
			return names[i][0] == '-';
		has_only |= names[i][0] == '+';
	}
	return has_only;
}

static struct field read_field(const struct pb_field *body)
{
	struct field field = {0};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, body->data, body->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == 1)
			field.name = f;
		else if (f.id == 3)
			field.number = (uint32_t)f.u64;
		else if (f.id == 5)
			field.type = (uint32_t)f.u64;
		else if (f.id == 6)
			field.type_name = f;
	}
	return field;
}

static int by_number(const void *a, const void *b)
{
	const struct field *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void put_message(struct message *m, char **without, int n_without)
{
	struct field fields[2048];
	size_t n = 0;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, m->body.data, m->body.len);
	while (pb_dec_next(&d, &f))
		if (f.id == 2 && n < ARRAY_SIZE(fields))
			fields[n++] = read_field(&f);
	qsort(fields, n, sizeof(fields[0]), by_number);
	for (size_t i = 0; i < n; i++) {
		const char *type = (const char *)fields[i].type_name.data;

		if (is_left_out(m, &fields[i], without, n_without))
			continue;
		if (fields[i].type == TYPE_MESSAGE) {
			put(fields[i].number << 3 | 3);
			put(reach(find(type, fields[i].type_name.len)));
		} else {
			put(fields[i].number << 3 | (fields[i].type == TYPE_STRING ? 4 : 1));
		}
	}
	put(0);
}

static void print_bytecode(void)
{
	uint64_t sum = 0xcbf29ce484222325;
	uint8_t bytes[10];

	printf("\"");
	for (size_t i = 0; i <= n_words; i++) {
		size_t len = (size_t)(pb_put_varint(bytes, i < n_words ? words[i] : (uint32_t)sum) -
				      bytes);

		for (size_t k = 0; k < len; k++)
			printf("\\%03o", bytes[k]);
		for (unsigned shift = 0; i < n_words && shift < 32; shift += 8)
			sum = (sum ^ (words[i] >> shift & 0xff)) * 0x100000001b3;
	}
	printf("\"\n");
}

int main(int argc, char **argv)
{
	static uint8_t set[8 << 20];
	static const char root[] = ".perfetto.protos.Trace";
	struct pb_field f;
	struct pb_dec d;

	if (argc > 1 && !strcmp(argv[1], "words")) {
		for (int i = 2; i < argc; i++)
			put((uint32_t)strtoul(argv[i], NULL, 0));
		print_bytecode();
		return 0;
	}
	pb_dec_init(&d, set, fread(set, 1, sizeof(set), stdin));
	while (pb_dec_next(&d, &f))
		add_file(&f);
	reach(find(root, strlen(root)));
	for (int i = 0; i < n_order; i++)
		put_message(&messages[order[i]], argv + 1, argc - 1);
	print_bytecode();
	return 0;
}
