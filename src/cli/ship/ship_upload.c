/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object that is stored without an answer that says so is stored again: under the same key, with
 * the same bytes, and only if the key does not exist. If it exists with other bytes, an older
 * attempt was interrupted before its manifest, so no reader uses it, and it is replaced. An entry
 * whose manifest exists is complete, even if another process stored it.
 */
#include "cli/ship/ship_upload.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/s3/s3_client.h"
#include "cli/ship/spool.h"
#include "cli/ship/upload_journal.h"
#include "cli/trace/ship_status.h"

#define RESTARTS_MAX 3 /* of an upload in parts */

struct ship_uploader {
	const struct ship_options *options; /* borrowed */
	const volatile sig_atomic_t *stop; /* borrowed */
	struct spool spool;
	struct s3_client *client; /* owned */
	uint8_t *chunk; /* owned: SPOOL_CHUNK bytes */
	struct ship_status status;
	struct log_limit failures;
};

/* ---- start and end ---- */

/* Notes in a new spool the bucket and prefix of its uploads, and refuses a spool that belongs to
 * others: its marks of uploaded files and its journals are valid for one place only. Returns 0, or
 * -errno; sets e unless writing the note failed. */
static int bind_spool_to_target(const struct ship_uploader *u, struct err_text *e)
{
	const struct ship_options *o = u->options;
	_cleanup_(closep) int fd =
		openat(u->spool.upload, "target", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
	struct strbuf text = {0}, now = {0};
	int r = fd < 0 ? -errno : fs_read_fd(fd, 4096, &text);

	strbuf_printf(&now, "s3://%s/%s\n", o->bucket, o->prefix);
	if (r == 0 && (text.failed || now.failed))
		r = -ENOMEM;
	if (r == 0 && !text.len) {
		r = fs_write_all(fd, now.s, now.len) ?: fsync(fd) < 0 ? -errno : 0;
		/* A part of the text would be taken for another target. */
		if (r < 0)
			(void)!ftruncate(fd, 0);
	}
	if (r < 0)
		err_set(e, r, "cannot write %.300s/upload/target: %s", o->spool, strerror(-r));
	else if (text.len && strcmp(text.s, now.s) != 0)
		r = err_set(e, -EINVAL,
			    "the spool %.200s is already used for %.*s; use another spool",
			    o->spool, (int)strcspn(text.s, "\n"), text.s);
	strbuf_deinit(&text);
	strbuf_deinit(&now);
	return r;
}

int ship_uploader_open(const struct ship_options *options, const volatile sig_atomic_t *stop,
		       struct ship_uploader **ret, struct err_text *e)
{
	const struct s3_config config = {
		.endpoint = options->endpoint,
		.bucket = options->bucket,
		.region = options->region,
		.bucket_in_host = options->bucket_in_host,
		.ca_file = options->ca_file,
		.credentials_file = options->credentials,
		.profile = options->profile,
		.retries = options->retries,
		.retry_max_ms = options->retry_max_ms,
		.stop = stop,
	};
	struct ship_uploader *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return err_set(e, -ENOMEM, "out of memory");
	*u = (struct ship_uploader){.options = options, .stop = stop, .spool = SPOOL_CLOSED};
	u->chunk = malloc(SPOOL_CHUNK);
	r = u->chunk ? spool_open(options->spool, SPOOL_UPLOADER, &u->spool, e)
		     : err_set(e, -ENOMEM, "out of memory");
	if (r == 0)
		r = bind_spool_to_target(u, e);
	if (r == 0)
		r = s3_client_open(&config, &u->client, e);
	if (r < 0) {
		ship_uploader_close(u);
		return r;
	}
	/* Counters continue. */
	if (options->status)
		(void)ship_status_read(options->status, SHIP_STATUS_UPLOADER, &u->status);
	*ret = u;
	return 0;
}

void ship_uploader_close(struct ship_uploader *u)
{
	if (!u)
		return;
	s3_client_close(u->client);
	spool_close(&u->spool);
	free(u->chunk);
	free(u);
}

/* ---- a file ---- */

/* An entry that is being uploaded. */
struct ship_entry {
	struct ship_uploader *u;
	const char *uuid;
	int dir;
	struct upload_journal journal;
};

/* The file of the list, and its place in the bucket. */
struct ship_object {
	const struct spool_file *file;
	char key[SHIP_PREFIX_SIZE + SPOOL_KEY_MAX];
	int fd;
};

/* Reads chunk i, and checks its hash. Returns 0; -EBADMSG and sets e if the file is not what the
 * collector has written; or -errno and sets e. */
static int ship_read_chunk(const struct ship_entry *entry, const struct ship_object *o, uint64_t i,
			   struct s3_content *ret, struct err_text *e)
{
	uint64_t at = i * SPOOL_CHUNK, len = MIN(o->file->bytes - at, (uint64_t)SPOOL_CHUNK);
	char expected[SHA256_HEX_SIZE];
	uint8_t *chunk = entry->u->chunk, hash[SHA256_SIZE];
	size_t n = 0;

	while (n < len) {
		ssize_t got = pread(o->fd, chunk + n, len - n, (off_t)(at + n));

		if (got < 0 && errno != EINTR)
			return err_set(e, -errno, "cannot read %s of %s: %s", o->file->name,
				       entry->uuid, strerror(errno));
		if (got == 0)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	sha256_of(chunk, n, hash);
	*ret = (struct s3_content){.data = chunk, .len = n};
	sha256_to_hex(hash, ret->hash);
	if (n < len || !spool_list_chunk(o->file, i, expected) || strcmp(expected, ret->hash) != 0)
		return err_set(e, -EBADMSG, "%s of %s has changed since it was added to the spool",
			       o->file->name, entry->uuid);
	return 0;
}

/* Returns 1 if the object in the bucket has the bytes of the file, 0 if not or if there is none;
 * S3_STOPPED, or -errno. */
static int check_is_stored(const struct ship_entry *entry, const struct ship_object *o,
			   struct err_text *e)
{
	struct s3_object there;
	int r = s3_head(entry->u->client, o->key, &there, e);

	if (r == S3_NOT_FOUND)
		return 0;
	return r ?: there.bytes == o->file->bytes && !strcmp(there.sha256, o->file->sha256);
}

static int ship_put_object(const struct ship_entry *entry, const struct ship_object *o,
			   bool is_manifest, struct err_text *e)
{
	struct s3_content content;
	int r = ship_read_chunk(entry, o, 0, &content, e);

	if (r == 0)
		r = s3_put(entry->u->client, o->key, &content, true, e);
	if (r != S3_EXISTS || is_manifest)
		return r == S3_EXISTS ? 0 : r;
	r = check_is_stored(entry, o, e);
	if (r != 0)
		return r == 1 ? 0 : r;
	log_info("%s was left by an interrupted upload and differs; replacing it", o->key);
	return s3_put(entry->u->client, o->key, &content, false, e);
}

/* ---- a file in parts ---- */

/* Continues the upload that the journal names, or begins one. */
static int ship_begin_parts(struct ship_entry *entry, const struct ship_object *o,
			    struct upload_state *state, struct err_text *e)
{
	int r = 0;

	if (state->id[0])
		return 0;
	/* The answer with the id was lost, or its line in the journal. */
	if (state->is_begun)
		r = s3_multipart_abort_all(entry->u->client, o->key, e);
	if (r)
		return r;
	r = upload_journal_add(&entry->journal, "begin %s", o->key);
	if (r == 0)
		r = s3_multipart_begin(entry->u->client, o->key, o->file->sha256, state->id, e);
	if (r == 0)
		r = upload_journal_add(&entry->journal, "upload %s %s", o->key, state->id);
	return r;
}

static int ship_send_parts(struct ship_entry *entry, const struct ship_object *o,
			   struct upload_state *state, struct err_text *e)
{
	for (unsigned i = 0; i < state->n; i++) {
		struct s3_content content;
		int r;

		if (state->etags[i][0])
			continue;
		r = ship_read_chunk(entry, o, i, &content, e);
		if (r == 0)
			r = s3_multipart_put(entry->u->client, o->key, state->id, i + 1, &content,
					     state->etags[i], e);
		if (r == 0)
			r = upload_journal_add(&entry->journal, "part %s %u %s", o->key, i + 1,
					       state->etags[i]);
		if (r)
			return r;
	}
	return 0;
}

/* Returns 0 if the object is complete; S3_NOT_FOUND if its parts must be sent again; or as the
 * requests. */
static int ship_complete(struct ship_entry *entry, const struct ship_object *o,
			 struct upload_state *state, struct err_text *e)
{
	struct s3_client *client = entry->u->client;
	int r = s3_multipart_complete(client, o->key, state->id, state->etags, state->n, true, e);
	int stored;

	if (r == -EILSEQ) {
		r = s3_multipart_abort(client, o->key, state->id, e);
		return r ?: S3_NOT_FOUND;
	}
	if (r != S3_EXISTS && r != S3_NOT_FOUND)
		return r;
	stored = check_is_stored(entry, o, e);
	if (stored == 1)
		return s3_multipart_abort(client, o->key, state->id, e);
	if (stored != 0 || r == S3_NOT_FOUND)
		return stored ?: r;
	log_info("%s was left by an interrupted upload and differs; replacing it", o->key);
	return s3_multipart_complete(client, o->key, state->id, state->etags, state->n, false, e);
}

static int ship_put_parts(struct ship_entry *entry, const struct ship_object *o,
			  struct upload_state *state, struct err_text *e)
{
	int r = S3_NOT_FOUND;

	for (unsigned i = 0; r == S3_NOT_FOUND && i < RESTARTS_MAX; i++) {
		if (i) { /* the store no longer has the upload, or one of its parts */
			state->id[0] = '\0';
			memset(state->etags, 0, state->n * sizeof(*state->etags));
		}
		r = ship_begin_parts(entry, o, state, e);
		if (r == 0)
			r = ship_send_parts(entry, o, state, e);
		if (r == 0)
			r = ship_complete(entry, o, state, e);
	}
	return r == S3_NOT_FOUND
		       ? err_set(e, -EPROTO,
				 "%s: the store lost the uploaded parts %d times; giving up",
				 o->key, RESTARTS_MAX)
		       : r;
}

/* ---- an entry ---- */

/* Uploads a file of the entry, unless the journal has it as done. Returns 0, S3_STOPPED, or -errno
 * and sets e. */
static int ship_upload_file(struct ship_entry *entry, const struct spool_file *file,
			    bool is_manifest, struct err_text *e)
{
	uint64_t n = (file->bytes + SPOOL_CHUNK - 1) / SPOOL_CHUNK;
	struct upload_state state = {.etags = NULL};
	struct ship_object o = {.file = file, .fd = -1};
	int r;

	snprintf(o.key, sizeof(o.key), "%s%s", entry->u->options->prefix, file->key);
	if (n > S3_PARTS_MAX)
		return err_set(e, -EBADMSG, "%s of %s is larger than 156 GiB", file->name,
			       entry->uuid);
	o.fd = openat(entry->dir, file->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (o.fd < 0)
		return err_set(e, -EBADMSG, "%s of %s: %s", file->name, entry->uuid,
			       strerror(errno));
	r = upload_journal_find(&entry->journal, o.key, (unsigned)n, &state);
	if (r == 0 && !state.is_done) {
		r = n > 1 ? ship_put_parts(entry, &o, &state, e)
			  : ship_put_object(entry, &o, is_manifest, e);
		if (r == 0)
			r = upload_journal_add(&entry->journal, "done %s", o.key);
	}
	free(state.etags);
	close(o.fd);
	return r;
}

/* Uploads the files of the list, of which the last one is the manifest; none if the upload is new
 * and the bucket has the manifest already. Returns 0, S3_STOPPED, or -errno and sets e. */
static int ship_upload_files(struct ship_entry *entry, const char *list, bool is_new,
			     struct err_text *e)
{
	struct spool_file file = {.name = ""}, manifest = {.name = ""};
	struct s3_object there;
	const char *at = list;
	char key[SHIP_PREFIX_SIZE + SPOOL_KEY_MAX];
	int r;

	while ((r = spool_list_next(&at, &file)) > 0)
		manifest = file;
	if (r < 0 || !manifest.name[0])
		return err_set(e, -EBADMSG, "the file list of %s is damaged", entry->uuid);
	snprintf(key, sizeof(key), "%s%s", entry->u->options->prefix, manifest.key);
	r = is_new ? s3_head(entry->u->client, key, &there, e) : S3_NOT_FOUND;
	if (r != S3_NOT_FOUND)
		return r;
	r = 0;
	for (at = list; r == 0 && spool_list_next(&at, &file) > 0;)
		r = ship_upload_file(entry, &file, !strcmp(file.key, manifest.key), e);
	return r;
}

static int read_list(int directory, struct strbuf *ret)
{
	_cleanup_(closep) int fd = openat(directory, SPOOL_LIST, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : fs_read_fd(fd, SPOOL_LIST_MAX, ret);

	return r == 0 && !ret->s ? -EBADMSG : r;
}

/* Uploads an entry and marks it as done; skips it if the collector has locked it. Returns 0;
 * S3_STOPPED; -EBADMSG and sets e if the entry is bad; or -errno, and sets e unless the spool
 * failed. */
static int ship_upload_entry(struct ship_uploader *u, const char *uuid, struct err_text *e)
{
	const struct spool *s = &u->spool;
	struct ship_entry entry = {.u = u, .uuid = uuid};
	struct strbuf list = {0};
	bool is_new = false;
	int r;

	entry.dir = openat(s->ready, uuid, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* This lock keeps the collector from dropping the entry. */
	if (entry.dir < 0 || flock(entry.dir, LOCK_SH | LOCK_NB) < 0) {
		closep(&entry.dir);
		return 0;
	}
	r = read_list(entry.dir, &list);
	if (r < 0)
		err_set(e, r = -EBADMSG, "%s has no file list", uuid);
	if (r == 0)
		r = upload_journal_open(s->journal, uuid, &entry.journal, &is_new);
	if (r == 0) {
		r = ship_upload_files(&entry, list.s, is_new, e);
		if (r == 0)
			r = spool_mark(s->done, uuid);
		upload_journal_close(&entry.journal);
	}
	if (r == 0)
		(void)unlinkat(s->journal, uuid, 0);
	strbuf_deinit(&list);
	close(entry.dir);
	return r;
}

/* Removes an entry that the bucket has, if this user may: else the collector does. */
static void ship_remove_done(const struct ship_uploader *u, const char *uuid)
{
	int in = openat(u->spool.root, "in", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct spool s = u->spool;

	s.in = in;
	if (in >= 0)
		(void)spool_entry_remove(&s, uuid);
	closep(&in);
}

static void ship_uploader_write_status(struct ship_uploader *u)
{
	const char *dir = u->options->status;
	int r = dir ? ship_status_write(dir, SHIP_STATUS_UPLOADER, &u->status) : 0;

	if (r < 0)
		log_write_limited(&u->failures, LOG_LEVEL_WARN, "cannot write into %s: %s", dir,
				  strerror(-r));
}

static int ship_upload_and_remove(struct ship_uploader *u, const char *uuid, struct err_text *e)
{
	int r = ship_upload_entry(u, uuid, e);

	if (r == -EBADMSG) {
		log_error("%s; moved the trace to the directory 'bad'", e->text);
		u->status.bad++;
		return spool_mark(u->spool.upload_bad, uuid);
	}
	if (r < 0 && !e->text[0])
		err_set(e, r, "cannot write to the spool: %s", strerror(-r));
	if (r == 0) {
		log_info("uploaded %s", uuid);
		u->status.stored++;
		ship_uploader_write_status(u);
		ship_remove_done(u, uuid);
	}
	return r;
}

int ship_uploader_pass(struct ship_uploader *u, struct err_text *e)
{
	const struct spool *s = &u->spool;
	struct spool_entries entries = {.of = NULL};
	int r = spool_entries_read(s, &entries);

	if (r < 0)
		err_set(e, r, "cannot read the spool: %s", strerror(-r));
	for (size_t i = 0; r == 0 && i < entries.n && !*u->stop; i++) {
		const char *uuid = entries.of[i].uuid;

		if (spool_has_name(s->upload_bad, uuid))
			continue;
		if (spool_has_name(s->done, uuid))
			ship_remove_done(u, uuid);
		else
			r = ship_upload_and_remove(u, uuid, e);
	}
	free(entries.of);
	spool_marks_prune(s->done);
	spool_marks_prune(s->upload_bad);
	u->status.failed += r < 0;
	ship_uploader_write_status(u);
	return r == S3_STOPPED ? 0 : r;
}
