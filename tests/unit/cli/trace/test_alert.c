/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/alert.h"

#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_read.h"

static struct alert seen[4];
static size_t n_seen;

static void note(void *ctx, const struct alert *a)
{
	if (n_seen < 4)
		seen[n_seen] = *a;
	n_seen++;
}

static int each(const char *text)
{
	n_seen = 0;
	return alert_for_each(text, strlen(text), note, NULL);
}

/* As Alertmanager 0.25 sends it: the group fires, one of its alerts is resolved. */
static const char request[] =
	"{\"receiver\":\"sonda\",\"status\":\"firing\",\"alerts\":[{\"status\":\"firing\","
	"\"labels\":"
	"{\"alertname\":\"Slow\",\"instance\":\"web1:9437\"},\"annotations\":{\"summary\":\"x\"},"
	"\"startsAt\":\"2026-11-27T17:51:26.123Z\",\"endsAt\":\"0001-01-01T00:00:00Z\","
	"\"generatorURL\":\"http://"
	"p\",\"fingerprint\":\"0123456789abcdef\"},{\"status\":\"resolved\","
	"\"labels\":{\"alertname\":\"Other\"},\"fingerprint\":\"ff\"}],\"groupLabels\":{},"
	"\"commonLabels\":{},\"commonAnnotations\":{},\"externalURL\":\"http://"
	"a\",\"version\":\"4\","
	"\"groupKey\":\"{}:{}\",\"truncatedAlerts\":7}";

TEST(each_alert_has_its_own_status)
{
	assert_int_equal(each(request), 0);
	assert_int_equal(n_seen, 2);
	assert_true(seen[0].is_firing);
	assert_string_equal(seen[0].fingerprint, "0123456789abcdef");
	assert_string_equal(seen[0].starts_at, "2026-11-27T17:51:26.123Z");
	assert_string_equal(alert_find_label(&seen[0], "instance"), "web1:9437");
	assert_string_equal(alert_find_label(&seen[0], "nosuch"), "");
	assert_false(seen[1].is_firing);
}

TEST(what_is_no_request_calls_nothing)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"version\":\"4\"}",
		"{\"version\":\"3\",\"alerts\":[{\"status\":\"firing\",\"fingerprint\":\"ff\"}]}",
		"{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\",\"fingerprint\":\"ff\"}]",
		"{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\",\"fingerprint\":\"ff\"},]}",
		"{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\",\"fingerprint\":\"ff\"}]} x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(each(bad[i]), -EBADMSG);
		assert_int_equal(n_seen, 0);
	}
}

TEST(alerts_without_a_status_or_a_fingerprint_are_none)
{
	assert_int_equal(
		each("{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\"},{\"fingerprint\":"
		     "\"ff\"},{\"status\":\"firing\",\"fingerprint\":\"../x\"},7,null,[],"
		     "{\"status\":\"firing\",\"fingerprint\":\"ff\",\"labels\":[1]}]}"),
		0);
	assert_int_equal(n_seen, 1);
	assert_int_equal(seen[0].n_labels, 0);
}

TEST(labels_have_limits)
{
	struct strbuf b = {0};

	strbuf_puts(&b,
		    "{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\",\"fingerprint\":\"ff\","
		    "\"labels\":{\"long\":\"");
	for (unsigned i = 0; i < 300; i++)
		strbuf_putc(&b, 'x');
	strbuf_puts(&b, "\"");
	for (unsigned i = 0; i < 100; i++)
		strbuf_printf(&b, ",\"l%u\":\"v\"", i);
	strbuf_puts(&b, "}}]}");
	assert_int_equal(each(b.s), 0);
	assert_int_equal(n_seen, 1);
	assert_int_equal(seen[0].n_labels, ALERT_LABELS_MAX);
	assert_string_equal(alert_find_label(&seen[0], "long"), "");
	strbuf_deinit(&b);
}

TEST(what_is_written_is_read_again)
{
	struct json_reader r;
	struct strbuf b = {0};
	struct alert again;

	each(request);
	snprintf(seen[0].labels[0].value, sizeof(seen[0].labels[0].value), "a\"b\\c\n\x1b");
	alert_put_json(&seen[0], &b);
	assert_null(strchr(b.s, '\n'));
	json_reader_init(&r, b.s, b.len);
	assert_true(alert_read(&r, &again) && json_end(&r));
	assert_memory_equal(&again, &seen[0], offsetof(struct alert, labels));
	assert_string_equal(again.labels[0].value, "a\"b\\c\n\x1b");
	strbuf_deinit(&b);
}

TEST(a_packet_has_the_start_and_the_labels)
{
	struct strbuf b = {0};
	struct pb_field packet, attributes;
	unsigned n = 0, found = 0;
	struct pb_dec d;

	each(request);
	alert_put_packet(&seen[0], &b);
	pb_dec_init(&d, b.s, b.len);
	assert_true(pb_dec_next(&d, &packet) && packet.id == PB_TRACE_PACKET);
	attributes = pb_inner_field(&packet, PB_TRACE_PACKET_TRACE_ATTRIBUTES);
	pb_for_each (f, &attributes) {
		struct pb_field key = pb_inner_field(&f, PB_TRACE_ATTRIBUTES_ATTRIBUTE_KEY);
		struct pb_field value =
			pb_inner_field(&f, PB_TRACE_ATTRIBUTES_ATTRIBUTE_STRING_VALUE);

		n++;
		found += pb_field_is(&key, "alert.starts_at") &&
			 pb_field_is(&value, "2026-11-27T17:51:26.123Z");
		found += pb_field_is(&key, "alert.label.alertname") && pb_field_is(&value, "Slow");
	}
	assert_int_equal(n, 4);
	assert_int_equal(found, 2);
	assert_false(pb_dec_next(&d, &packet));
	strbuf_deinit(&b);
}
