/* SPDX-License-Identifier: Apache-2.0 */
/* Our frames are read by protobuf-c and protobuf-c's by us. */

/* The generated code belongs to a layer above; this one message is built into the test. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#include "unit/test.h"
#include "ipc/wire_protocol.pb-c.c"
#pragma GCC diagnostic pop

#include "unit/rng.h"
#include "wire/frame.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

static Pb__IPCFrame *unpack(const void *data, size_t len)
{
	Pb__IPCFrame *f = pb__ipcframe__unpack(NULL, len, data);

	assert_non_null(f);
	return f;
}

static const uint64_t numbers[] = {0, 1, 127, 128, 70000, UINT32_MAX, UINT64_MAX};

/* ---- ours, read by protobuf-c ---- */

/* Head and payload in one piece, as they go over the wire. */
static size_t join(uint8_t *to, size_t head_len, const void *payload, size_t len)
{
	assert_in_range(head_len, 1, FRAME_MAX_HEAD);
	memcpy(to + head_len, payload, len);
	return head_len + len;
}

TEST(invoke_frames)
{
	static const size_t lengths[] = {0, 1, 127, 128, 16384, 130000};
	static uint8_t payload[130000], buf[FRAME_MAX_HEAD + sizeof(payload)];
	uint64_t rng = 1;

	rng_bytes(&rng, payload, sizeof(payload));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		for (size_t k = 0; k < ARRAY_SIZE(lengths); k++)
			for (int drop = 0; drop < 2; drop++) {
				uint32_t small = (uint32_t)numbers[i];
				size_t len = frame_put_invoke(buf, numbers[i], small, small, drop,
							      lengths[k]);
				Pb__IPCFrame *f;
				Pb__IPCFrame__InvokeMethod *m;

				len = join(buf, len, payload, lengths[k]);
				f = unpack(buf, len);
				assert_int_equal(f->msg_case, PB__IPCFRAME__MSG_MSG_INVOKE_METHOD);
				assert_true(f->request_id == numbers[i]);
				m = f->msg_invoke_method;
				assert_int_equal(m->service_id, small);
				assert_int_equal(m->method_id, small);
				assert_int_equal(m->drop_reply, drop);
				assert_int_equal(m->args_proto.len, lengths[k]);
				if (lengths[k])
					assert_memory_equal(m->args_proto.data, payload,
							    lengths[k]);
				assert_int_equal(f->base.n_unknown_fields, 0);
				pb__ipcframe__free_unpacked(f, NULL);
			}
}

TEST(reply_frames)
{
	static const size_t lengths[] = {0, 1, 127, 128, 300};
	uint8_t payload[300], buf[FRAME_MAX_HEAD + sizeof(payload)];
	uint64_t rng = 2;

	rng_bytes(&rng, payload, sizeof(payload));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		for (size_t k = 0; k < ARRAY_SIZE(lengths); k++)
			for (int bits = 0; bits < 4; bits++) {
				size_t len = frame_put_reply(buf, numbers[i], bits & 1, bits & 2,
							     lengths[k]);
				Pb__IPCFrame *f;

				len = join(buf, len, payload, lengths[k]);
				f = unpack(buf, len);
				assert_int_equal(f->msg_case,
						 PB__IPCFRAME__MSG_MSG_INVOKE_METHOD_REPLY);
				assert_true(f->request_id == numbers[i]);
				assert_int_equal(f->msg_invoke_method_reply->success, bits & 1);
				assert_int_equal(f->msg_invoke_method_reply->has_more,
						 (bits & 2) != 0);
				assert_int_equal(f->msg_invoke_method_reply->reply_proto.len,
						 lengths[k]);
				pb__ipcframe__free_unpacked(f, NULL);
			}
}

