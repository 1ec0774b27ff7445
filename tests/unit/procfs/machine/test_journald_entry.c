/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "unit/procfs/fake_producer.h"
#include "procfs/machine/journald_reader.c"

static struct pb_mem mem;
static struct journald_entry entry;

SETUP
{
	entry = (struct journald_entry){0};
	assert_int_equal(pb_mem_init(&mem), 0);
}

TEARDOWN
{
	pb_mem_deinit(&mem);
}

static void add(const char *field)
{
	journald_entry_add(&entry, &mem.enc, field, strlen(field));
}

static struct pb_field line(void)
{
	return (struct pb_field){.data = mem.buf, .len = pb_mem_len(&mem)};
}

FIXTURE_TEST(every_field)
{
	static const struct {
		uint32_t field;
		const char *text;
		uint32_t number;
	} want[] = {
		{PB_SYSTEMD_JOURNALD_EVENT_PID, NULL, 4194304},
		{PB_SYSTEMD_JOURNALD_EVENT_TID, NULL, 77},
		{PB_SYSTEMD_JOURNALD_EVENT_UID, NULL, 4294967294},
		{PB_SYSTEMD_JOURNALD_EVENT_GID, NULL, 0},
		{PB_SYSTEMD_JOURNALD_EVENT_PRIO, NULL, 6},
		{PB_SYSTEMD_JOURNALD_EVENT_TAG, "sshd", 0},
		{PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, "a=b\nc", 0},
		{PB_SYSTEMD_JOURNALD_EVENT_COMM, "ss hd", 0},
		{PB_SYSTEMD_JOURNALD_EVENT_EXE, "/usr/sbin/sshd", 0},
		{PB_SYSTEMD_JOURNALD_EVENT_SYSTEMD_UNIT, "ssh.service", 0},
		{PB_SYSTEMD_JOURNALD_EVENT_HOSTNAME, "host", 0},
		{PB_SYSTEMD_JOURNALD_EVENT_TRANSPORT, "", 0},
	};

	add("_PID=4194304");
	add("TID=77");
	add("_UID=4294967294");
	add("_GID=0");
	add("PRIORITY=6");
	add("SYSLOG_IDENTIFIER=sshd");
	add("MESSAGE=a=b\nc");
	add("_COMM=ss hd");
	add("_EXE=/usr/sbin/sshd");
	add("_SYSTEMD_UNIT=ssh.service");
	add("_HOSTNAME=host");
	add("_TRANSPORT=");
	add("_CMDLINE=not recorded");
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		if (want[i].text)
			assert_true(fake_str_is(line(), want[i].field, 0, want[i].text));
		else
			assert_int_equal(fake_u64(line(), want[i].field), want[i].number);
	}
	assert_int_equal(entry.has, (1u << 13) - 2);
	/* By another name: the same field. */
	add("_TID=78");
	assert_int_equal(fake_u64(line(), PB_SYSTEMD_JOURNALD_EVENT_TID), 77);
}

FIXTURE_TEST(the_first_of_a_name_counts)
{
	add("MESSAGE=one");
	add("MESSAGE=two");
	assert_int_equal(fake_count(mem.buf, pb_mem_len(&mem), PB_SYSTEMD_JOURNALD_EVENT_MESSAGE),
			 1);
	assert_true(fake_str_is(line(), PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, 0, "one"));
	/* A number that is none leaves its place to the next. */
	add("_PID=x");
	add("_PID=5");
	assert_int_equal(fake_u64(line(), PB_SYSTEMD_JOURNALD_EVENT_PID), 5);
}

FIXTURE_TEST(other_shapes)
{
	static const char *const shapes[] = {"",	  "=",	   "MESSAGE",	  "MESSAGEX=1",
					     "message=1", "_PID=", "PRIORITY=-1", "_PID=4294967296",
					     "MESS"};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		add(shapes[i]);
	journald_entry_add(&entry, &mem.enc, NULL, 0);
	assert_int_equal(pb_mem_len(&mem), 0);
	journald_entry_add(&entry, &mem.enc, "MESSAGE=a\0b", 11);
	assert_int_equal(pb_mem_len(&mem), 2 + 3);
}

FIXTURE_TEST(a_long_message_is_cut)
{
	static char text[JOURNALD_VALUE_MAX + 100] = "MESSAGE=";
	struct pb_field f;

	memset(text + 8, 'm', sizeof(text) - 8);
	journald_entry_add(&entry, &mem.enc, text, sizeof(text));
	assert_true(
		fake_field(mem.buf, pb_mem_len(&mem), PB_SYSTEMD_JOURNALD_EVENT_MESSAGE, 0, &f));
	assert_int_equal(f.len, JOURNALD_VALUE_MAX);
}
