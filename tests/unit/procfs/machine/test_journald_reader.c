/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/stat.h>

#include "procfs/machine/journald_reader.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_fields.h"
#include "unit/procfs/fake_journal.h"

static struct journald_library lib;
static struct journald_reader reader;
static struct journald_filter filter;

SETUP
{
	journal_reset();
	lib = journal_library();
	filter = (struct journald_filter){.max_priority = -1};
}

TEARDOWN
{
	journald_reader_close(&reader);
	assert_int_equal(journal.opened, journal.closed);
}

static void line(uint64_t us, const char *priority, const char *identifier, const char *unit)
{
	journal_add((struct journal_line){.us = us, .fields = {priority, identifier, unit}});
}

/* The time of the next line, or 0 at the end. */
static uint64_t next(void)
{
	uint64_t us = 0;
	int r = journald_reader_next(&reader, &us);

	if (r == JOURNALD_END)
		return 0;
	assert_int_equal(r, JOURNALD_LINE);
	return us;
}

FIXTURE_TEST(the_filter)
{
	char *ids[] = {"sshd", "cron"}, *units[] = {"ssh.service"};

	filter = (struct journald_filter){.max_priority = 2,
					  .identifiers = ids,
					  .n_identifiers = 2,
					  .units = units,
					  .n_units = 1};
	line(5, "PRIORITY=6", "SYSLOG_IDENTIFIER=sshd", "_SYSTEMD_UNIT=ssh.service");
	assert_int_equal(journald_reader_open(&reader, &lib, &filter, 1), 0);
	assert_int_equal(journal.n_matches, 6);
	assert_string_equal(journal.matches[0], "PRIORITY=0");
	assert_string_equal(journal.matches[2], "PRIORITY=2");
	assert_string_equal(journal.matches[4], "SYSLOG_IDENTIFIER=cron");
	assert_string_equal(journal.matches[5], "_SYSTEMD_UNIT=ssh.service");
	/* No entry has ever matched: the position must not be behind the end. */
	assert_int_equal(next(), 0);
	line(10, "PRIORITY=2", "SYSLOG_IDENTIFIER=sshd", "_SYSTEMD_UNIT=ssh.service");
	line(20, "PRIORITY=3", "SYSLOG_IDENTIFIER=sshd", "_SYSTEMD_UNIT=ssh.service");
	line(30, "PRIORITY=0", "SYSLOG_IDENTIFIER=su", "_SYSTEMD_UNIT=ssh.service");
	line(40, "PRIORITY=0", "SYSLOG_IDENTIFIER=cron", "_SYSTEMD_UNIT=cron.service");
	line(50, "PRIORITY=0", "SYSLOG_IDENTIFIER=cron", "_SYSTEMD_UNIT=ssh.service");
	assert_int_equal(next(), 10);
	assert_int_equal(next(), 50);
	assert_int_equal(next(), 0);
}

FIXTURE_TEST(every_priority)
{
	filter.max_priority = 7;
	assert_int_equal(journald_reader_open(&reader, &lib, &filter, 1), 0);
	assert_int_equal(journal.n_matches, 0);
	journald_reader_close(&reader);
	filter.max_priority = 0;
	assert_int_equal(journald_reader_open(&reader, &lib, &filter, 1), 0);
	assert_int_equal(journal.n_matches, 1);
}

FIXTURE_TEST(a_journal_that_begins_later)
{
	char dir[] = "/tmp/sonda-test-XXXXXX", journals[64];
	uint64_t us;

	assert_non_null(mkdtemp(dir));
	snprintf(journals, sizeof(journals), "%s/journal", dir);
	lib.dirs[1] = journals;
	journal.exists = false;
	assert_int_equal(journald_reader_open(&reader, &lib, &filter, 100), 0);
	assert_false(reader.has_files);
	assert_int_equal(next(), 0);
	/* It is opened again only when a directory has changed. */
	assert_int_equal(journald_reader_refresh(&reader), 0);
	assert_int_equal(mkdir(journals, 0700), 0);
	assert_int_equal(journald_reader_refresh(&reader), 1);
	assert_false(reader.has_files);
	assert_int_equal(journald_reader_refresh(&reader), 0);
	assert_int_equal(journal.opened, 2);
	assert_int_equal(rmdir(journals), 0);
	assert_int_equal(rmdir(dir), 0);
	journal.exists = true;
	line(99, NULL, NULL, NULL);
	line(100, NULL, NULL, NULL);
	assert_true(journald_reader_refresh(&reader) >= 0);
	assert_true(reader.has_files);
	assert_int_equal(journald_reader_next(&reader, &us), JOURNALD_OLD);
	assert_int_equal(next(), 100);
	assert_int_equal(journald_reader_refresh(&reader), 0);
	assert_int_equal(next(), 0);
}