TEST(head_is_never_longer_than_said)
{
	uint8_t buf[FRAME_MAX_HEAD + 16];

	memset(buf, 0xc5, sizeof(buf));
	assert_in_range(
		frame_put_invoke(buf, UINT64_MAX, UINT32_MAX, UINT32_MAX, true, SIZE_MAX / 2), 1,
		FRAME_MAX_HEAD);
	for (size_t i = FRAME_MAX_HEAD; i < sizeof(buf); i++)
		assert_int_equal(buf[i], 0xc5);
}

TEST(whole_frames)
{
	static const struct frame_method methods[] = {
		{1, "InitializeConnection"}, {2, "RegisterDataSource"}, {300, "x"}};
	Pb__IPCFrame *f;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	frame_put_bind(&m.enc, 7, "ProducerPort");
	f = unpack(m.buf, pb_mem_len(&m));
	assert_int_equal(f->msg_case, PB__IPCFRAME__MSG_MSG_BIND_SERVICE);
	assert_int_equal(f->request_id, 7);
	assert_string_equal(f->msg_bind_service->service_name, "ProducerPort");
	pb__ipcframe__free_unpacked(f, NULL);

	pb_mem_reset(&m);
	frame_put_bind_reply(&m.enc, 8, true, 2, methods, ARRAY_SIZE(methods));
	f = unpack(m.buf, pb_mem_len(&m));
	assert_int_equal(f->msg_case, PB__IPCFRAME__MSG_MSG_BIND_SERVICE_REPLY);
	assert_int_equal(f->request_id, 8);
	assert_true(f->msg_bind_service_reply->success);
	assert_int_equal(f->msg_bind_service_reply->service_id, 2);
	assert_int_equal(f->msg_bind_service_reply->n_methods, ARRAY_SIZE(methods));
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		assert_int_equal(f->msg_bind_service_reply->methods[i]->id, methods[i].id);
		assert_string_equal(f->msg_bind_service_reply->methods[i]->name, methods[i].name);
	}
	pb__ipcframe__free_unpacked(f, NULL);

	/* a failure carries nothing else */
	pb_mem_reset(&m);
	frame_put_bind_reply(&m.enc, 9, false, 2, methods, ARRAY_SIZE(methods));
	f = unpack(m.buf, pb_mem_len(&m));
	assert_false(f->msg_bind_service_reply->success);
	assert_false(f->msg_bind_service_reply->has_service_id);
	assert_int_equal(f->msg_bind_service_reply->n_methods, 0);
	pb__ipcframe__free_unpacked(f, NULL);

	pb_mem_reset(&m);
	frame_put_error(&m.enc, 10, "unknown request");
	f = unpack(m.buf, pb_mem_len(&m));
	assert_int_equal(f->msg_case, PB__IPCFRAME__MSG_MSG_REQUEST_ERROR);
	assert_string_equal(f->msg_request_error->error, "unknown request");
	pb__ipcframe__free_unpacked(f, NULL);
	pb_mem_deinit(&m);
}

/* ---- protobuf-c's, read by us ---- */

struct packed {
	uint8_t *data;
	size_t len;
};

static struct packed pack(const Pb__IPCFrame *f)
{
	struct packed p = {.len = pb__ipcframe__get_packed_size(f)};

	p.data = malloc(p.len + 1);
	assert_int_equal(pb__ipcframe__pack(f, p.data), p.len);
	return p;
}

TEST(decodes_invoke)
{
	Pb__IPCFrame__InvokeMethod m = PB__IPCFRAME__INVOKE_METHOD__INIT;
	Pb__IPCFrame f = PB__IPCFRAME__INIT;
	struct frame got;
	struct packed p;

	f.msg_case = PB__IPCFRAME__MSG_MSG_INVOKE_METHOD;
	f.msg_invoke_method = &m;
	f.has_request_id = m.has_service_id = m.has_method_id = m.has_args_proto = true;
	m.has_drop_reply = m.drop_reply = true;
	f.request_id = UINT64_MAX;
	m.service_id = 3;
	m.method_id = UINT32_MAX;
	m.args_proto = (ProtobufCBinaryData){.data = (uint8_t *)"a\0b", .len = 3};
	p = pack(&f);
	assert_int_equal(frame_decode(p.data, p.len, &got), 0);
	assert_int_equal(got.kind, FRAME_INVOKE_METHOD);
	assert_true(got.request_id == UINT64_MAX);
	assert_int_equal(got.service_id, 3);
	assert_int_equal(got.method_id, UINT32_MAX);
	assert_true(got.drop_reply);
	assert_int_equal(got.payload_len, 3);
	assert_memory_equal(got.payload, "a\0b", 3);
	assert_true(got.payload > p.data && got.payload < p.data + p.len);
	free(p.data);
}

