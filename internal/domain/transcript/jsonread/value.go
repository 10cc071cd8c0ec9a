package jsonread

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
)

// Value is a JSON value of the input, decoded only as far as it is read. The raw text is known to be
// valid JSON.
type Value struct {
	chunk *Chunk
	raw   []byte // without surrounding blanks; empty if the value is absent
	at    int    // offset in the chunk
	ptr   string // JSON pointer in the chunk
}

// Chunk is a part of the input that was checked as a whole: a line, or a document.
type Chunk struct {
	data []byte
	line int // of the first byte, from 1
	// lines are counted forwards: lineAt is the line of the offset seen.
	seen, lineAt int
}

// LineOf returns the line of an offset. Offsets usually ascend, so counting is linear in total.
func (c *Chunk) LineOf(at int) int {
	if c.lineAt == 0 || at < c.seen {
		c.seen, c.lineAt = 0, c.line
	}
	c.lineAt += bytes.Count(c.data[c.seen:at], []byte("\n"))
	c.seen = at
	return c.lineAt
}

// Root returns the value of a chunk between from and to.
func (c *Chunk) Root(from, to int, ptr string) Value {
	for from < to && blank(c.data[from]) {
		from++
	}
	for to > from && blank(c.data[to-1]) {
		to--
	}
	return Value{c, c.data[from:to], from, ptr}
}

func blank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// Kind returns the first byte of a value: { [ " t f n, a digit or -, and 0 if it is absent.
func (n Value) Kind() byte {
	if len(n.raw) == 0 {
		return 0
	}
	return n.raw[0]
}

// IsObject reports whether a value is an object.
func (n Value) IsObject() bool { return n.Kind() == '{' }

// IsArray reports whether a value is an array.
func (n Value) IsArray() bool { return n.Kind() == '[' }

// IsString reports whether a value is a string.
func (n Value) IsString() bool { return n.Kind() == '"' }

// Absent reports whether a value is missing or null.
func (n Value) Absent() bool { return n.Kind() == 0 || n.Kind() == 'n' }

// Fields returns the members of an object in order.
func (n Value) Fields() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if !n.IsObject() {
			return
		}
		for i := skipBlanks(n.raw, 1); i < len(n.raw) && n.raw[i] == '"'; {
			end := skipValue(n.raw, i)
			key := unquote(n.raw[i:end])
			i = skipBlanks(n.raw, skipBlanks(n.raw, end)+1) // the colon
			end = skipValue(n.raw, i)
			if !yield(key, Value{n.chunk, n.raw[i:end], n.at + i, n.ptr}) {
				return
			}
			i = skipBlanks(n.raw, end)
			if i < len(n.raw) && n.raw[i] == ',' {
				i = skipBlanks(n.raw, i+1)
			}
		}
	}
}

// Get returns a member of an object, the last one if the name is repeated. It is absent in other
// values.
func (n Value) Get(key string) (found Value) {
	for name, value := range n.Fields() {
		if name == key {
			found = value
		}
	}
	if len(found.raw) > 0 {
		found.ptr = n.ptr + "/" + pointerToken(key)
	}
	return found
}

// Path returns a member of nested objects.
func (n Value) Path(keys ...string) Value {
	for _, key := range keys {
		n = n.Get(key)
	}
	return n
}

// Members returns all members of an object at once, for objects of which many are read.
func (n Value) Members() Object {
	o := Object{}
	for name, value := range n.Fields() {
		value.ptr = n.ptr + "/" + pointerToken(name)
		o[name] = value
	}
	return o
}

// Object has the members of an object by name.
type Object map[string]Value

// Str returns Str of a member.
func (o Object) Str(key string) string { return o[key].Str() }

// Path returns a member of nested objects.
func (o Object) Path(key string, keys ...string) Value { return o[key].Path(keys...) }

// First returns the first of several members that is present and not null.
func (o Object) First(keys ...string) Value {
	for _, key := range keys {
		if v := o[key]; !v.Absent() {
			return v
		}
	}
	return Value{}
}

// Items returns the items of an array, or nothing.
func (n Value) Items() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if !n.IsArray() {
			return
		}
		count := 0
		for i := skipBlanks(n.raw, 1); i < len(n.raw) && n.raw[i] != ']'; {
			end := skipValue(n.raw, i)
			if end == i { // only after damage that was not detected
				return
			}
			if !yield(count, Value{n.chunk, n.raw[i:end], n.at + i, n.ptr + "/" + strconv.Itoa(count)}) {
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

// Count returns the number of items of an array.
func (n Value) Count() (total int) {
	for range n.Items() {
		total++
	}
	return total
}

// Str returns the text of a string, number or boolean, and an empty text for other values.
func (n Value) Str() string {
	switch n.Kind() {
	case 0, '{', '[', 'n':
		return ""
	case '"':
		return unquote(n.raw)
	default:
		return string(n.raw)
	}
}

// Text returns a string as it is, and any other value as compact JSON. Null is empty.
func (n Value) Text() string {
	if n.IsString() {
		return unquote(n.raw)
	}
	return n.JSON()
}

// JSON returns the compact JSON text of a value. Null and absent values are empty.
func (n Value) JSON() string {
	if n.Absent() {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, n.raw) != nil {
		return string(n.raw)
	}
	return Storable(b.String())
}

// IsTrue reports whether a value is true.
func (n Value) IsTrue() bool { return string(n.raw) == "true" }

// Number returns a JSON number.
func (n Value) Number() (float64, bool) {
	f, err := strconv.ParseFloat(string(n.raw), 64)
	return f, err == nil
}

// Integer returns a JSON number without a fraction, as a pointer.
func (n Value) Integer() *int {
	i, err := strconv.Atoi(string(n.raw))
	if err != nil {
		return nil
	}
	return &i
}

// Embedded parses JSON text in a string, such as an attribute of a trace. Its places are those of
// the string.
func (n Value) Embedded() Value {
	if !n.IsString() {
		return n
	}
	data := []byte(strings.TrimSpace(unquote(n.raw)))
	if len(data) == 0 || data[0] != '{' && data[0] != '[' || !json.Valid(data) {
		return n
	}
	c := &Chunk{data: data, line: n.chunk.LineOf(n.at)}
	return c.Root(0, len(data), n.ptr)
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
	return Storable(text)
}

// Storable replaces NUL, which JSON can contain and Postgres cannot store.
func Storable(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

// NewChunk returns a part of an input that is valid JSON, or text. line is that of its first byte, from 1.
func NewChunk(data []byte, line int) *Chunk { return &Chunk{data: data, line: line} }

// Raw returns the JSON text of a value, empty if it is absent.
func (n Value) Raw() []byte { return n.raw }

// Line returns the line of a value in the input, 0 if it is in none.
func (n Value) Line() int {
	if n.chunk == nil {
		return 0
	}
	return n.chunk.LineOf(n.at)
}

// Pointer returns the JSON pointer of a value in its line or document.
func (n Value) Pointer() string { return n.ptr }

// With returns other JSON text at the place of a value.
func (n Value) With(raw string) Value { return Value{n.chunk, []byte(raw), n.at, n.ptr} }
