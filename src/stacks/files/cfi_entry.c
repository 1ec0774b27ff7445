/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/files/cfi_entry.h"

#include <string.h>

#include <dwarf.h>

static struct cfi_bytes skip_bytes(struct cfi_bytes s, uint64_t n)
{
	return (struct cfi_bytes){s.p + n, s.len - (size_t)n};
}

bool cfi_read_address(struct cfi_bytes *s, uint8_t encoding, uint64_t place, uint64_t *ret)
{
	uint64_t v;
	bool is_ok;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		is_ok = cfi_read_fixed(s, 8, &v);
		break;
	case DW_EH_PE_udata4:
		is_ok = cfi_read_fixed(s, 4, &v);
		break;
	case DW_EH_PE_sdata4:
		is_ok = cfi_read_fixed(s, 4, &v);
		v = (uint64_t)(int32_t)v;
		break;
	case DW_EH_PE_udata2:
		is_ok = cfi_read_fixed(s, 2, &v);
		break;
	case DW_EH_PE_sdata2:
		is_ok = cfi_read_fixed(s, 2, &v);
		v = (uint64_t)(int16_t)v;
		break;
	default:
		return false; /* LEB128, which no linker writes */
	}
	if (!is_ok || (encoding & 0xf0 && (encoding & 0xf0) != DW_EH_PE_pcrel))
		return false;
	*ret = v + ((encoding & 0xf0) == DW_EH_PE_pcrel ? place : 0);
	return true;
}

/*
 *	.eh_frame      length, 0 (CIE) or the distance back to the CIE, body
 *	.debug_frame   length, ~0 (CIE) or the offset of the CIE, body
 *
 * Lengths and numbers have 4 bytes: entries of 64-bit DWARF are for sections above 4 GiB, and end
 * the section here.
 */
bool cfi_next_entry(const struct cfi_section *s, uint64_t *at, struct cfi_entry *ret)
{
	struct cfi_bytes left;
	uint64_t length = 0, id, place;

	do {
		if (*at >= s->bytes.len)
			return false;
		left = skip_bytes(s->bytes, *at);
		if (!cfi_read_fixed(&left, 4, &length) || (length == 0 && s->is_open_ended))
			return false;
		*at += 4;
	} while (length == 0);
	if (length > left.len || length < 4)
		return false;
	place = *at;
	*at += length;
	left.len = (size_t)length;
	(void)cfi_read_fixed(&left, 4, &id);
	ret->is_cie = id == (s->is_debug_frame ? UINT32_MAX : 0);
	/* A distance that is too long makes an offset that no CIE has. */
	ret->cie = s->is_debug_frame ? id : place - id;
	ret->body = left;
	return true;
}

/* Handles the letters after 'z' of an augmentation string, each of which may have data. Returns
 * false if a letter is unknown or its data are incomplete. */
static bool read_augmentation(const char *letters, struct cfi_bytes data, struct cfi_cie_entry *c)
{
	uint64_t byte, address;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			if (!cfi_read_fixed(&data, 1, &byte))
				return false;
			c->encoding = (uint8_t)byte;
			break;
		case 'P': /* the personality routine: its encoding and its address */
			if (!cfi_read_fixed(&data, 1, &byte) ||
			    !cfi_read_address(&data, byte & 0x0f, 0, &address))
				return false;
			break;
		case 'L': /* the encoding of an address in the functions' data */
			if (!cfi_read_fixed(&data, 1, &byte))
				return false;
			break;
		case 'S':
			c->is_signal = true;
			break;
		case 'B': /* arm64: return addresses are signed with key B */
			break;
		default:
			return false;
		}
	}
	return true;
}

bool cfi_read_cie(const struct cfi_machine *machine, struct cfi_bytes body,
		  struct cfi_cie_entry *ret)
{
	struct cfi_cie_entry c = {0};
	uint64_t version, sizes = 8, ra, len;
	const char *letters;
	const uint8_t *nul;

	if (!cfi_read_fixed(&body, 1, &version) || (version != 1 && version != 3 && version != 4))
		return false;
	letters = (const char *)body.p;
	nul = memchr(body.p, 0, body.len);
	if (!nul)
		return false;
	body = skip_bytes(body, (uint64_t)(nul + 1 - body.p));
	/* The sizes of an address and of a segment selector. */
	if (version == 4 && (!cfi_read_fixed(&body, 2, &sizes) || sizes != 8))
		return false;
	if (!cfi_read_uleb(&body, &c.cie.code_factor) ||
	    !cfi_read_sleb(&body, &c.cie.data_factor) ||
	    !(version == 1 ? cfi_read_fixed(&body, 1, &ra) : cfi_read_uleb(&body, &ra)) ||
	    ra != machine->ra)
		return false;
	c.has_size = *letters == 'z';
	if (c.has_size) {
		if (!cfi_read_uleb(&body, &len) || len > body.len ||
		    !read_augmentation(letters + 1, (struct cfi_bytes){body.p, (size_t)len}, &c))
			return false;
		body = skip_bytes(body, len);
	} else if (*letters) {
		return false;
	}
	if (!cfi_cie_execute(machine, &c.cie, body))
		return false;
	*ret = c;
	return true;
}

bool cfi_read_function(const struct cfi_section *s, const struct cfi_cie_entry *cie,
		       struct cfi_bytes body, uint64_t *ret_begin, uint64_t *ret_end,
		       struct cfi_bytes *ret_ops)
{
	uint64_t place = s->address + (uint64_t)(body.p - s->bytes.p), begin, size, len = 0;

	if (!cfi_read_address(&body, cie->encoding, place, &begin) ||
	    !cfi_read_address(&body, cie->encoding & 0x0f, 0, &size) ||
	    __builtin_add_overflow(begin, size, ret_end) ||
	    (cie->has_size && !cfi_read_uleb(&body, &len)) || len > body.len)
		return false;
	*ret_begin = begin;
	*ret_ops = skip_bytes(body, len); /* skips the address of the table of exceptions */
	return true;
}
