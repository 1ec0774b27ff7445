# SPDX-License-Identifier: Apache-2.0
#
# Turns a page of docs/, in the Markdown that this tree uses, into sections of a man page. Code blocks are indented by four
# spaces; a table becomes a list with its first column as tags, and with the head of two columns as first of its items.
#
#	-v only=HEADING    only that section, with its sub-sections, without the heading itself
#	-v depth=1         headings become sub-sections, for a page that is one section of the man page

function end_paragraph() {
	if (text != "") {
		if (!tagged)
			print ".PP"
		put(inline(text))
	}
	tagged = 0
	text = ""
}
function end_code() {
	if (in_code)
		print ".EE\n.RE"
	in_code = blank_lines = 0
}
function end_list() {
	if (in_list)
		print ".RE"
	in_list = 0
}
function end_all() {
	end_paragraph()
	end_code()
	in_table = 0
}

function heading(level, title) {
	end_all()
	if (only != "") {
		if (level <= only_level && is_on) {
			is_on = 0
			return
		}
		if (title == only) {
			is_on = 1
			only_level = level
			return
		}
		if (is_on)
			print ".SS " roff_arg(title)
		return
	}
	if (level == 1)
		return
	gsub(/`/, "", title)
	if (level + depth == 2)
		print ".SH " roff_arg(toupper(title))
	else
		print ".SS " roff_arg(title)
}

function code_line(line) {
	if (!in_code) {
		end_paragraph()
		print ".PP\n.RS 4\n.EX"
		in_code = 1
	}
	for (; blank_lines; blank_lines--)
		print ""
	line = roff(substr(line, 5))
	print (line ~ /^[.]/ ? "\\&" : "") line
}

# Cells of "| a | b |", without those bars that are in code.
function split_row(line, cells,    n, i, c, in_quote) {
	for (n = 1; n in cells; n++)
		delete cells[n]
	n = 0
	sub(/^\| */, "", line)
	sub(/ *\| *$/, "", line)
	cells[n = 1] = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		if (c == "`")
			in_quote = !in_quote
		if (c == "\\" && substr(line, i + 1, 1) == "|")
			continue
		if (c == "|" && !in_quote && substr(line, i - 1, 1) != "\\")
			cells[++n] = ""
		else
			cells[n] = cells[n] c
	}
	for (i = 1; i <= n; i++)
		gsub(/^ +| +$/, "", cells[i])
	return n
}

# A cell of a later column is told with the name of its column, where that says more than the first.
function table_line(line,    n, i, out) {
	if (!in_table) {
		end_all()
		n_columns = split_row(line, column)
		in_table = 1
		if (n_columns == 2 && column[1] column[2] != "") {
			print ".TP"
			put(italic(column[1]))
			put(italic(column[2]))
		}
		return
	}
	if (line ~ /^\|[-:| ]+$/)
		return
	n = split_row(line, cell)
	print ".TP"
	put(inline(cell[1]))
	out = ""
	for (i = 2; i <= n; i++) {
		if (cell[i] == "")
			continue
		if (out != "")
			out = out "; "
		if (n > 2 && column[i] != "")
			out = out column[i] ": "
		out = out cell[i]
	}
	put(out == "" ? "\\&" : inline(out))
}

/^#/ {
	match($0, /^#+/)
	heading(RLENGTH, substr($0, RLENGTH + 2))
	next
}
only != "" && !is_on { next }
/^[ \t]*$/ {
	if (in_code)
		blank_lines++
	else
		end_paragraph()
	in_table = in_item = 0
	next
}
/^\|/ {
	table_line($0)
	next
}
/^    / && !in_item && text == "" {
	code_line($0)
	next
}
/^[-*] |^[0-9]+\. / {
	end_all()
	match($0, /^[^ ]+ +/)
	mark = substr($0, 1, RLENGTH - 1)
	sub(/ +$/, "", mark)
	print ".IP " (mark ~ /^[0-9]/ ? mark " 4" : "\\(bu 2")
	text = substr($0, RLENGTH + 1)
	tagged = in_item = 1
	next
}
{
	end_code()
	sub(/^ +/, "")
	text = text == "" ? $0 : text " " $0
}
END { end_all() }