TEST(decodes_replies)
{
	Pb__IPCFrame__InvokeMethodReply m = PB__IPCFRAME__INVOKE_METHOD_REPLY__INIT;
	Pb__IPCFrame f = PB__IPCFRAME__INIT;
	struct frame got;
	struct packed p;

	f.msg_case = PB__IPCFRAME__MSG_MSG_INVOKE_METHOD_REPLY;
	f.msg_invoke_method_reply = &m;
	f.has_request_id = true;
	f.request_id = 5;
	p = pack(&f);
	assert_int_equal(frame_decode(p.data, p.len, &got), 0);
	assert_int_equal(got.kind, FRAME_INVOKE_METHOD_REPLY);
	assert_false(got.success);
	assert_false(got.has_more);
	assert_int_equal(got.payload_len, 0);
	free(p.data);
	m.has_success = m.success = m.has_has_more = m.has_more = m.has_reply_proto = true;
	m.reply_proto = (ProtobufCBinaryData){.data = (uint8_t *)"reply", .len = 5};
	p = pack(&f);
	assert_int_equal(frame_decode(p.data, p.len, &got), 0);
	assert_true(got.success);
	assert_true(got.has_more);
	assert_int_equal(got.payload_len, 5);
	assert_memory_equal(got.payload, "reply", 5);
	free(p.data);
}

TEST(decodes_bind_and_error)
{
	Pb__IPCFrame__BindService bind = PB__IPCFRAME__BIND_SERVICE__INIT;
	Pb__IPCFrame__RequestError error = PB__IPCFRAME__REQUEST_ERROR__INIT;
	Pb__IPCFrame f = PB__IPCFRAME__INIT;
	struct frame got;
	struct packed p;

	f.msg_case = PB__IPCFRAME__MSG_MSG_BIND_SERVICE;
	f.msg_bind_service = &bind;
	bind.service_name = "ConsumerPort";
	p = pack(&f);
	assert_int_equal(frame_decode(p.data, p.len, &got), 0);
	assert_int_equal(got.kind, FRAME_BIND_SERVICE);
	assert_int_equal(got.request_id, 0);
	assert_int_equal(got.text_len, 12);
	assert_memory_equal(got.text, "ConsumerPort", 12);
	free(p.data);
	f.msg_case = PB__IPCFRAME__MSG_MSG_REQUEST_ERROR;
	f.msg_request_error = &error;
	error.error = "unknown request";
	p = pack(&f);
	assert_int_equal(frame_decode(p.data, p.len, &got), 0);
	assert_int_equal(got.kind, FRAME_REQUEST_ERROR);
	assert_int_equal(got.text_len, 15);
	free(p.data);
}