FIXTURE_TEST(errors)
{
	uint64_t us;

	journal.open_error = -EMFILE;
	assert_int_equal(journald_reader_open(&reader, &lib, &filter, 1), -EMFILE);
	assert_int_equal(journald_reader_fd(&reader), -EBADF);
	assert_int_equal(next(), 0);
	assert_int_equal(journald_reader_refresh(&reader), -EMFILE);
	journal.open_error = 0;
	assert_int_equal(journald_reader_refresh(&reader), 1);
	journal.process_error = -EIO;
	assert_int_equal(journald_reader_refresh(&reader), -EIO);
	journal.next_error = -EBADMSG;
	assert_int_equal(journald_reader_next(&reader, &us), -EBADMSG);
	journal.next_error = 0;
	journal_add((struct journal_line){.us = 5, .time_error = -ESTALE});
	assert_int_equal(journald_reader_next(&reader, &us), JOURNALD_BAD);
}

/* Encodes an entry with these fields. Returns the message, valid until the next call. */
static struct pb_field encode(struct journal_line line, int want)
{
	static struct pb_mem mem;

	pb_mem_deinit(&mem);
	assert_int_equal(pb_mem_init(&mem), 0);
	line.us = journal.n + 5;
	journal_add(line);
	assert_int_equal(next(), line.us);
	assert_int_equal(journald_reader_encode(&reader, &mem.enc, NULL, NULL), want);
	return (struct pb_field){.data = mem.buf, .len = pb_mem_len(&mem)};
}

#define ENTRY(...) ((struct journal_line){.fields = {__VA_ARGS__}})

FIXTURE_TEST(fields_of_an_entry)
{
	static char text[JOURNALD_VALUE_MAX + 100] = "MESSAGE=";
	struct pb_field m, f;

	assert_int_equal(journald_reader_open(&reader, &lib, &filter, 1), 0);
	m = encode(ENTRY("_PID=4194304", "TID=77", "_UID=4294967294", "_GID=0", "PRIORITY=6",
			 "SYSLOG_IDENTIFIER=sshd", "MESSAGE=a=b\nc", "_COMM=ss hd",
			 "_EXE=/usr/sbin/sshd", "_SYSTEMD_UNIT=ssh.service", "_HOSTNAME=host",
			 "_TRANSPORT=", "_CMDLINE=not recorded", "_TID=78"),
		   0);
	assert_string_equal(
		fake_fields(m, "SystemdJournaldEvent", 0),
		"pid 4194304 tid 77 uid 4294967294 gid 0 prio 6 tag sshd message a=b\nc comm "
		"ss hd exe /usr/sbin/sshd systemd_unit ssh.service hostname host transport ");
	/* The first valid value of a name counts. */
	m = encode(ENTRY("MESSAGE=one", "MESSAGE=two", "_PID=x", "_PID=5"), 0);
	assert_string_equal(fake_fields(m, "SystemdJournaldEvent", 0), "message one pid 5");
	m = encode(ENTRY("", "=", "MESSAGE", "MESSAGEX=1", "message=1", "_PID=", "PRIORITY=-1",
			 "_PID=4294967296", "MESS"),
		   0);
	assert_int_equal(m.len, 0);
	/* What could be read of an entry is recorded. */
	m = encode((struct journal_line){.data_error = -EBADMSG, .fields = {"MESSAGE=y"}},
		   -EBADMSG);
	assert_string_equal(fake_fields(m, "SystemdJournaldEvent", 0), "message y");
	memset(text + 8, 'm', sizeof(text) - 9);
	m = encode(ENTRY(text), 0);
	assert_true(fake_field(m.data, m.len, PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, 0, &f));
	assert_int_equal(f.len, JOURNALD_VALUE_MAX);
}
