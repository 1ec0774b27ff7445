/* SPDX-License-Identifier: Apache-2.0 */

#include "service/ipc/limits.h"
#include "service/ipc/msgsock.h"
#include "service/producer/producers.h"
#include "unit/service/rig.h"
#include "unit/test.h"

struct fixture {
	struct rig rig;
	struct peer *p;
	struct producer_port *port;
	struct err_text e;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	rig_init(&f->rig);
	f->p = rig_producer(&f->rig);
	assert_true(peer_accepted(f->p, peer_initialize(f->p, "prod", false)));
	f->port = rig_producer_port(&f->rig);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	rig_hang_up(&f->rig, f->p);
	assert_int_equal(f->rig.quota->held[QUOTA_DESCRIPTOR_BYTES], 0);
	assert_int_equal(f->rig.producers->registry.n, 0);
	rig_deinit(&f->rig);
	free(f);
	return 0;
}

static bool is_trusted(const struct fixture *f)
{
	return producers_is_trusted(f->port->producers, f->port->peer);
}

/* A descriptor of `bytes` more bytes than it needs. */
static struct pb_mem descriptor(const char *name, uint64_t id, size_t bytes)
{
	static uint8_t zeroes[200000];
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	if (name)
		pb_enc_str(&m.enc, PB_DATA_SOURCE_DESCRIPTOR_NAME, name);
	if (id)
		pb_enc_u64(&m.enc, PB_DATA_SOURCE_DESCRIPTOR_ID, id);
	if (bytes)
		pb_enc_bytes(&m.enc, 5000, zeroes, bytes);
	return m;
}

static int add(struct fixture *f, const char *name, uint64_t id, size_t bytes)
{
	struct registered_source *s;
	struct pb_mem m = descriptor(name, id, bytes);
	int r;

	f->e.text[0] = '\0';
	r = registry_add(&f->rig.producers->registry, &f->port->offer, is_trusted(f), m.buf,
			 pb_mem_len(&m), &f->e, &s);
	if (r == 0) {
		assert_string_equal(s->name, name);
		assert_int_equal(s->id, id);
		assert_int_equal(s->descriptor_len, pb_mem_len(&m));
		assert_memory_equal(s->descriptor, m.buf, pb_mem_len(&m));
	}
	pb_mem_deinit(&m);
	return r;
}

static int add_raw(struct fixture *f, const void *bytes, size_t len)
{
	struct registered_source *s;

	return registry_add(&f->rig.producers->registry, &f->port->offer, is_trusted(f), bytes, len,
			    &f->e, &s);
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *f)

FIXTURE_TEST(flags_are_read)
{
	struct registered_source *s;

	/* name: "a" will_notify_on_stop, will_notify_on_start, handles..clear, no_flush */
	assert_int_equal(add_raw(f,
				 "\x0a\x01"
				 "a\x10\x01\x18\x01\x20\x01\x48\x01",
				 11),
			 0);
	s = TAILQ_LAST(&f->rig.producers->registry.sources, source_list);
	assert_true(s->will_notify_on_stop && s->will_notify_on_start);
	assert_true(s->handles_incremental_state_clear && s->no_flush);
	assert_int_equal(add(f, "b", 0, 0), 0);
	s = TAILQ_LAST(&f->rig.producers->registry.sources, source_list);
	assert_false(s->will_notify_on_stop || s->will_notify_on_start);
	assert_false(s->handles_incremental_state_clear || s->no_flush);
}

FIXTURE_TEST(names_may_repeat_ids_may_not)
{
	assert_int_equal(add(f, "a", 0, 0), 0);
	assert_int_equal(add(f, "a", 0, 0), 0);
	assert_int_equal(add(f, "a", 7, 0), 0);
	assert_int_equal(add(f, "b", 7, 0), -EEXIST);
	assert_non_null(strstr(f->e.text, "7"));
	assert_int_equal(f->port->offer.n, 3);
}

FIXTURE_TEST(ids_are_a_producers_own)
{
	struct producer_port *first = f->port;
	struct peer *other = rig_producer(&f->rig);

	assert_int_equal(add(f, "a", 7, 0), 0);
	assert_true(peer_accepted(other, peer_initialize(other, "other", false)));
	f->port = rig_producer_port(&f->rig);
	assert_ptr_not_equal(f->port, first);
	assert_int_equal(add(f, "a", 7, 0), 0);
	rig_hang_up(&f->rig, other);
	assert_int_equal(f->rig.producers->registry.n, 1);
	f->port = first;
}

FIXTURE_TEST(nameless_is_refused)
{
	char name[MAX_NAME_BYTES + 2];

	assert_int_equal(add(f, NULL, 1, 0), -EINVAL);
	assert_int_equal(add(f, "", 1, 0), -EINVAL);
	memset(name, 'n', sizeof(name));
	name[MAX_NAME_BYTES + 1] = '\0';
	assert_int_equal(add(f, name, 0, 0), -EINVAL);
	name[MAX_NAME_BYTES] = '\0';
	assert_int_equal(add(f, name, 0, 0), 0);
	assert_int_equal(add_raw(f,
				 "\x0a\x03"
				 "a\0b",
				 5),
			 -EINVAL);
}

