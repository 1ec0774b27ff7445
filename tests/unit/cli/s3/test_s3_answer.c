/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/s3/s3_answer.h"

#include "unit/test.h"

static struct span of(const char *text)
{
	return (struct span){text, strlen(text)};
}

TEST(elements_are_found_one_after_the_other)
{
	struct span text =
		of("<?xml version=\"1.0\"?><R><Upload><Key>a&amp;b</Key><UploadId>1</UploadId>"
		   "</Upload><Upload><Key>c</Key><UploadId>2&lt;</UploadId></Upload></R>");
	char value[8];

	assert_true(s3_answer_find(&text, "Key", value, sizeof(value)));
	assert_string_equal(value, "a&b");
	assert_true(s3_answer_find(&text, "UploadId", value, sizeof(value)));
	assert_string_equal(value, "1");
	assert_true(s3_answer_find(&text, "Key", value, sizeof(value)));
	assert_string_equal(value, "c");
	assert_true(s3_answer_find(&text, "UploadId", value, sizeof(value)));
	assert_string_equal(value, "2<");
	assert_false(s3_answer_find(&text, "Key", value, sizeof(value)));
}

TEST(a_content_that_is_cut_off_is_not_found_and_a_long_one_is_cut)
{
	struct span text = of("<Code>Slow");
	char value[4];

	assert_false(s3_answer_find(&text, "Code", value, sizeof(value)));
	text = of("<Code></Code>");
	assert_true(s3_answer_find(&text, "Code", value, sizeof(value)));
	assert_string_equal(value, "");
	text = of("<Code>SlowDown</Code>");
	assert_true(s3_answer_find(&text, "Code", value, sizeof(value)));
	assert_string_equal(value, "Slo");
	text = of("<Code>&am</Code>");
	assert_true(s3_answer_find(&text, "Code", value, sizeof(value)));
	assert_string_equal(value, "&am");
}

TEST(an_error_in_an_answer_with_status_200)
{
	assert_true(s3_answer_is_error(of("<Error><Code>InternalError</Code></Error>")));
	assert_true(s3_answer_is_error(of("<?xml version='1.0'?>\r\n <Error xmlns=''><Code>")));
	assert_false(s3_answer_is_error(of("")));
	assert_false(s3_answer_is_error(of("<Errors/>")));
	assert_false(s3_answer_is_error(of("<?xml <Error>")));
	assert_false(s3_answer_is_error(of("<CompleteMultipartUploadResult><Error></Error>")));
}

TEST(ids_and_etags_that_a_journal_can_hold)
{
	char longest[S3_UPLOAD_ID_SIZE + 1];

	assert_true(s3_upload_id_is_valid("VXBs+/=._~-"));
	assert_false(s3_upload_id_is_valid(""));
	assert_false(s3_upload_id_is_valid("a b"));
	assert_false(s3_upload_id_is_valid("a\nb"));
	memset(longest, 'a', S3_UPLOAD_ID_SIZE);
	longest[S3_UPLOAD_ID_SIZE] = '\0';
	assert_false(s3_upload_id_is_valid(longest));
	longest[S3_UPLOAD_ID_SIZE - 1] = '\0';
	assert_true(s3_upload_id_is_valid(longest));
	assert_true(s3_etag_is_valid("\"d41d8cd98f00b204e9800998ecf8427e-12\""));
	assert_true(s3_etag_is_valid("abc"));
	assert_false(s3_etag_is_valid("\"abc"));
	assert_false(s3_etag_is_valid("\"\""));
	assert_false(s3_etag_is_valid("<a>"));
}

TEST(dates_of_headers)
{
	time_t t = 0;

	assert_true(s3_answer_parse_date("Fri, 24 May 2013 00:00:00 GMT", &t));
	assert_int_equal(t, 1369353600);
	assert_false(s3_answer_parse_date("Fri, 24 May 2013 00:00:00", &t));
	assert_false(s3_answer_parse_date("", &t));
	assert_false(s3_answer_parse_date("Wed, 01 Jan 1890 00:00:00 GMT", &t));
}
