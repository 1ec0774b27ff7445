/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The second process of the file reader (a parser of base/system/helper_pair.h): parses what
 * file_opener.h opened, and answers. It has no rights but to read the descriptors that it gets; its
 * memory is limited.
 *
 * It reads requests (struct file_request, and a descriptor) from `other`, writes answers (struct
 * file_answer) to fd, and keeps the symbols of the files until FILE_REQUEST_CLOSE_ALL. The
 * files of one owner may use at most half of what the files of other owners leave of
 * ELF_READER_FILES, ELF_READER_JITS and ELF_READER_SYMBOLS. The names of code that a process
 * compiled belong to its user; those that were not used for the longest time are removed first. The
 * files of such a process stay open, so that they can be read when they have been deleted, and when
 * the process has ended.
 * ctx is not used.
 */
void elf_reader_run(int fd, int other, void *ctx);

#define ELF_READER_MEMORY (1ull << 30) /* bytes of address space, for its files together */
#define ELF_READER_FILES 4096 /* further ones have no names */
#define ELF_READER_JITS 1024 /* processes that compile code */
#define ELF_READER_JIT_FILES 256 /* of them that stay open */
#define ELF_READER_JITS_FIRST (1u << 30) /* numbers in answers from this one upwards are theirs */
#define ELF_READER_SYMBOLS (256u << 20) /* bytes of symbols and names of all files */
