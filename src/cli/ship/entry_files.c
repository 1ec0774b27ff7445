/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ship/entry_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/system/fs.h"

#define READ_SIZE (256u << 10)
#define JSON_NESTING 16

/* ---- hashes ---- */

void file_hash_deinit(struct file_hash *h)
{
	strbuf_deinit(&h->chunks);
}

static void add_chunk_hash(struct sha256 *chunk, struct strbuf *lines)
{
	uint8_t hash[SHA256_SIZE];
	char hex[SHA256_HEX_SIZE];

	sha256_finish(chunk, hash);
	sha256_to_hex(hash, hex);
	strbuf_printf(lines, "chunk %s\n", hex);
	sha256_init(chunk);
}

int file_hash_read(int fd, int copy, const volatile sig_atomic_t *stop, struct file_hash *ret)
{
	_cleanup_(freep) uint8_t *buf = malloc(READ_SIZE);
	struct file_hash h = {0};
	struct sha256 whole, chunk;
	int r = buf ? 0 : -ENOMEM;
	ssize_t n = 1;

	sha256_init(&whole);
	sha256_init(&chunk);
	while (r == 0 && n > 0) {
		if (*stop)
			r = -EINTR;
		/* A chunk is a multiple of what is read at once, unless the file is shorter. */
		n = r ? 0 : pread(fd, buf, READ_SIZE - h.bytes % READ_SIZE, (off_t)h.bytes);
		if (n < 0)
			r = -errno;
		if (n <= 0)
			break;
		sha256_add(&whole, buf, (size_t)n);
		sha256_add(&chunk, buf, (size_t)n);
		h.bytes += (uint64_t)n;
		if (h.bytes % SPOOL_CHUNK == 0)
			add_chunk_hash(&chunk, &h.chunks);
		if (copy >= 0)
			r = fs_write_all(copy, buf, (size_t)n);
	}
	if (h.bytes % SPOOL_CHUNK)
		add_chunk_hash(&chunk, &h.chunks);
	if (r == 0 && h.chunks.failed)
		r = -ENOMEM;
	if (r < 0) {
		file_hash_deinit(&h);
		return r;
	}
	if (h.bytes <= SPOOL_CHUNK)
		strbuf_clear(&h.chunks);
	sha256_finish(&whole, h.whole);
	*ret = h;
	return 0;
}

/* ---- the list ---- */

void entry_files_deinit(struct entry_files *f)
{
	strbuf_deinit(&f->list);
	strbuf_deinit(&f->json);
}

static void list_file(struct entry_files *f, const char *name, const char *key,
		      const struct file_hash *h, char hex[static SHA256_HEX_SIZE])
{
	sha256_to_hex(h->whole, hex);
	strbuf_printf(&f->list, "file %" PRIu64 " %s %s %s\n", h->bytes, hex, name, key);
	if (h->chunks.len)
		strbuf_puts(&f->list, h->chunks.s);
}

void entry_files_add(struct entry_files *f, const char *table, const struct file_hash *h)
{
	char key[SPOOL_KEY_MAX], name[SPOOL_NAME_MAX], hex[SHA256_HEX_SIZE];

	snprintf(key, sizeof(key), "v1/%.64s/date=%s/machine=%s/%s.%s", table ? table : "traces",
		 f->date, f->machine, f->uuid, table ? "parquet" : "pftrace");
	snprintf(name, sizeof(name), "%.64s.%s", table ? table : "trace",
		 table ? "parquet" : "pftrace");
	list_file(f, name, key, h, hex);
	strbuf_puts(&f->json, f->json.len ? ",\n  {" : "\n  {");
	if (table)
		strbuf_printf(&f->json, "\"table\": \"%.64s\", ", table);
	strbuf_printf(&f->json, "\"key\": \"%s\", \"bytes\": %" PRIu64 ", \"sha256\": \"%s\"}", key,
		      h->bytes, hex);
}

/* ---- the manifest ---- */

/* Appends a text that another process has written, if it is JSON; else null. */
static void put_json_of_other(struct strbuf *b, const char *text)
{
	json_tokener *tokener = text && *text ? json_tokener_new_ex(JSON_NESTING) : NULL;
	json_object *value =
		tokener ? json_tokener_parse_ex(tokener, text, (int)strlen(text)) : NULL;
	bool whole = value && json_tokener_get_parse_end(tokener) == strlen(text);

	strbuf_puts(b,
		    whole ? json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN) : "null");
	json_object_put(value);
	if (tokener)
		json_tokener_free(tokener);
}

static void put_text(struct strbuf *b, const char *name, const char *text)
{
	strbuf_printf(b, " \"%s\": ", name);
	if (*text)
		strbuf_put_json(b, text);
	else
		strbuf_puts(b, "null");
	strbuf_puts(b, ",\n");
}

static void put_manifest(const struct entry_files *f, const struct manifest_facts *facts,
			 struct strbuf *b)
{
	strbuf_puts(b, "{\"manifest\": 1,\n");
	put_text(b, "uuid", f->uuid);
	put_text(b, "trace_uuid", facts->trace->trace_uuid);
	put_text(b, "machine", f->machine);
	put_text(b, "date", f->date);
	strbuf_printf(b, " \"start_realtime_ns\": %" PRIu64 ",\n", facts->start_realtime_ns);
	put_text(b, "source", facts->source);
	put_text(b, "sonda", SONDA_VERSION);
	put_text(b, "problem", facts->trace->problem);
	strbuf_puts(b, " \"losses\": ");
	put_json_of_other(b, facts->trace->losses);
	strbuf_puts(b, ",\n \"snapshot\": ");
	put_json_of_other(b, facts->snapshot);
	strbuf_printf(b, ",\n \"dropped_traces\": %zu,\n \"files\": [%s]}\n", facts->dropped,
		      f->json.s ? f->json.s : "");
}

static int write_file(int dir, const char *name, const struct strbuf *text)
{
	_cleanup_(closep) int fd = -1;
	int r;

	if (text->failed)
		return -ENOMEM;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return -errno;
	r = fs_write_all(fd, text->s, text->len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r;
}

int entry_files_write(struct entry_files *f, const struct manifest_facts *facts, int dir)
{
	char key[SPOOL_KEY_MAX], hex[SHA256_HEX_SIZE];
	struct strbuf manifest = {0};
	struct file_hash h = {0};
	int r;

	put_manifest(f, facts, &manifest);
	r = write_file(dir, "manifest.json", &manifest);
	if (r == 0) {
		h.bytes = manifest.len;
		sha256_of(manifest.s, manifest.len, h.whole);
		snprintf(key, sizeof(key), "v1/manifests/date=%s/%s.json", f->date, f->uuid);
		list_file(f, "manifest.json", key, &h, hex);
		r = write_file(dir, SPOOL_LIST, &f->list);
	}
	strbuf_deinit(&manifest);
	return r;
}