FIXTURE_TEST(what_others_could_not_read_is_refused)
{
	assert_int_equal(add_raw(f,
				 "\x0a\x01"
				 "a\x10",
				 4),
			 -EBADMSG);
	/* gpu_counter_descriptor that ends inside of a field */
	assert_int_equal(add_raw(f,
				 "\x0a\x01"
				 "a\x2a\x01\x0a",
				 6),
			 -EBADMSG);
	/* ... that is a number */
	assert_int_equal(add_raw(f,
				 "\x0a\x01"
				 "a\x28\x01",
				 5),
			 -EBADMSG);
	assert_int_equal(f->rig.producers->registry.n, 0);
}

/* A decoder that calls itself for each level would run out of stack. */
FIXTURE_TEST(deep_nesting_is_refused)
{
	enum { DEPTH = 20000 };
	static uint8_t deep[DEPTH * 4 + 16];
	size_t begin = sizeof(deep);

	for (int i = 0; i < DEPTH; i++) {
		/* protovm_program { instructions { nested_instructions { nested_instructions ... */
		uint32_t field = i == DEPTH - 1	  ? PB_DATA_SOURCE_DESCRIPTOR_PROTOVM_PROGRAM
				 : i == DEPTH - 2 ? PB_VM_PROGRAM_INSTRUCTIONS
						  : PB_VM_INSTRUCTION_NESTED_INSTRUCTIONS;
		size_t len = sizeof(deep) - begin;

		begin -= pb_varint_len(len);
		pb_put_varint(deep + begin, len);
		deep[--begin] = (uint8_t)pb_tag(field, PB_WIRE_BYTES);
	}
	begin -= 3;
	memcpy(deep + begin,
	       "\x0a\x01"
	       "a",
	       3);
	assert_int_equal(add_raw(f, deep + begin, sizeof(deep) - begin), -EBADMSG);
}

static uint64_t refused(const struct fixture *f, enum quota_kind kind)
{
	return f->rig.quota->refused[kind];
}

FIXTURE_TEST(one_descriptor_has_a_limit)
{
	assert_int_equal(add(f, "a", 0, MSGSOCK_MAX_MESSAGE - 9), 0); /* more than a frame brings */
	assert_int_equal(add(f, "a", 0, MAX_DESCRIPTOR_BYTES), -ENOBUFS);
	assert_non_null(strstr(f->e.text, "descriptor"));
	assert_int_equal(refused(f, REFUSED_DESCRIPTORS_OF_PRODUCER), 1);
}

FIXTURE_TEST(a_producers_descriptors_have_a_limit)
{
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(add(f, "a", 0, 100 << 10), 0);
	assert_int_equal(add(f, "a", 0, 100 << 10), -ENOBUFS);
	assert_int_equal(refused(f, REFUSED_DESCRIPTORS_OF_PRODUCER), 1);
	assert_true(registry_remove(&f->rig.producers->registry, &f->port->offer, "a"));
	assert_int_equal(add(f, "a", 0, 100 << 10), 0);
}

FIXTURE_TEST(a_producers_sources_have_a_limit)
{
	for (unsigned i = 0; i < MAX_SOURCES_PER_PRODUCER; i++)
		assert_int_equal(add(f, "a", 0, 0), 0);
	assert_int_equal(add(f, "a", 0, 0), -ENOBUFS);
	assert_int_equal(refused(f, REFUSED_SOURCES_OF_PRODUCER), 1);
}

static int update(struct fixture *f, const char *name, uint64_t id, size_t bytes)
{
	struct pb_mem m = descriptor(name, id, bytes);
	int r = registry_update(&f->rig.producers->registry, &f->port->offer, is_trusted(f), m.buf,
				pb_mem_len(&m), NULL);

	pb_mem_deinit(&m);
	return r;
}

FIXTURE_TEST(update_replaces_by_id_and_name)
{
	struct registered_source *s;

	assert_int_equal(add(f, "first", 1, 0), 0);
	assert_int_equal(add(f, "second", 2, 0), 0);
	assert_int_equal(update(f, "first", 1, 50), 0);
	s = TAILQ_FIRST(&f->rig.producers->registry.sources);
	assert_string_equal(s->name, "first");
	assert_true(s->descriptor_len > 50);
	assert_int_equal(f->rig.producers->registry.n, 2);
	assert_int_equal(update(f, "second", 1, 0), -ENOENT);
	assert_int_equal(update(f, "first", 3, 0), -ENOENT);
	assert_int_equal(update(f, "first", 0, 0), -ENOENT);
	assert_int_equal(update(f, "", 1, 0), -EINVAL);
	assert_int_equal(update(f, "first", 1, MAX_DESCRIPTOR_BYTES), -ENOBUFS);
}

FIXTURE_TEST(removed_by_name_one_at_a_time)
{
	assert_int_equal(add(f, "a", 1, 0), 0);
	assert_int_equal(add(f, "b", 0, 0), 0);
	assert_int_equal(add(f, "a", 2, 0), 0);
	assert_true(registry_remove(&f->rig.producers->registry, &f->port->offer, "a"));
	assert_string_equal(TAILQ_FIRST(&f->rig.producers->registry.sources)->name, "b");
	assert_true(registry_remove(&f->rig.producers->registry, &f->port->offer, "a"));
	assert_false(registry_remove(&f->rig.producers->registry, &f->port->offer, "a"));
	assert_false(registry_remove(&f->rig.producers->registry, &f->port->offer, ""));
}
