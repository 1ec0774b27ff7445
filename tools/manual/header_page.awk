# SPDX-License-Identifier: Apache-2.0
#
# Makes a man page of a public header: its first comment is the description, each declaration follows with the comment
# before it. Names that end with "_" are not public.
#
#	-v header=sonda/track.h
#	-v names_only=1    prints only the names of functions and macros, one a line
#
# Reads the layout that clang-format gives: comments, declarations and closing braces begin in column 1.

function add_line(list, line) {
	return list == "" ? line : list "\n" line
}

function expand_tabs(line) {
	while (match(line, /\t/))
		line = substr(line, 1, RSTART - 1) substr("        ", 1, 8 - (RSTART - 1) % 8) substr(line, RSTART + 1)
	return line
}

# ---- comments ----

# Prints the text of a comment: paragraphs, and code in lines that begin with a tab.
function print_comment(comment,    n, i, lines, in_code, paragraph) {
	n = split(comment, lines, "\n")
	paragraph = ""
	in_code = 0
	for (i = 1; i <= n + 1; i++) {
		if (i <= n && lines[i] ~ /^(\t|    )/) {
			if (paragraph != "")
				put(inline(paragraph))
			paragraph = ""
			if (!in_code)
				print ".PP\n.RS 4\n.EX"
			in_code = 1
			sub(/^(\t|    )/, "", lines[i])
			lines[i] = expand_tabs(lines[i])
			print (lines[i] ~ /^[.]/ ? "\\&" : "") roff(lines[i])
		} else if (i > n || lines[i] ~ /^[ \t]*$/) {
			if (in_code && i <= n && lines[i + 1] ~ /^\t/) {
				print ""
				continue
			}
			if (in_code)
				print ".EE\n.RE"
			if (paragraph != "")
				put(inline(paragraph))
			if (i < n && lines[i + 1] !~ /^(\t|    )/)
				print ".PP"
			in_code = 0
			paragraph = ""
		} else {
			if (in_code)
				print ".EE\n.RE\n.PP"
			in_code = 0
			paragraph = paragraph == "" ? lines[i] : paragraph " " lines[i]
		}
	}
}

# ---- declarations ----

function public_name(declaration,    name) {
	if (declaration ~ /^#define/) {
		match(declaration, /SONDA_[A-Za-z0-9_]+/)
		return substr(declaration, RSTART + RLENGTH, 1) == "(" ? substr(declaration, RSTART, RLENGTH) : ""
	}
	if (declaration ~ /^(struct|enum|union|typedef)[^(]*\{/ || declaration !~ /\(/)
		return ""
	sub(/\(.*/, "", declaration)
	match(declaration, /[A-Za-z0-9_]+$/)
	return substr(declaration, RSTART, RLENGTH)
}

function print_declaration(declaration,    n, i, lines) {
	print ".PP\n.nf"
	n = split(declaration, lines, "\n")
	for (i = 1; i <= n; i++) {
		gsub(/\t/, "    ", lines[i])
		print (lines[i] == "" ? "" : bold(lines[i]))
	}
	print ".fi"
}

# Declarations with one comment stay together.
function declare(declaration, has_own_comment) {
	n_items++
	item[n_items] = declaration
	item_comment[n_items] = has_own_comment
	item_section[n_items] = section
	section = ""
}

# ---- the header ----

function take_comment(text) {
	gsub(/^\/\*+ ?/, "", text)
	if (text ~ /^---- .* ---- *$/) {
		gsub(/^---- | ---- *$/, "", text)
		section = text
		return
	}
	if (description == "" && text ~ /\n/ && !n_items)
		description = text
	else
		pending = text
}

/^\/\* SPDX/ { next }
in_comment || /^\/\*/ {
	line = $0
	ended = line ~ /\*\//
	sub(/ *\*\/.*$/, "", line)
	if (in_comment)
		sub(/^ \* ?/, "", line)
	comment = in_comment ? comment "\n" line : line
	in_comment = !ended
	if (ended) {
		sub(/^\/\*\n/, "", comment)
		take_comment(comment)
	}
	next
}
in_body {
	if (/^}/)
		in_body = 0
	next
}
in_struct {
	body = add_line(body, $0)
	if (/^}/) {
		declare(body, pending)
		pending = ""
		in_struct = 0
	}
	next
}
in_macro {
	in_macro = /\\$/
	next
}
/^#define SONDA_/ {
	in_macro = /\\$/
	line = $0
	sub(/[ \t]*\\$/, "", line)
	sub(/[ \t]*\/\*.*$/, "", line)
	if (match(line, /^#define [A-Z0-9a-z_]+\([^)]*\)/))
		line = substr(line, 1, RLENGTH)
	else if (in_macro)
		line = "#define " $2
	if (line !~ /^#define SONDA_[A-Za-z0-9_]*_(\(| |$)/ && line !~ /_H$/) {
		declare(line, pending)
		pending = ""
	}
	next
}
/^#/ || /^extern "C"/ || /^}/ { pending = ""; next }
/^(struct|enum|union) [a-z_]+ \{|^(struct|enum|union) [a-z_]+$/ {
	in_struct = 1
	body = $0
	next
}
/^[a-z]/ || signature != "" {
	signature = add_line(signature, $0)
	if (/^\{/) {
		sub(/\n\{$/, ";", signature)
		in_body = 1
	} else if (!/;/) {
		next
	}
	sub(/ *\/\*.*$/, "", signature)
	sub(/^static inline /, "", signature)
	if (public_name(signature) !~ /_$/)
		declare(signature, pending)
	pending = signature = ""
	next
}

END {
	names = ""
	for (i = 1; i <= n_items; i++) {
		name = public_name(item[i])
		if (name == "" || name == page || index(" " names ",", " " name ","))
			continue
		if (names_only)
			print name
		names = names (names == "" ? "" : ", ") name
	}
	if (names_only)
		exit
	first = description
	sub(/\n\n.*/, "", first)
	gsub(/\n/, " ", first)
	sub(/[.:] .*|[.:]$/, "", first)
	print ".SH NAME"
	put(roff(page (names == "" ? "" : ", " names)) " \\- " roff(first))
	print ".SH SYNOPSIS\n.nf"
	print bold("#include <" header ">")
	print ".fi\n.PP"
	put("Link with \\fB" (description ~ /libsonda-service/ ? "\\-lsonda\\-service \\-lsonda" : "\\-lsonda") "\\fR.")
	print ".SH DESCRIPTION"
	print_comment(description)
	print ".SH INTERFACE"
	for (i = 1; i <= n_items; i++) {
		if (item_section[i] != "" && item_section[i] != "macros")
			print ".SS " roff_arg(item_section[i])
		print_declaration(item[i])
		if (item_comment[i] != "") {
			print ".RS 4"
			print_comment(item_comment[i])
			print ".RE"
		}
	}
}
