# SPDX-License-Identifier: Apache-2.0
#
# Makes a table of reports (src/analyze/report/report.h), whose name is -v table=NAME, from files *.sql, the first of which is
# src/analyze/report/reports.sql: it says what the files have. Without other files of the names in @order, the table is in the
# order of the command line.

function fail(what) {
	print FILENAME ":" FNR ": " what >"/dev/stderr"
	failed = 1
	exit 1
}

function trim(s) {
	gsub(/^[ \t]+|[ \t]+$/, "", s)
	return s
}

function quote(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/"/, "\\\"", s)
	return "\"" s "\""
}

# Reads "(a, b)" at the start of s: the arguments of a text, as they are. Commas within brackets or quotes do not end an
# argument. Sets args[1] and so on, and args[0] to what follows.
function split_args(s, args,    i, n, c, depth, quoted, from) {
	n = 0
	from = 2
	depth = 0
	quoted = 0
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c == "'")
			quoted = !quoted
		if (quoted)
			continue
		if (c == "(")
			depth++
		if (c == ")")
			depth--
		if ((c == "," && depth == 1) || (c == ")" && depth == 0)) {
			args[++n] = trim(substr(s, from, i - from))
			from = i + 1
		}
		if (c == ")" && depth == 0)
			break
	}
	args[0] = substr(s, i + 1)
	return n
}

# Returns s with the texts in place of their names. env[depth, NAME] are the arguments of the text that s is.
function expand(s, depth,    out, i, n, name, key, args, names) {
	out = ""
	while ((i = index(s, "$"))) {
		out = out substr(s, 1, i - 1)
		s = substr(s, i + 1)
		if (substr(s, 1, 1) == "{") {
			i = index(s, "}")
			name = substr(s, 2, i - 2)
			s = substr(s, i + 1)
		} else {
			match(s, /^[A-Za-z_0-9]+/)
			name = substr(s, 1, RLENGTH)
			s = substr(s, RLENGTH + 1)
		}
		if ((depth, name) in env) {
			out = out env[depth, name]
			continue
		}
		if (name == "subject" && subject) {
			out = out subject
			continue
		}
		key = (report, name) in body ? report SUBSEP name : "reports" SUBSEP name
		if (!(key in body))
			fail("there is no text " name)
		n = split(parameters[key], names, /, */)
		if (n) {
			if (split_args(s, args) != n)
				fail("the text " name " has " n " arguments")
			s = args[0]
			for (i = 1; i <= n; i++)
				args[i] = expand(args[i], depth)
			for (i = 1; i <= n; i++)
				env[depth + 1, names[i]] = args[i]
		}
		out = out expand(body[key], depth + 1)
		for (i = 1; i <= n; i++)
			delete env[depth + 1, names[i]]
	}
	return out s
}

function is_group(by) {
	return by ~ /^(container|unit|pod|cgroup)$/
}

# Returns the words of sonda record for a table whose rows are what `by` says.
function words_of_record(by,    words) {
	words = section_records ? section_records : report_records[report]
	if (is_group(by) && words && " " words " " !~ / containers /)
		words = words " containers"
	return words
}

function add_section(by,    name, words) {
	subject = by
	name = key (by ? "_" by : "")
	words = words_of_record(by ? by : section_by)
	if (table == "reports" && (name !~ /^[a-z][a-z_]*$/ || (report, name) in keys))
		fail("the section \"" title by "\" needs a @key of its own")
	keys[report, name] = 1
	sections[report] = sections[report] "\t{.title = " quote(title by) ", .heading = " quote((heading ? heading : title) by) \
		", .key = " quote(name) ", " section \
		(by ? ".by = " quote(by) ", " : "") (is_group(by) && section ~ /on_request/ && section !~ /\.lacks/ ? \
		".lacks = report_lacks_groups, " : "") (words ? ".records = " quote(words) ", " : "") ".sql = " quote(trim(expand(sql, 0))) "},\n"
}

# A section with @each is one section for each of the words, which are $subject in its statement. Its key is KEY_WORD. If it
# is only shown on request, it needs groups in the trace.
function end_part(    i, n, words) {
	n = split(each, words, / +/)
	if (title && !n)
		add_section("")
	for (i = 1; i <= n; i++)
		add_section(words[i])
	title = heading = key = section = section_by = section_records = sql = text = each = subject = ""
}

FNR == 1 {
	end_part()
	report = FILENAME
	sub(/.*\//, "", report)
	sub(/\.sql$/, "", report)
	files[++n_files] = report
}

/^-- @/ {
	word = $2
	rest = trim(substr($0, 4 + length(word)))
	if (word == "@order") {
		n = split(rest, words, / +/)
		for (i = 1; i <= n; i++)
			order[++n_order] = words[i]
	} else if (word == "@define") {
		end_part()
		text = rest
		sub(/\(.*/, "", text)
		if (match(rest, /\(.*\)/))
			parameters[report, text] = substr(rest, RSTART + 1, RLENGTH - 2)
		else
			parameters[report, text] = ""
		body[report, text] = ""
	} else if (word == "@section") {
		end_part()
		title = rest
	} else if (word == "@records" && title) {
		section_records = rest
	} else if (word == "@help" || word == "@records") {
		fields[report] = fields[report] "." substr(word, 2) " = " quote(rest) ", "
		if (word == "@records")
			report_records[report] = rest
	} else if (word == "@of_thread" || word == "@of_subject" || word == "@of_findings") {
		fields[report] = fields[report] "." substr(word, 2) " = true, "
	} else if (word == "@lacks") {
		section = section ".lacks = report_lacks_" rest ", "
	} else if (word == "@heading") {
		heading = rest
	} else if (word == "@key") {
		key = rest
	} else if (word == "@each") {
		each = rest
		title = title " "
		if (heading)
			heading = heading " "
	} else if (word == "@top") {
		section = section ".top = " rest ", "
	} else if (word == "@by" || word == "@note" || word == "@more") {
		section = section "." substr(word, 2) " = " quote(rest) ", "
		if (word == "@by")
			section_by = rest
	} else if (word == "@on_request" || word == "@of_machine" || word == "@of_trace") {
		section = section "." substr(word, 2) " = true, "
	} else {
		fail("unknown word " word)
	}
	next
}

/^--/ {
	next
}

NF {
	if (text)
		body[report, text] = trim(body[report, text] " " trim($0))
	else if (title)
		sql = sql " " trim($0)
	else
		fail("a statement without @section")
}

END {
	if (failed)
		exit 1
	end_part()
	n = 0
	for (i = 1; i <= n_order + n_files; i++) {
		report = i <= n_order ? order[i] : files[i - n_order]
		if ((report in sections || report in fields) && !(report in listed))
			order[++n] = report
		listed[report] = 1
	}
	n_order = n
	print "#include \"analyze/report/report.h\"\n"
	for (i = 1; i <= n_order; i++)
		if (order[i] in sections)
			print "static const struct report_section sections_" order[i] "[] = {\n" sections[order[i]] "};"
	print "const struct report " table "[] = {"
	for (i = 1; i <= n_order; i++)
		print "\t{.name = " quote(order[i]) ", " fields[order[i]] (order[i] in sections ? ".sections = sections_" order[i] \
			", .n_sections = sizeof(sections_" order[i] ") / sizeof(sections_" order[i] "[0])" : "") "},"
	print "};\nconst size_t n_" table " = " n_order ";"
}
