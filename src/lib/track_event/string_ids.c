/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One hash table for texts and locations. The key of a text is its bytes without the NUL. The key
 * of a location is its line in decimal, its file and its function, separated by NULs; so it never
 * equals a text.
 */
#include "lib/track_event/string_ids.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

#define LOCATION_KEY 1024 /* bytes; longer keys are truncated, and may share a number */

struct content {
	UT_hash_handle hh;
	uint32_t id;
	char bytes[];
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct content *contents;
static uint32_t last_id;

static uint32_t add_content(const char *bytes, size_t len)
{
	struct content *c;

	if (last_id == STRING_IDS_MAX)
		return 0;
	c = malloc(sizeof(*c) + len);
	if (!c)
		return 0;
	memcpy(c->bytes, bytes, len);
	HASH_ADD_KEYPTR(hh, contents, c->bytes, len, c);
	if (!c->hh.tbl) {
		free(c);
		return 0;
	}
	return c->id = ++last_id;
}

static uint32_t find_or_add_content(const char *bytes, size_t len)
{
	struct content *c;
	uint32_t id;

	pthread_mutex_lock(&table_lock);
	HASH_FIND(hh, contents, bytes, len, c);
	id = c ? c->id : add_content(bytes, len);
	pthread_mutex_unlock(&table_lock);
	return id;
}

uint32_t string_id_register(struct sonda_string *s)
{
	uint32_t id = find_or_add_content(s->text, strlen(s->text));

	__atomic_store_n(&s->id, id, __ATOMIC_RELAXED);
	return id;
}

uint32_t location_id_register(struct sonda_location *l)
{
	char key[LOCATION_KEY];
	int n = snprintf(key, sizeof(key), "%u%c%s%c%s", l->line, 0, l->file ? l->file : "", 0,
			 l->function ? l->function : "");
	uint32_t id = find_or_add_content(key, MIN((size_t)n + 1, sizeof(key)));

	__atomic_store_n(&l->id, id, __ATOMIC_RELAXED);
	return id;
}

void string_ids_lock(void)
{
	pthread_mutex_lock(&table_lock);
}

void string_ids_unlock(void)
{
	pthread_mutex_unlock(&table_lock);
}