TEST(decodes_the_methods_of_a_bind_reply)
{
	Pb__IPCFrame__BindServiceReply__MethodInfo info[5], *list[5];
	Pb__IPCFrame__BindServiceReply m = PB__IPCFRAME__BIND_SERVICE_REPLY__INIT;
	Pb__IPCFrame f = PB__IPCFRAME__INIT;
	size_t pos = 0, len;
	struct frame got;
	const char *name;
	struct packed p;
	uint32_t id;

	for (int i = 0; i < 5; i++) {
		pb__ipcframe__bind_service_reply__method_info__init(&info[i]);
		list[i] = &info[i];
		info[i].has_id = true;
		info[i].id = (uint32_t)(10 + i);
		info[i].name = "Flush";
	}
	info[1].id = 0; /* passed over */
	info[2].name = ""; /* too */
	info[3].name = NULL;
	f.msg_case = PB__IPCFRAME__MSG_MSG_BIND_SERVICE_REPLY;
	f.msg_bind_service_reply = &m;
	m.has_success = m.success = m.has_service_id = true;
	m.service_id = 2;
	m.n_methods = 5;
	m.methods = list;
	p = pack(&f);
	assert_int_equal(frame_decode(p.data, p.len, &got), 0);
	assert_int_equal(got.kind, FRAME_BIND_SERVICE_REPLY);
	assert_true(got.success);
	assert_int_equal(got.service_id, 2);
	for (int i = 0; i < 5; i += 4) {
		assert_true(frame_next_method(&got, &pos, &id, &name, &len));
		assert_int_equal(id, 10 + i);
		assert_int_equal(len, 5);
		assert_memory_equal(name, "Flush", 5);
	}
	assert_false(frame_next_method(&got, &pos, &id, &name, &len));
	assert_false(frame_next_method(&got, &pos, &id, &name, &len));
	free(p.data);
}

TEST(decodes_the_peers_identity_as_a_whole)
{
	Pb__IPCFrame__SetPeerIdentity m = PB__IPCFRAME__SET_PEER_IDENTITY__INIT, *back;
	Pb__IPCFrame f = PB__IPCFRAME__INIT;
	struct frame got;
	struct packed p;

	f.msg_case = PB__IPCFRAME__MSG_SET_PEER_IDENTITY;
	f.set_peer_identity = &m;
	m.has_pid = true;
	m.pid = -5;
	p = pack(&f);
	assert_int_equal(frame_decode(p.data, p.len, &got), 0);
	assert_int_equal(got.kind, FRAME_SET_PEER_IDENTITY);
	back = (void *)protobuf_c_message_unpack(&pb__ipcframe__set_peer_identity__descriptor, NULL,
						 got.payload_len, got.payload);
	assert_non_null(back);
	assert_int_equal(back->pid, -5);
	protobuf_c_message_free_unpacked(&back->base, NULL);
	free(p.data);
}

/* ---- bytes that nobody should send ---- */

#define DECODE(s, ret) frame_decode((const uint8_t *)(s), sizeof(s) - 1, ret)

TEST(frames_with_nothing_known)
{
	struct frame f;

	assert_int_equal(frame_decode(NULL, 0, &f), 0);
	assert_int_equal(f.kind, FRAME_UNKNOWN);
	assert_int_equal(DECODE("\x10\x09", &f), 0); /* only an id */
	assert_int_equal(f.kind, FRAME_UNKNOWN);
	assert_int_equal(f.request_id, 9);
	assert_int_equal(DECODE("\x0a\x03xyz\x10\x09", &f), 0); /* data_for_testing */
	assert_int_equal(f.kind, FRAME_UNKNOWN);
	assert_int_equal(DECODE("\xfa\x7f\x00\x10\x09", &f), 0); /* field 2047 */
	assert_int_equal(f.kind, FRAME_UNKNOWN);
	/* known numbers with other wire types are unknown fields */
	assert_int_equal(DECODE("\x18\x01\x12\x01x\x28\x01", &f), 0);
	assert_int_equal(f.kind, FRAME_UNKNOWN);
	assert_int_equal(f.request_id, 0);
	assert_int_equal(DECODE("\x2a\x08\x0d\1\2\3\4\x1a\x01x", &f), 0);
	assert_int_equal(f.kind, FRAME_INVOKE_METHOD);
	assert_int_equal(f.service_id, 0);
	assert_int_equal(f.payload_len, 1);
}

