/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <bpf/btf.h>
#include <linux/bpf.h>

#include "unit/symbols/elf_image.h"

/*
 * A BPF object without programs, whose maps have types that the test makes with libbpf's functions
 * for BTF:
 *
 *	struct bpf_image b = bpf_image_new();
 *
 *	bpf_image_add(&b, "sonda_counter_x", BPF_MAP_TYPE_ARRAY, 1, b.u32, b.u64);
 *	f = bpf_image_end(&b);      which the caller frees
 */
struct bpf_image {
	struct btf *btf;
	int u32, u64, s64, chars; /* types; the last one is char[16] */
	struct {
		const char *name;
		int var;
	} maps[80];
	uint32_t n;
};

static inline struct bpf_image bpf_image_new(void)
{
	struct bpf_image b = {.btf = btf__new_empty()};
	int letter;

	b.u32 = btf__add_int(b.btf, "unsigned int", 4, 0);
	b.u64 = btf__add_int(b.btf, "unsigned long", 8, 0);
	b.s64 = btf__add_int(b.btf, "long", 8, BTF_INT_SIGNED);
	letter = btf__add_int(b.btf, "char", 1, BTF_INT_CHAR);
	b.chars = btf__add_array(b.btf, b.u32, letter, 16);
	return b;
}

/* A struct of one field, which a test may extend with btf__add_field(). */
static inline int bpf_image_struct(struct bpf_image *b, uint32_t size, const char *field, int type)
{
	int id = btf__add_struct(b->btf, "s", size);

	assert_int_equal(btf__add_field(b->btf, field, type, 0, 0), 0);
	return id;
}

static inline int bpf_image_number(struct bpf_image *b, uint32_t n)
{
	return btf__add_ptr(b->btf, btf__add_array(b->btf, b->u32, b->u32, n));
}

/* A map as BTF declares it: a variable of a struct whose fields are pointers. key 0: keys of 4 and
 * values of 8 bytes, without types. Returns the variable, for tags. */
static inline int bpf_image_add(struct bpf_image *b, const char *name, uint32_t type, uint32_t n,
				int key, int value)
{
	int members[] = {bpf_image_number(b, type), bpf_image_number(b, n),
			 key ? btf__add_ptr(b->btf, key) : bpf_image_number(b, 4),
			 key ? btf__add_ptr(b->btf, value) : bpf_image_number(b, 8)};
	const char *names[] = {"type", "max_entries", key ? "key" : "key_size",
			       key ? "value" : "value_size"};
	int id = btf__add_struct(b->btf, NULL, 32);
	bool is_ring = type == BPF_MAP_TYPE_RINGBUF;

	for (uint32_t i = 0; i < (is_ring ? 2 : 4); i++)
		assert_int_equal(btf__add_field(b->btf, names[i], members[i], 64 * i, 0), 0);
	assert_true(b->n < ARRAY_SIZE(b->maps));
	b->maps[b->n].name = name;
	b->maps[b->n].var = btf__add_var(b->btf, name, BTF_VAR_GLOBAL_ALLOCATED, id);
	return b->maps[b->n++].var;
}

/* Frees the BTF. */
static inline struct image *bpf_image_end(struct bpf_image *b)
{
	struct image *f = image_new(IMAGE_MAX);
	Elf64_Sym symbols[ARRAY_SIZE(b->maps) + 1] = {0};
	char strings[4096] = "", zeros[32 * ARRAY_SIZE(b->maps)] = "";
	size_t n_strings = 1;
	const void *raw;
	uint32_t size;

	image_add(f, "license", SHT_PROGBITS, "GPL", 4)->sh_flags = SHF_ALLOC | SHF_WRITE;
	image_add(f, ".maps", SHT_PROGBITS, zeros, 32 * b->n)->sh_flags = SHF_ALLOC | SHF_WRITE;
	assert_true(btf__add_datasec(b->btf, ".maps", 32 * b->n) > 0);
	for (uint32_t i = 0; i < b->n; i++) {
		assert_int_equal(btf__add_datasec_var_info(b->btf, b->maps[i].var, 32 * i, 32), 0);
		symbols[i + 1] = (Elf64_Sym){.st_name = (Elf64_Word)n_strings,
					     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
					     .st_shndx = 2,
					     .st_value = 32 * i,
					     .st_size = 32};
		strcpy(strings + n_strings, b->maps[i].name);
		n_strings += strlen(b->maps[i].name) + 1;
	}
	image_add(f, ".strtab", SHT_STRTAB, strings, n_strings);
	image_add(f, ".symtab", SHT_SYMTAB, symbols, (b->n + 1) * sizeof(*symbols));
	f->sections[f->n_sections - 1].sh_link = f->n_sections - 2u;
	f->sections[f->n_sections - 1].sh_entsize = sizeof(*symbols);
	f->sections[f->n_sections - 1].sh_info = 1;
	raw = btf__raw_data(b->btf, &size);
	image_add(f, ".BTF", SHT_PROGBITS, raw, size);
	image_end(f);
	((Elf64_Ehdr *)f->bytes)->e_type = ET_REL;
	((Elf64_Ehdr *)f->bytes)->e_machine = EM_BPF;
	btf__free(b->btf);
	b->btf = NULL;
	return f;
}
