/* SPDX-License-Identifier: Apache-2.0 */
/* Names and lists of the spool; the journal. tests/system/test_ship.sh has the rest. */
#include "cli/ship/spool.h"

#include "cli/ship/ship_options.h"
#include "cli/ship/upload_journal.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define HASH1 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HASH2 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

TEST(a_uuid_is_made_of_the_hash)
{
	uint8_t hash[SHA256_SIZE];
	char uuid[SPOOL_UUID_SIZE];

	sha256_of("", 0, hash);
	spool_make_uuid(hash, uuid);
	assert_string_equal(uuid, "e3b0c442-98fc-8c14-9afb-f4c8996fb924");
	assert_true(spool_is_uuid(uuid));
	assert_false(spool_is_uuid("e3b0c442-98fc-8c14-9afb-f4c8996fb92"));
	assert_false(spool_is_uuid("e3b0c442-98fc-8c14-9afb-f4c8996fb9240"));
	assert_false(spool_is_uuid("../c442-98fc-8c14-9afb-f4c8996fb92400"));
	assert_false(spool_is_uuid(""));
}

TEST(names_of_machines)
{
	static const char *const names[][2] = {
		{"web-1", "web-1"}, {"007", "m-007"},	  {"Web_1.Example", "web-1.example"},
		{"-x", "m--x"},	    {"a=b/c%", "a-b-c-"}, {"", "m-"},
	};
	char name[SHIP_MACHINE_SIZE], longest[200];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ship_make_machine(names[i][0], name);
		assert_string_equal(name, names[i][1]);
	}
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	ship_make_machine(longest, name);
	assert_int_equal(strlen(name), SHIP_MACHINE_SIZE - 1);
}

TEST(a_list_with_chunks)
{
	static const char list[] = "file 5 " HASH1 " a.parquet v1/a/x.parquet\n"
				   "file 20000000 " HASH2 " trace.pftrace v1/traces/x.pftrace\n"
				   "chunk " HASH1 "\n"
				   "chunk " HASH2 "\n";
	const char *at = list;
	char hash[SHA256_HEX_SIZE];
	struct spool_file f;

	assert_int_equal(spool_list_next(&at, &f), 1);
	assert_int_equal(f.bytes, 5);
	assert_string_equal(f.name, "a.parquet");
	assert_string_equal(f.key, "v1/a/x.parquet");
	assert_true(spool_list_chunk(&f, 0, hash));
	assert_string_equal(hash, HASH1);
	assert_false(spool_list_chunk(&f, 1, hash));
	assert_int_equal(spool_list_next(&at, &f), 1);
	assert_true(spool_list_chunk(&f, 0, hash));
	assert_string_equal(hash, HASH1);
	assert_true(spool_list_chunk(&f, 1, hash));
	assert_string_equal(hash, HASH2);
	assert_false(spool_list_chunk(&f, 2, hash));
	assert_int_equal(spool_list_next(&at, &f), 0);
}

TEST(damaged_lists_are_refused)
{
	static const char *const lists[] = {
		"file 5 " HASH1 " a v1/a",
		"file 5 abc a v1/a\n",
		"file x " HASH1 " a v1/a\n",
		"file 5 " HASH1 " ../a v1/a\n",
		"file 5 " HASH1 " .a v1/a\n",
		"file 5 " HASH1 " a v1/a b\n",
		"file 5 " HASH1 " a v1/a\nchunk " HASH1,
		"chunk " HASH1 "\n",
		"\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *at = lists[i];
		struct spool_file f;

		assert_int_equal(spool_list_next(&at, &f), -EBADMSG);
	}
}

TEST_WITH(a_journal_is_read_again_without_its_torn_line, temp_dir_setup, temp_dir_teardown)
{
	int dir = open(*state, O_RDONLY | O_DIRECTORY), fd;
	struct upload_journal j;
	struct upload_state s;
	bool is_new;

	assert_int_equal(upload_journal_open(dir, "j", &j, &is_new), 0);
	assert_true(is_new);
	assert_int_equal(upload_journal_add(&j, "begin %s", "k"), 0);
	assert_int_equal(upload_journal_add(&j, "upload k old"), 0);
	assert_int_equal(upload_journal_add(&j, "part k 1 \"e1\""), 0);
	assert_int_equal(upload_journal_add(&j, "begin k"), 0);
	assert_int_equal(upload_journal_add(&j, "upload k new"), 0);
	assert_int_equal(upload_journal_add(&j, "part k 2 \"e2\""), 0);
	assert_int_equal(upload_journal_add(&j, "part k 4 \"e4\""), 0);
	assert_int_equal(upload_journal_add(&j, "done other"), 0);
	upload_journal_close(&j);
	fd = openat(dir, "j", O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "done k", 6), 6);
	close(fd);

	assert_int_equal(upload_journal_open(dir, "j", &j, &is_new), 0);
	assert_false(is_new);
	assert_int_equal(upload_journal_find(&j, "k", 3, &s), 0);
	assert_true(s.is_begun && !s.is_done);
	assert_string_equal(s.id, "new");
	assert_string_equal(s.etags[0], "");
	assert_string_equal(s.etags[1], "\"e2\"");
	free(s.etags);
	assert_int_equal(upload_journal_add(&j, "done k"), 0);
	assert_int_equal(upload_journal_find(&j, "k", 3, &s), 0);
	assert_true(s.is_done);
	free(s.etags);
	upload_journal_close(&j);
	close(dir);
}