TEST(bytes_that_are_no_frame)
{
	struct frame f = {.request_id = 77};

	assert_int_equal(DECODE("\x0b", &f), -EBADMSG);
	assert_int_equal(DECODE("\x10", &f), -EBADMSG);
	assert_int_equal(DECODE("\x2a\x05\x08\x01", &f), -EBADMSG);
	assert_int_equal(DECODE("\x2a\x02\x08\x80", &f), -EBADMSG); /* the sub-message is broken */
	assert_int_equal(DECODE("\x42\x02\x08\x80", &f), -EBADMSG);
	assert_int_equal(DECODE("\x22\x02\x08\x80\x10\x01", &f), -EBADMSG);
	assert_int_equal(DECODE("\x2a\x00\x00\x00", &f), -EBADMSG);
	assert_int_equal(f.request_id, 77); /* untouched on failure */
}

TEST(last_kind_counts_and_takes_nothing_from_the_others)
{
	struct frame f;

	/* an invoke of service 1, method 2 with drop_reply, then a reply, and the id last */
	assert_int_equal(DECODE("\x2a\x06\x08\x01\x10\x02\x20\x01"
				"\x32\x02\x08\x01"
				"\x10\x05",
				&f),
			 0);
	assert_int_equal(f.kind, FRAME_INVOKE_METHOD_REPLY);
	assert_int_equal(f.request_id, 5);
	assert_int_equal(f.service_id, 0);
	assert_int_equal(f.method_id, 0);
	assert_false(f.drop_reply);
	assert_true(f.success);
}

TEST(broken_method_entries_are_passed_over)
{
	/* {id: 1, name: "a"}, an entry with a broken end, {id: 2, name: "b"} */
	static const char bytes[] = "\x22\x12"
				    "\x1a\x05\x08\x01\x12\x01"
				    "a"
				    "\x1a\x02\x08\x80"
				    "\x1a\x05\x08\x02\x12\x01"
				    "b";
	struct frame f;
	const char *name;
	size_t pos = 0, len;
	uint32_t id;

	assert_int_equal(DECODE(bytes, &f), 0);
	assert_true(frame_next_method(&f, &pos, &id, &name, &len));
	assert_true(id == 1 && len == 1 && name[0] == 'a');
	assert_true(frame_next_method(&f, &pos, &id, &name, &len));
	assert_true(id == 2 && len == 1 && name[0] == 'b');
	assert_false(frame_next_method(&f, &pos, &id, &name, &len));
	/* other frames have none */
	f.kind = FRAME_INVOKE_METHOD;
	pos = 0;
	assert_false(frame_next_method(&f, &pos, &id, &name, &len));
}

/* Random damage: what we accept has views inside the frame only. */
TEST(damaged_frames)
{
	static const struct frame_method methods[] = {{1, "A"}, {2, "BC"}, {3, "DEF"}};
	uint64_t rng = 12;
	unsigned accepted = 0;

	for (int round = 0; round < 20000; round++) {
		struct pb_mem m;
		struct frame f;
		size_t len, pos = 0, name_len, bad;
		const char *name;
		uint32_t id;

		assert_int_equal(pb_mem_init(&m), 0);
		frame_put_bind_reply(&m.enc, 1 + rng_below(&rng, 300), true, 1, methods, 3);
		len = pb_mem_len(&m);
		for (bad = rng_below(&rng, 4); bad > 0; bad--)
			m.buf[rng_below(&rng, (uint32_t)len)] = (uint8_t)rng_next(&rng);
		len -= rng_below(&rng, 4) ? 0 : rng_below(&rng, (uint32_t)len);
		if (frame_decode(m.buf, len, &f) == 0) {
			accepted++;
			assert_true(f.payload_len == 0 ||
				    (f.payload >= m.buf && f.payload_len <= len &&
				     f.payload + f.payload_len <= m.buf + len));
			while (frame_next_method(&f, &pos, &id, &name, &name_len)) {
				assert_true(id != 0 && name_len > 0);
				assert_true((const uint8_t *)name >= f.payload &&
					    (const uint8_t *)name + name_len <=
						    f.payload + f.payload_len);
			}
		}
		pb_mem_deinit(&m);
	}
	assert_in_range(accepted, 5000, 19000);
}
