/* SPDX-License-Identifier: Apache-2.0 */
/* Files that stay open and are read in each pass, and the tracks of their counters. */
#include "procfs/counters/counter_files.h"
#include "unit/client/read_tracks.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"

static struct polled_source p;
static struct counter_file f;
static struct span text;
static int at;

SETUP
{
	fake_reset();
	proc_new();
	p = (struct polled_source){.pass = 1};
	f = (struct counter_file){.fd = -1};
	at = open(proc_root, O_RDONLY | O_DIRECTORY);
	assert_true(at >= 0);
}

TEARDOWN
{
	counter_file_close(&f, &p);
	assert_int_equal(p.fds, 0);
	strbuf_deinit(&p.text);
	close(at);
	fake_reset();
	proc_remove_all();
}

static void put(const char *s)
{
	proc_put(s, strlen(s), "file");
}

static int get(void)
{
	return counter_file_read(&f, &p, at, "file", true, &text);
}

FIXTURE_TEST(a_file_is_opened_once_and_read_anew)
{
	int fd;

	put("one 1\n");
	assert_int_equal(get(), 0);
	assert_true(span_is(text, "one 1\n"));
	fd = f.fd;
	put("two\nlines\n"); /* the same file, truncated and written */
	assert_int_equal(get(), 0);
	assert_true(span_is(text, "two\nlines\n"));
	assert_int_equal(f.fd, fd);
	assert_int_equal(p.fds, 1);
	/* Above the limit it is closed after the read. */
	p.fds = COUNTER_FDS_MAX + 1;
	assert_int_equal(get(), 0);
	assert_int_equal(f.fd, -1);
	p.fds = 0;
}

FIXTURE_TEST(other_kinds_of_files)
{
	char path[128];

	proc_put("", 0, "file/x");
	assert_int_equal(get(), -EISDIR);
	assert_int_equal(f.fd, -1);
	assert_int_equal(get(), -EISDIR); /* it is not missing */
	proc_remove("file");
	snprintf(path, sizeof(path), "%s/file", proc_root);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(get() < 0); /* and does not block */
}

/* ---- tracks of the names in files of one kind ---- */

static unsigned decided;

/* Selects all names but those with an x. */
static bool decide(void *ctx, const char *shown, struct track_spec *ret_spec)
{
	decided++;
	*ret_spec = (struct track_spec){.unit = TRACK_UNIT_BYTES};
	return !strchr(shown, 'x');
}

FIXTURE_TEST(a_name_is_decided_once_for_all_files)
{
	struct counter_keys keys = {.decide = decide, .prefix = "f"};
	static const char *const names[] = {"one", "xxx", "two", "", "ano", "anon", "anon_t"};
	struct counter_tracks files[2] = {0};
	struct writer *w = writer_new(NULL, 1, WRITER_STALL);
	char name[COUNTER_KEY_SIZE + 1] = {0};
	uint32_t groups[2];
	struct tracks *t;

	assert_int_equal(tracks_new("test", w, &t), 0);
	tracks_begin(t, 1);
	for (int i = 0; i < 2; i++)
		groups[i] = tracks_add(
			t, &(struct track_spec){.kind = TRACK_GROUP, .name = i ? "b" : "a"});
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < 2 * ARRAY_SIZE(names); i++) {
			size_t file = i % 2, n = i / 2;

			tracks_set(
				t,
				counter_keys_get_track(&keys, &files[file], t, groups[file],
						       (struct span){names[n], strlen(names[n])}),
				(int64_t)(10 * file + n));
		}
	tracks_end(t);
	read_tracks();
	assert_int_equal(decided, ARRAY_SIZE(names));
	assert_int_equal(rd.n_values, 2 * (ARRAY_SIZE(names) - 1));
	assert_int_equal(read_last("a/f one"), 0);
	assert_int_equal(read_last("b/f two"), 12);
	assert_int_equal(read_last("b/f"), 13);
	assert_int_equal(read_last("a/f ano"), 4);
	assert_int_equal(read_last("a/f anon"), 5);
	/* Names that are too long, invalid, or more than the limit. */
	memset(name, 'n', COUNTER_KEY_SIZE);
	assert_int_equal(counter_keys_get_track(&keys, files, t, TRACK_ROOT,
						(struct span){name, COUNTER_KEY_SIZE}),
			 TRACK_VOID);
	assert_int_equal(
		counter_keys_get_track(&keys, files, t, TRACK_ROOT, (struct span){"a\0b", 3}),
		TRACK_VOID);
	for (unsigned i = 0; i <= COUNTER_KEYS_MAX; i++) {
		int n = snprintf(name, sizeof(name), "%u", i);
		uint32_t track = counter_keys_get_track(&keys, files, t, TRACK_ROOT,
							(struct span){name, (size_t)n});

		assert_int_equal(track == TRACK_VOID, i >= COUNTER_KEYS_MAX - ARRAY_SIZE(names));
	}
	counter_keys_deinit(&keys);
	counter_tracks_deinit(&files[0]);
	counter_tracks_deinit(&files[1]);
	tracks_free(t);
	writer_free(w);
}
