/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/strings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/siphash.h"

#define BLOCK_BYTES (64u << 10)
#define FIRST_SLOTS 1024u
#define STRING_MAX_BYTES (1u << 30)

struct string_block {
	struct string_block *next;
	char bytes[];
};

void strings_init(struct strings *t, struct budget *budget)
{
	*t = (struct strings){.budget = budget};
	strings_intern(t, "", 0);
}

void strings_deinit(struct strings *t)
{
	struct string_block *b, *next;

	for (b = t->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(t->of);
	free(t->slots);
	*t = (struct strings){0};
}

static uint32_t find_slot(const struct strings *t, const void *s, size_t len, uint32_t hash)
{
	uint32_t mask = t->n_slots - 1, i = hash & mask;

	while (t->slots[i]) {
		const struct interned_string *e = &t->of[t->slots[i] - 1];

		if (e->hash == hash && e->len == len && (!len || !memcmp(e->s, s, len)))
			break;
		i = (i + 1) & mask;
	}
	return i;
}

static bool grow_slots(struct strings *t)
{
	uint32_t n = t->n_slots ? t->n_slots * 2 : FIRST_SLOTS, mask = n - 1;
	uint32_t *slots;

	if (!n || !budget_charge(t->budget, n * sizeof(*slots)))
		return false;
	slots = calloc(n, sizeof(*slots));
	if (!slots) {
		t->budget->error = -ENOMEM;
		return false;
	}
	for (uint32_t id = 0; id < t->n; id++) {
		uint32_t i = t->of[id].hash & mask;

		while (slots[i])
			i = (i + 1) & mask;
		slots[i] = id + 1;
	}
	t->budget->used -= t->n_slots * sizeof(*slots);
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	return true;
}

/* Copies the bytes. The current block is t->blocks; block_left bytes at its end are free. If out of
 * memory, returns NULL and sets the budget's error. */
static const char *store_bytes(struct strings *t, const void *s, size_t len)
{
	struct string_block *b;
	char *p;

	if (!t->blocks || len + 1 > t->block_left) {
		size_t size = MAX((size_t)BLOCK_BYTES, len + 1);

		b = budget_charge(t->budget, sizeof(*b) + size) ? malloc(sizeof(*b) + size) : NULL;
		if (!b) {
			t->budget->error = t->budget->error ? t->budget->error : -ENOMEM;
			return NULL;
		}
		b->next = t->blocks;
		t->blocks = b;
		t->block_left = size;
		p = b->bytes;
	} else {
		p = t->blocks->bytes + BLOCK_BYTES - t->block_left;
	}
	if (len)
		memcpy(p, s, len);
	p[len] = '\0';
	t->block_left -= len + 1;
	/* A block that was made for one long string is full. */
	if (len + 1 > BLOCK_BYTES)
		t->block_left = 0;
	return p;
}

uint32_t strings_intern(struct strings *t, const void *s, size_t len)
{
	uint32_t hash, slot;
	const char *copy;

	s = len ? s : "";
	hash = (uint32_t)siphash_keyed(s, len);
	if (len > STRING_MAX_BYTES || ((t->n + 1) * 2 > t->n_slots && !grow_slots(t)))
		return 0;
	slot = find_slot(t, s, len, hash);
	if (t->slots[slot])
		return t->slots[slot] - 1;
	if (!budget_charge(t->budget, t->n >= UINT32_MAX / 4 ? UINT64_MAX : sizeof(*t->of)))
		return 0;
	if (array_reserve(&t->of, &t->cap, t->n + 1, sizeof(*t->of))) {
		t->budget->error = -ENOMEM;
		return 0;
	}
	copy = store_bytes(t, s, len);
	if (!copy)
		return 0;
	t->of[t->n] = (struct interned_string){.s = copy, .len = (uint32_t)len, .hash = hash};
	t->slots[slot] = (uint32_t)++t->n;
	return (uint32_t)t->n - 1;
}

uint32_t strings_intern_z(struct strings *t, const char *s)
{
	return strings_intern(t, s, strlen(s));
}

uint32_t strings_intern_f(struct strings *t, const char *fmt, ...)
{
	char text[512], *longer;
	uint32_t id;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(text))
		return strings_intern(t, text, (size_t)n);
	va_start(ap, fmt);
	n = vasprintf(&longer, fmt, ap);
	va_end(ap);
	if (n < 0) {
		t->budget->error = -ENOMEM;
		return 0;
	}
	id = strings_intern(t, longer, (size_t)n);
	free(longer);
	return id;
}

uint32_t strings_intern_buf(struct strings *t, const struct strbuf *b)
{
	if (!b->failed)
		return strings_intern(t, b->s, b->len);
	t->budget->error = -ENOMEM;
	return 0;
}

uint32_t strings_find(const struct strings *t, const void *s, size_t len)
{
	uint32_t slot;

	if (!t->n_slots)
		return NULL_U32;
	s = len ? s : "";
	slot = find_slot(t, s, len, (uint32_t)siphash_keyed(s, len));
	return t->slots[slot] ? t->slots[slot] - 1 : NULL_U32;
}

const char *strings_get(const struct strings *t, uint32_t id)
{
	return id < t->n ? t->of[id].s : "";
}
