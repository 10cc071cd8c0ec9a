package intake

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
)

// node is a JSON value of the input, decoded only as far as it is read. The raw text is known to be
// valid JSON.
type node struct {
	chunk *chunk
	raw   []byte // without surrounding blanks; empty if the value is absent
	at    int    // offset in the chunk
	ptr   string // JSON pointer in the chunk
}

// chunk is a part of the input that was checked as a whole: a line, or a document.
type chunk struct {
	data []byte
	line int // of the first byte, from 1
	// lines are counted forwards: lineAt is the line of the offset seen.
	seen, lineAt int
}

// lineOf returns the line of an offset. Offsets usually ascend, so counting is linear in total.
func (c *chunk) lineOf(at int) int {
	if c.lineAt == 0 || at < c.seen {
		c.seen, c.lineAt = 0, c.line
	}
	c.lineAt += bytes.Count(c.data[c.seen:at], []byte("\n"))
	c.seen = at
	return c.lineAt
}

// root returns the value of a chunk between from and to.
func (c *chunk) root(from, to int, ptr string) node {
	for from < to && blank(c.data[from]) {
		from++
	}
	for to > from && blank(c.data[to-1]) {
		to--
	}
	return node{c, c.data[from:to], from, ptr}
}

func blank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// kind returns the first byte of a value: { [ " t f n, a digit or -, and 0 if it is absent.
func (n node) kind() byte {
	if len(n.raw) == 0 {
		return 0
	}
	return n.raw[0]
}

func (n node) isObject() bool { return n.kind() == '{' }
func (n node) isArray() bool  { return n.kind() == '[' }
func (n node) isString() bool { return n.kind() == '"' }

// absent reports whether a value is missing or null.
func (n node) absent() bool { return n.kind() == 0 || n.kind() == 'n' }

// fields returns the members of an object in order.
func (n node) fields() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if !n.isObject() {
			return
		}
		for i := skipBlanks(n.raw, 1); i < len(n.raw) && n.raw[i] == '"'; {
			end := skipValue(n.raw, i)
			key := unquote(n.raw[i:end])
			i = skipBlanks(n.raw, skipBlanks(n.raw, end)+1) // the colon
			end = skipValue(n.raw, i)
			if !yield(key, node{n.chunk, n.raw[i:end], n.at + i, n.ptr}) {
				return
			}
			i = skipBlanks(n.raw, end)
			if i < len(n.raw) && n.raw[i] == ',' {
				i = skipBlanks(n.raw, i+1)
			}
		}
	}
}

// get returns a member of an object, the last one if the name is repeated. It is absent in other
// values.
func (n node) get(key string) (found node) {
	for name, value := range n.fields() {
		if name == key {
			found = value
		}
	}
	if len(found.raw) > 0 {
		found.ptr = n.ptr + "/" + pointerToken(key)
	}
	return found
}

// path returns a member of nested objects.
func (n node) path(keys ...string) node {
	for _, key := range keys {
		n = n.get(key)
	}
	return n
}

// members returns all members of an object at once, for objects of which many are read.
func (n node) members() object {
	o := object{}
	for name, value := range n.fields() {
		value.ptr = n.ptr + "/" + pointerToken(name)
		o[name] = value
	}
	return o
}

type object map[string]node

func (o object) str(key string) string { return o[key].str() }

// first returns the first of several members that is present and not null.
func (o object) first(keys ...string) node {
	for _, key := range keys {
		if v := o[key]; !v.absent() {
			return v
		}
	}
	return node{}
}

// items returns the items of an array, or nothing.
func (n node) items() iter.Seq2[int, node] {
	return func(yield func(int, node) bool) {
		if !n.isArray() {
			return
		}
		count := 0
		for i := skipBlanks(n.raw, 1); i < len(n.raw) && n.raw[i] != ']'; {
			end := skipValue(n.raw, i)
			if end == i { // only after damage that was not detected
				return
			}
			if !yield(count, node{n.chunk, n.raw[i:end], n.at + i, n.ptr + "/" + strconv.Itoa(count)}) {
				return
			}
			count++
			i = skipBlanks(n.raw, end)
			if i < len(n.raw) && n.raw[i] == ',' {
				i = skipBlanks(n.raw, i+1)
			}
		}
	}
}

// count returns the number of items of an array.
func (n node) count() (total int) {
	for range n.items() {
		total++
	}
	return total
}

// str returns the text of a string, number or boolean, and an empty text for other values.
func (n node) str() string {
	switch n.kind() {
	case 0, '{', '[', 'n':
		return ""
	case '"':
		return unquote(n.raw)
	default:
		return string(n.raw)
	}
}

// text returns a string as it is, and any other value as compact JSON. Null is empty.
func (n node) text() string {
	if n.isString() {
		return unquote(n.raw)
	}
	return n.json()
}

// json returns the compact JSON text of a value. Null and absent values are empty.
func (n node) json() string {
	if n.absent() {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, n.raw) != nil {
		return string(n.raw)
	}
	return storable(b.String())
}

func (n node) isTrue() bool { return string(n.raw) == "true" }

// number returns a JSON number.
func (n node) number() (float64, bool) {
	f, err := strconv.ParseFloat(string(n.raw), 64)
	return f, err == nil
}

// integer returns a JSON number without a fraction, as a pointer.
func (n node) integer() *int {
	i, err := strconv.Atoi(string(n.raw))
	if err != nil {
		return nil
	}
	return &i
}

// embedded parses JSON text in a string, such as an attribute of a trace. Its places are those of
// the string.
func (n node) embedded() node {
	if !n.isString() {
		return n
	}
	data := []byte(strings.TrimSpace(unquote(n.raw)))
	if len(data) == 0 || data[0] != '{' && data[0] != '[' || !json.Valid(data) {
		return n
	}
	c := &chunk{data: data, line: n.chunk.lineOf(n.at)}
	return c.root(0, len(data), n.ptr)
}

func pointerToken(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func skipBlanks(b []byte, i int) int {
	for i < len(b) && blank(b[i]) {
		i++
	}
	return i
}

// skipValue returns the end of the value at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return len(b)
	default:
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != ':' && !blank(b[i]) {
			i++
		}
		return i
	}
}

func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		end := bytes.IndexByte(b[i:], '"')
		if end < 0 {
			return len(b)
		}
		escapes := 0
		for at := i + end - 1; at >= i && b[at] == '\\'; at-- {
			escapes++
		}
		i += end + 1
		if escapes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// unquote returns the text of a JSON string without NUL, which Postgres cannot store.
func unquote(raw []byte) string {
	if len(raw) < 2 {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return storable(text)
}

// storable replaces NUL, which JSON can contain and Postgres cannot store.
func storable(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }
